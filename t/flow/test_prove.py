"""The proof notices what is done to the logs."""
import datetime
import pathlib
import shutil
import subprocess
import time

import pytest

import kit


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """The logs of a short clean run, made once."""
    folder = tmp_path_factory.mktemp("prove")
    n = kit.Node(folder, {"tasks": [
        {"name": "f", "every": "200ms", "singleton": "flock", "timeout": "1s", "noop": {}},
        {"name": "d", "every": "200ms", "singleton": "dedicated", "timeout": "1s", "noop": {}},
        {"name": "n", "every": "200ms", "singleton": "none", "timeout": "1s", "noop": {}}]})
    try:
        n.start()
        time.sleep(3)
        assert n.stop() == 0
    finally:
        n.end()
    return pathlib.Path(n.logs)


@pytest.fixture
def logs(evidence, folder):
    shutil.copytree(evidence, folder / "log")
    return folder / "log"


def run_file(logs, task="f"):
    """A file with a run line of the task, its lines and the index of that line."""
    for path in sorted((logs / "triggers").glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        for i, line in enumerate(lines):
            if b'"e":"run"' in line and b'"task":"%s"' % task.encode() in line and i > len(lines) // 2:
                return path, lines, i
    raise AssertionError("no run line")


def test_clean_logs_prove_once(logs):
    proof = kit.prove(logs)
    assert proof.code == 0 and proof.report["verdict"] == "ONCE", proof.raw
    assert proof.task("n")["verdict"] == "NOT SINGLE" and proof.task("n")["runs_per_instant"]["multiple"] == 4


def test_a_deleted_line_is_noticed(logs):
    path, lines, i = run_file(logs)
    path.write_bytes(b"".join(lines[:i] + lines[i + 1:]))
    proof = kit.prove(logs)
    assert proof.code == 3 and proof.report["verdict"] == "UNKNOWN", proof.raw


def test_a_doubled_line_is_noticed(logs):
    path, lines, i = run_file(logs)
    path.write_bytes(b"".join(lines[:i + 1] + lines[i:]))
    proof = kit.prove(logs)
    assert proof.code != 0 and proof.report["verdict"] != "ONCE", proof.raw


def test_an_edited_line_is_noticed(logs):
    path, lines, i = run_file(logs)
    lines[i] = lines[i].replace(b'"shard":0', b'"shard":1')
    path.write_bytes(b"".join(lines))
    assert kit.prove(logs).code == 3


def test_a_torn_line_in_the_middle_is_noticed(logs):
    path, lines, i = run_file(logs)
    lines[i] = lines[i][:len(lines[i]) // 2] + b"\n"
    path.write_bytes(b"".join(lines))
    assert kit.prove(logs).code == 3


def test_a_missing_file_of_a_worker_is_noticed(logs):
    path, _, _ = run_file(logs)
    path.unlink()
    proof = kit.prove(logs)
    assert proof.code == 3 and path.name.split(".")[2] in proof.raw + proof.error


def test_one_task_can_be_asked_for(logs):
    proof = kit.prove(logs, "--task", "f")
    assert [t["task"] for t in proof.report["tasks"]] == ["f"]
    assert proof.code == 0


def test_a_window_limits_the_verdict(logs):
    planned = sorted(l["planned"] for l in kit.lines_of(logs) if l["e"] == "run" and l["task"] == "f")
    since, until = (datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).isoformat()
                    for ms in (planned[1], planned[2]))
    part = kit.prove(logs, "--task", "f", "--since", since, "--until", until).task("f")
    assert part["executions"] == 1 and len(planned) > 5, part


def test_usage_errors_are_named(folder):
    done = subprocess.run([kit.ONCED, "prove"], capture_output=True, text=True)
    assert done.returncode == 64 and done.stderr
    done = subprocess.run([kit.ONCED, "prove", str(folder / "nothing")], capture_output=True, text=True)
    assert done.returncode == 3 and "nothing" in done.stderr + done.stdout
