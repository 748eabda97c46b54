"""The proof notices what is done to the logs."""
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import faults
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
    assert proof.code == 0 and proof.report["verdict"] in ("ONCE", "EXPLAINED"), proof.raw
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
    done = subprocess.run([kit.ONCED, "prove", "--since", "2026-01-02T00:00:00Z", "--until", "2026-01-01T00:00:00Z",
                           str(folder)], capture_output=True, text=True)
    assert done.returncode == 64 and "--until" in done.stderr


def test_a_task_that_is_not_there_is_answered_with_those_that_are(logs):
    proof = kit.prove(logs, "--task", "nosuch")
    assert proof.code == 64 and "nosuch" in proof.error and "d, f, n" in proof.error, proof.error


def adds_up(task):
    """Every due instant is in one place."""
    return task["expected"] == sum(task["verdicts"].values()) == (
        task["once"] + task["dropped"] + task["queued"] + task["skipped"] + task["recorded_missed"] +
        task["failed_unstarted"] + task["interrupted_unstarted"] + task["unsure"] + task["duplicates"] + task["missed"])


def test_a_worker_killed_while_it_drains_has_missed_nothing(node):
    n = node({"workers": 2, "drain_timeout": "20s", "tasks": [
        {"name": "long", "every": "1s", "singleton": "flock", "timeout": "30s", "overlap": "drop",
         "exec": ["/bin/sleep", "20"]},
        {"name": "fast", "every": "50ms", "singleton": "flock", "timeout": "1s", "noop": {}}]})
    n.start()
    child = kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "child"], 10, "the long run has begun")[0]
    worker = int(child["trig"].split(".")[-3])
    n.send(signal.SIGTERM)
    kit.wait_until(lambda: len([l for l in n.lines() if l["e"] == "cease"]) == 2, 10, "both workers have ceased")
    time.sleep(2)                        # of instants that nobody takes any more
    os.kill(worker, signal.SIGKILL)
    n.process.wait(30)
    proof = n.prove()
    assert proof.lacks_ends_only and proof.task("fast")["missed"] == 0, proof.raw   # nobody lives to tell of the long run
    assert "nobody tried" in proof.task("fast")["not_judged"]["why"], proof.raw
    assert all(adds_up(t) for t in proof.report["tasks"]), proof.raw
    n.start()
    kit.wait_until(lambda: any(l["e"] in ("skip", "miss") and l["task"] == "fast" and l["count"] > 20
                               for l in n.lines()), 10, "the next start names them")
    assert n.stop() in (0, 1)
    proof = n.prove()
    assert proof.code == 0 and proof.task("fast")["missed"] == 0, proof.raw


def test_what_always_fails_does_not_look_fine(node):
    port = kit.free_port()
    n = node({"workers": 2, "tasks": [
        {"name": "http", "every": "100ms", "singleton": "flock", "timeout": "1s",
         "http": {"url": f"http://127.0.0.1:{port}/"}},
        {"name": "exec", "every": "100ms", "singleton": "flock", "timeout": "1s", "exec": ["/nonexistent/command"]}]})
    n.start()
    kit.wait_until(lambda: all(sum(l["e"] == "finish" and l["task"] == t for l in n.lines()) > 5
                               for t in ("http", "exec")), 10, "runs have failed")
    assert n.stop() == 0
    proof = n.prove()
    for name in ("http", "exec"):
        told = proof.task(name)
        assert told["runs"] == 0 and told["failed"] == told["failed_unstarted"] > 3 and told["every_run_failed"], told
        assert told["failed_by"] == {"not_sent": told["failed"]} and adds_up(told), told


def test_a_replaced_state_folder_leaves_nothing_missed(node):
    n = node({"workers": 2, "tasks": [
        {"name": "f", "every": "100ms", "singleton": "flock", "timeout": "1s", "noop": {}}]})
    for _ in range(2):
        before = len(n.runs("f"))
        n.start()
        kit.wait_until(lambda: len(n.runs("f")) > before + 5, 10, "runs")
        assert n.stop() == 0
        shutil.rmtree(n.config["state_dir"])
        time.sleep(1.5)
    proof = n.prove()
    told = proof.task("f")
    assert proof.code == 0 and told["missed"] == 0 and adds_up(told), proof.raw
    assert told["between_ledgers"]["instants"] > 10, proof.raw


