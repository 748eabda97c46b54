"""What people are told: by help, by the log, by the history, and when something is refused."""
import re
import resource
import sqlite3
import subprocess

import kit
import pytest


def onced(*arguments, limit=None, stdout=subprocess.PIPE):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    return subprocess.run([kit.ONCED, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=60, preexec_fn=lower if limit else None)


def commands():
    return re.findall(r"^  ([a-z]+) +\S", onced("help").stdout, re.M)


def test_help_explains_every_option():
    assert len(commands()) >= 10
    for command in commands():
        usage, *explained = onced("help", command).stdout.splitlines()
        for option in re.findall(r"--?[a-z][a-z-]*", usage.partition(command)[2]):
            assert any(re.match(rf"  (.* )?{option}( |$)", line) for line in explained), (command, option)
        for operand in re.findall(r"\b[A-Z]{3,}\b", usage):
            assert any(operand in line for line in explained), (command, operand)
    assert "queued, running, succeeded, failed, interrupted, unknown, skipped, missed" in onced("help", "history").stdout
    for word in ("0:", "1: a duplicate", "2: a missed", "3: inconclusive"):
        assert word in onced("help", "prove").stdout


@pytest.mark.parametrize("words", [("help",), ("help", "run"), ("version",), ("check", "--keys"), ("run", "--help")])
def test_output_that_cannot_be_written_is_said(words):
    with open("/dev/full", "w") as full:
        done = onced(*words, stdout=full)
    assert done.returncode == 73
    assert "standard output cannot be written" in done.stderr


def test_too_few_descriptors_are_named_at_the_start(node):
    n = node({"tasks": [{"name": "a", "every": "1s", "timeout": "1s", "noop": {}}]})
    done = onced("run", n.config_path, limit=20)
    assert done.returncode == 71
    assert "only 20 files may be open" in done.stderr and "need at least 48" in done.stderr


def test_a_failed_run_is_explained_in_log_and_history(node):
    n = node({"tasks": [{"name": "report", "every": "200ms", "timeout": "5s", "singleton": "dedicated",
                         "exec": ["/bin/sh", "-c", "echo out; echo no disk >&2; exit 3"]}]})
    n.start()
    kit.wait_until(lambda: "exit code 3: no disk" in n.cli("history", "report").stdout, 10, "a failed run")
    kit.wait_until(lambda: n.cli("history", "report").stdout.count("exit code 3") >= 3, 10, "more of them")
    assert n.stop() == 0
    said = re.findall(r"warning .* task report: occurrence [0-9a-f]{12} failed \(status\): exit code 3: no disk\n", n.text())
    assert len(said) == 1, n.text()   # one a minute


def test_a_damaged_ledger_is_not_called_a_wrong_configuration(node):
    n = node({"tasks": [{"name": "a", "every": "1s", "timeout": "1s", "singleton": "flock", "noop": {}}]})
    n.start()
    assert n.stop() == 0
    ledger = next(n.folder.rglob("ledger.db"))
    ledger.write_bytes(b"not a database at all" * 500)
    done = onced("run", n.config_path)
    assert done.returncode == 78, done.stderr
    assert "cannot work as things are (exit code 78, see its message)" in done.stderr
    assert "configuration;" not in done.stderr and "crash loop" not in done.stderr
    assert "Structure needs cleaning" not in done.stderr
    assert "onced recover" in done.stderr
    with pytest.raises(sqlite3.DatabaseError):   # and it is kept as it was
        sqlite3.connect(ledger).execute("select * from sqlite_master").fetchall()
