"""What people are told: by help, by the log, by the history, and when something is refused."""
import re
import resource
import shlex
import shutil
import sqlite3
import subprocess

import kit
import pytest


def onced(*arguments, limit=None, stdout=subprocess.PIPE):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    return subprocess.run([kit.ONCED, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=60, preexec_fn=lower if limit else None)


def page(name):
    """A manual page, its backslashes read: \\- is a hyphen, \\& nothing."""
    return (kit.SOURCE / "man" / name).read_text().replace("\\-", "-").replace("\\&", "")


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
    states = "queued, running, succeeded, failed, interrupted, unknown, skipped, missed"
    assert states in onced("help", "history").stdout
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
    line = r"warning .* task report: occurrence [0-9a-f]{12} failed \(status\): exit code 3: no disk\n"
    said = re.findall(line, n.text())
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


def keys_and_words():
    keys = onced("check", "--keys").stdout
    dotted = re.findall(r"^(?:tasks\[\]\.)?([a-z_.]+) ", keys, re.M)
    words = re.findall(r" one of ((?:[a-z_]+, )*[a-z_]+)", keys)
    return set(dotted) | {word for some in words for word in some.split(", ")}


def test_the_page_about_schedules_names_what_there_is():
    text, known = page("onced-schedule.7"), keys_and_words()
    bold = re.findall(r"^\.(?:BR?|BI) ([a-z_.]+):?(?: |$)", text, re.M) + re.findall(r"\\fP([a-z_]+)", text)
    assert len(bold) > 30
    assert set(bold) <= known | {"onced"}, set(bold) - known
    for key in ("every", "anchor", "cron", "tz", "dst_fold", "misfire", "misfire.grace", "misfire.limit",
                "misfire.lookback", "first", "overlap.queue_limit", "overlap.max_running", "tick_limit",
                "max_future", "skip", "catch_up", "drop", "queue", "concurrent", "window", "next", "both"):
        assert key in bold, key
    for command in re.findall(r"^\.B \"?onced ([a-z]+)", text, re.M):
        assert command in commands(), command
    macros = set(re.findall(r"@[a-z]+", text)) - {"@word", "@reboot"}
    assert len(macros) == 7
    for macro in macros:
        assert onced("next", "--cron", macro, "--count", 1).returncode == 0, macro
    table = re.findall(r"^(@.*)\t(\S.*)$", text, re.M)
    assert len(table) == 5
    for names, fields in table:
        for name in names.split(", "):
            answers = {onced("next", "--json", "--cron", e, "--from", "2027-01-01T00:00:00Z").stdout
                       for e in (name, fields)}
            assert len(answers) == 1, (name, fields)


def test_the_examples_of_the_page_print_what_it_says():
    examples = re.findall(r"^\$ (onced .*)\n((?:(?!\$ |\.EE).*\n)+)", page("onced-schedule.7"), re.M)
    assert len(examples) >= 12
    for command, expected in examples:
        done = onced(*shlex.split(command)[1:])
        assert (done.stdout or done.stderr) == expected, command


def test_the_page_of_commands_has_all_of_them():
    text = page("onced.1")
    named = re.findall(r"^\.BI? \"?onced ([a-z]+)", text.partition(".SH COMMANDS")[2], re.M)
    assert set(named) == set(commands())
    codes = set(re.findall(r"^ +(\d+)  \S", onced("help").stdout, re.M))
    shown = {code for line in re.findall(r"^([\d, ]+)\t", text, re.M) for code in line.split(", ")}
    assert shown == codes | {"2", "3"}


@pytest.mark.skipif(not shutil.which("groff"), reason="formats pages")
@pytest.mark.parametrize("name", ["onced.1", "onced-schedule.7"])
def test_pages_are_formatted_without_a_warning(name):
    done = subprocess.run(["groff", "-man", "-t", "-ww", "-z", kit.SOURCE / "man" / name], capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_configuration_in_the_readme_is_good(folder):
    text = (kit.SOURCE / "README.md").read_text()
    sample = re.search(r"^    # onced.yaml\n((?:    .*\n)+)", text, re.M).group(1)
    path = folder / "onced.yaml"
    path.write_text(re.sub(r"^    ", "", sample, flags=re.M))
    done = onced("check", path)
    assert done.returncode == 0, done.stderr
    assert all("on this machine" in line for line in done.stderr.splitlines()), done.stderr
    for command in re.findall(r"^    build/onced ([a-z]+)", text, re.M):
        assert command in commands(), command


def test_the_example_in_the_readme_prints_what_it_says():
    text = (kit.SOURCE / "README.md").read_text()
    examples = re.findall(r"^    \$ build/(onced .*)\n((?:    .*\n)+)", text, re.M)
    assert examples
    for command, expected in examples:
        assert onced(*shlex.split(command)[1:]).stdout == re.sub(r"^    ", "", expected, flags=re.M), command