def noop(name, every="100ms", **more):
    return {"name": name, "every": every, "singleton": "flock", "timeout": "1s", "noop": {}, **more}


def live(n, tasks, ran, **more):
    """One life of a node under these tasks, until the one named has run a few times more."""
    n.configure({"workers": 2, "tasks": tasks, **more})
    before = len(n.runs(ran))
    n.start()
    kit.wait_until(lambda: len(n.runs(ran)) > before + 5, 10, f"{ran} runs")
    assert n.stop() == 0, n.text()


def test_a_removed_task_is_due_no_more(node):
    n = node({})
    live(n, [noop("a"), noop("b")], "b")
    live(n, [noop("a")], "a")
    proof = n.prove()
    assert proof.code == 0, proof.raw
    told = proof.task("b")
    assert told["missed"] == 0 and told["removed"]["instants"] > 3 and adds_up(told), told
    assert "removed" not in proof.task("a") and proof.task("a")["missed"] == 0, proof.raw

    live(n, [noop("a"), noop("b")], "b")
    proof = n.prove()
    assert proof.code == 0, proof.raw
    told = proof.task("b")
    assert told["missed"] == 0 and told["removed"]["instants"] > 3 and told["once"] >= 8 and adds_up(told), told


def test_a_task_that_gets_another_scope_is_due_no_more_under_the_first(node, redis):
    n = node({})
    more = {"redis": {"url": redis.url, "app": "t"}}
    live(n, [noop("a", singleton="redis"), noop("b", singleton="redis")], "b", **more)
    live(n, [noop("a", singleton="redis"), noop("b", singleton="redis", scope="all")], "b", **more)
    proof = n.prove()
    assert proof.code == 0 and proof.task("b")["missed"] == 0, proof.raw
    live(n, [noop("c")], "c")
    proof = n.prove()
    assert proof.code == 0 and proof.task("a")["missed"] == proof.task("b")["missed"] == 0, proof.raw


def test_the_logs_of_a_part_of_the_nodes_call_nothing_missed(node, redis):
    config = {"workers": 2, "redis": {"url": redis.url, "app": "t"}, "tasks": [noop("r", singleton="redis")]}
    nodes = [node(config, name=name) for name in ("one", "two", "three")]
    for n in nodes:
        n.start()
    kit.wait_until(lambda: all(len([l for l in n.lines() if l["e"] == "attempt"]) > 20 for n in nodes), 20,
                   "all have tried")
    for n in nodes:
        assert n.stop() == 0
    for n in nodes:
        proof = n.prove()
        told = proof.task("r")
        assert proof.code in (0, 3) and told["missed"] == 0 and adds_up(told), proof.raw
        if len(n.runs("r")) < told["expected"]:
            assert proof.code == 3 and "whose log is not here" in proof.raw, proof.raw
    whole = kit.prove(nodes[0].logs, *(n.logs for n in nodes[1:]))
    assert whole.code == 0 and whole.task("r")["missed"] == 0, whole.raw


def test_the_end_of_a_killed_workers_last_run_cannot_be_taken_away_unseen(node):
    n = node({"workers": 1, "tasks": [{"name": "f", "every": "200ms", "singleton": "flock", "timeout": "1s", "noop": {}}]})
    n.start()
    kit.wait_until(lambda: len(n.runs("f")) > 5, 10, "it runs")
    os.kill(n.workers()[0], signal.SIGKILL)
    kit.wait_until(lambda: len({l["file"] for l in n.runs("f")}) == 2, 10, "its successor runs")
    assert n.stop() == 0, n.text()
    path = pathlib.Path(n.runs("f")[0]["file"])
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if b'"e":"finish"' in line)
    path.write_bytes(b"".join(lines[:last]))
    proof = n.prove()
    told = proof.task("f")
    assert proof.code == 3 and told["verdict"] == "UNKNOWN" and told["findings"] == {"UNFINISHED": 1}, proof.raw
    assert told["runs"] == told["noop"] + told["interrupted"] + told["unknown"] - told["unsure"], proof.raw


def test_nothing_that_was_judged_is_no_proof(logs):
    for window in (("--since", "2096-01-01T00:00:00Z"), ("--until", "2020-01-01T00:00:00Z")):
        proof = kit.prove(logs, *window)
        assert proof.code == 3 and proof.report["verdict"] == "NOTHING", proof.raw


@pytest.mark.parametrize("first,second", [("flock", "none"), ("none", "flock")])
def test_a_task_that_changes_its_kind_is_no_duplicate_of_itself(node, first, second):
    def live(path, enabled=True):
        n.configure({"workers": 2, "tasks": [{"name": "p", "every": "2s", "singleton": path, "timeout": "5s",
                                              "enabled": enabled, "noop": {}}]})
        n.start()
        kit.wait_until(lambda: any(l["e"] == "plan" and l["task"] == "p" and l["path"] == path and l["enabled"] == enabled
                                   for l in n.lines()), 10, "the plan is told")
        if enabled:
            runs = len(n.runs("p"))
            kit.wait_until(lambda: len(n.runs("p")) > runs + (path == "none"), 10, "it ran")
        assert n.stop() == 0, n.text()

    n = node({})
    live(first)
    live(first, enabled=False)
    live(second)
    proof = n.prove()
    assert proof.code in (0, 3), proof.raw     # 3: all of it was in the window of a first start, and nothing is judged
    for told in (t for t in proof.report["tasks"] if t["task"] == "p"):
        assert told["duplicates"] == told["missed"] == 0 and not told["findings"], proof.raw


def test_what_a_full_disk_took_is_unknown_and_not_missed(node, folder):
    """Lines that could not be written before a kill and a stop are lost; what nobody tells was not missed."""
    with faults.small_disk(folder / "logs", 600) as disk:
        n = node({"workers": 2, "log": {"dir": str(disk)}, "tasks": [
            {"name": "f", "every": "200ms", "singleton": "flock", "timeout": "10s", "noop": {}}]})
        n.start()
        kit.wait_until(lambda: len(n.runs("f")) > 8, 10, "it runs")
        filler = faults.fill(disk)
        time.sleep(3)                    # of instants that have no line
        os.kill(n.workers()[1], signal.SIGKILL)
        time.sleep(2.5)
        assert n.stop() in (0, 1), n.text()
        filler.unlink()
        n.start()
        before = len(n.runs("f"))
        kit.wait_until(lambda: len(n.runs("f")) > before + 3, 10, "it runs again")
        assert n.stop() == 0, n.text()
        proof = n.prove()
    told = proof.task("f")
    assert proof.code in (0, 3) and told["missed"] == told["duplicates"] == 0 and adds_up(told), proof.raw


def test_what_retention_deleted_makes_no_orphans(node):
    n = node({"workers": 2, "log": {"rotate_size": "64KiB", "max_bytes": "1MiB"}, "tasks": [
        {"name": "f", "every": "500ms", "singleton": "flock", "timeout": "10s", "shards": 300, "noop": {}}]})
    n.configure({**n.config, "log": {**n.config["log"], "dir": str(n.folder / "log")}})
    n.start()
    first = lambda: min(int(p.name.split(".")[-2]) for p in pathlib.Path(n.logs, "triggers").glob("*.0.*.jsonl"))
    kit.wait_until(lambda: list(pathlib.Path(n.logs, "triggers").glob("*.0.*.jsonl")) and first() > 1, 90, "old files go")
    assert n.stop() == 0, n.text()
    proof = n.prove()
    told = proof.task("f")
    assert proof.code == 0 and not told["findings"] and told["expected"] > 0 and adds_up(told), proof.raw
