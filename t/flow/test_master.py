"""Starting, stopping, signals and exit codes, as process managers and people meet them."""
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

import kit

TASK = {"name": "t", "every": "100ms", "singleton": "flock", "timeout": "30s", "noop": {}}


def test_a_second_instance_is_refused_and_disturbs_nothing(node):
    n = node({"tasks": [TASK]})
    n.start()
    pids = set(n.titles())
    second = subprocess.run([kit.ONCED, "run", str(n.config_path)], capture_output=True, text=True, timeout=20)
    assert second.returncode == 75
    assert str(n.pid) in second.stderr
    assert set(n.titles()) == pids
    # Another run_dir over the same state_dir is the same node.
    other = node({**n.config, "run_dir": str(n.folder / "run2")}, name="other")
    assert subprocess.run([kit.ONCED, "run", str(other.config_path)], timeout=20,
                          capture_output=True).returncode == 75
    assert n.api("/v1/status")
    assert n.stop() == 0


def test_what_a_crash_leaves_behind_is_no_obstacle(node):
    n = node({"tasks": [TASK]})
    n.start()
    tree = kit.descendants_of(n.pid) | {n.pid}
    for pid in tree:
        os.kill(pid, signal.SIGKILL)
    n.process.wait()
    assert os.path.exists(n.socket)
    locks = pathlib.Path(n.config["run_dir"], "locks")
    for lock in locks.iterdir():
        lock.write_text("pid 1\n" * 100)
    n.start()
    time.sleep(0.5)
    assert n.stop() == 0
    assert n.prove().is_clean


def test_notify_socket_hears_ready_and_stopping(node, folder):
    path = str(folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(15)
        n = node({"tasks": [TASK]}, env={"NOTIFY_SOCKET": path})
        n.start()
        heard = s.recv(4096).decode()
        while "READY=1" not in heard:
            heard += s.recv(4096).decode()
        n.send(signal.SIGTERM)
        while "STOPPING=1" not in heard:
            heard += s.recv(4096).decode()
        assert n.process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_drain_lets_runs_finish(node, number):
    n = node({"tasks": [{"name": "slow", "every": "1s", "singleton": "flock", "timeout": "30s",
                         "exec": ["/bin/sleep", "1"]}]})
    n.start()
    kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "child"], 8, "a run")
    assert n.stop(number) == 0
    runs = {l["occ"] for l in n.lines() if l["e"] == "run"}
    ended = {l["occ"]: l["state"] for l in n.lines() if l["e"] == "finish"}
    assert runs and all(ended[o] == "succeeded" for o in runs)
    assert n.prove().is_clean


def deaf(n):
    n.configure({"drain_timeout": "30s", "tasks": [
        {"name": "deaf", "every": "1s", "singleton": "flock", "timeout": "60s",
         "exec": {"argv": ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"], "kill_after": "1s"}}]})
    n.start()
    return kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "child"], 8, "a run")[0]


def test_a_second_term_stops_fast_and_says_that_it_killed(node):
    n = node({"tasks": [TASK]})
    child = deaf(n)
    n.send(signal.SIGTERM)
    time.sleep(1)
    assert n.process.poll() is None
    n.send(signal.SIGTERM)
    assert n.process.wait(15) == 1
    assert not kit.alive(child["pid"])
    ended = [l for l in n.lines() if l["e"] == "finish"]
    assert ended[-1]["state"] == "interrupted" and ended[-1]["cause"] == "stopped"
    assert n.prove().is_clean


def test_drain_timeout_ends_what_does_not_end(node):
    n = node({"tasks": [TASK]})
    n.configure({"drain_timeout": "1s", "tasks": [
        {"name": "long", "every": "1s", "singleton": "flock", "timeout": "60s", "exec": ["/bin/sleep", "50"]}]})
    n.start()
    kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "child"], 8, "a run")
    began = time.monotonic()
    assert n.stop() == 1
    assert time.monotonic() - began < 10


def test_quit_stops_fast(node):
    n = node({"tasks": [TASK]})
    n.start()
    began = time.monotonic()
    assert n.stop(signal.SIGQUIT) == 0
    assert time.monotonic() - began < 5


def test_usr1_opens_new_log_files(node):
    n = node({"tasks": [TASK]})
    n.configure({"log": {"dir": str(n.folder / "log"), "to": "file"}, "tasks": [TASK]})
    n.start()
    log = pathlib.Path(n.logs, "onced.log")
    kit.wait_until(lambda: log.exists() and "ready" in log.read_text(), 5, "the log file")
    before = set(os.listdir(f"{n.logs}/triggers"))
    log.rename(log.with_suffix(".1"))
    n.send(signal.SIGUSR1)
    kit.wait_until(lambda: log.exists(), 5, "a new log file")
    kit.wait_until(lambda: len(set(os.listdir(f"{n.logs}/triggers")) - before) >= 5, 5, "new trigger files")
    time.sleep(0.5)
    assert n.stop() == 0
    assert "stop" in log.read_text()
    assert n.prove().code == 0, n.prove().raw


def test_workers_more_and_less(node):
    n = node({"workers": 2, "tasks": [TASK]})
    n.start()
    n.send(signal.SIGTTIN)
    kit.wait_until(lambda: len(n.workers()) == 3, 5, "a third worker")
    time.sleep(0.5)
    n.send(signal.SIGTTOU)
    kit.wait_until(lambda: len(n.workers()) == 2, 10, "two again")
    n.send(signal.SIGWINCH)
    time.sleep(0.3)
    assert n.stop() == 0
    assert n.prove().is_clean


def test_a_worker_that_dies_at_birth_is_not_forked_in_a_storm(node):
    n = node({"tasks": [TASK]})
    n.start()
    kills = 0
    end = time.monotonic() + 4
    while time.monotonic() < end:
        for pid in n.workers().values():
            os.kill(pid, signal.SIGKILL)
            kills += 1
        time.sleep(0.02)
    assert kills < 80, kills   # without back-off: hundreds
    kit.wait_until(lambda: len(n.workers()) == 4, 40, "four workers again")
    assert n.stop() == 0
    proof = n.prove()
    assert proof.is_clean or proof.lacks_ends_only, proof.raw


BAD = {
    "unknown key": ("tasks: []\nworkerz: 4\n", ":2:1:", "workers"),
    "duplicate task": ("tasks:\n- {name: a, every: 1s, timeout: 1s, noop: {}}\n- {name: a, every: 1s, timeout: 1s, noop: {}}\n",
                       ":3:", "a"),
    "no timeout": ("tasks:\n- {name: a, every: 1s, noop: {}}\n", ":2:", "timeout"),
    "garbage": ("\x00\x01\x02" * 100, ":1:", ""),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_configuration_is_refused_with_its_place(folder, kind):
    text, place, word = BAD[kind]
    path = folder / "bad.yaml"
    path.write_text(text)
    for command in ("run", "check"):
        done = subprocess.run([kit.ONCED, command, str(path)], capture_output=True, text=True, timeout=20)
        assert done.returncode == 78
        assert place in done.stderr and word in done.stderr, done.stderr


def test_folders_that_cannot_be_made_are_named(node):
    n = node({"tasks": [TASK]})
    blocked = n.folder / "file"
    blocked.write_text("")
    n.configure({"state_dir": str(blocked / "state"), "tasks": [TASK]})
    n.start(ready=False)
    assert n.process.wait(20) == 73
    assert str(blocked) in n.text()


def test_a_signal_to_the_whole_group_drains_like_one_to_the_master(node):
    # As a terminal, a container's runtime and systemd's default KillMode do.
    n = node({"tasks": [{"name": "slow", "every": "1s", "singleton": "flock", "timeout": "30s",
                         "exec": ["/bin/sleep", "1"]}]})
    n.start()
    kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "child"], 8, "a run")
    os.killpg(n.pid, signal.SIGTERM)
    assert n.process.wait(20) == 0, n.text()
    assert "TERM)" not in n.text()
    assert {l["state"] for l in n.lines() if l["e"] == "finish"} == {"succeeded"}
    assert n.prove().is_clean


def test_old_trigger_files_are_deleted(node):
    n = node({"tasks": [TASK]})
    n.configure({"log": {"dir": str(n.folder / "log"), "keep": "1h"}, "tasks": [TASK]})
    triggers = n.folder / "log/triggers"
    triggers.mkdir(parents=True, mode=0o700)
    old = triggers / "other-01234567.0.1.1-abcd.1.jsonl"
    kept = triggers / "notes.txt"
    for path in (old, kept):
        path.write_text("{}\n")
        os.utime(path, (time.time() - 7200,) * 2)
    n.start()
    kit.wait_until(lambda: not old.exists(), 5, "the old file is gone")
    assert kept.exists()
    assert n.stop() == 0
    assert "1 old trigger files were deleted" in n.text()


def test_a_removed_socket_is_bound_again(node):
    n = node({"tasks": [TASK]})
    n.start()
    os.unlink(n.socket)
    kit.wait_until(lambda: n.cli("status").returncode == 0, 10, "the socket is there again")
    assert "had been removed" in n.text()
    shutil.rmtree(n.config["run_dir"])
    kit.wait_until(lambda: n.cli("status").returncode == 0, 10, "the whole folder is there again")
    time.sleep(0.5)
    assert n.stop() == 0
    assert n.prove().is_clean


def test_removed_trigger_files_are_noticed_and_written_anew(node):
    n = node({"tasks": [TASK]})
    n.start()
    time.sleep(0.5)
    shutil.rmtree(n.logs)
    kit.wait_until(lambda: len(kit.glob.glob(f"{n.logs}/triggers/*.jsonl")) >= 5, 10, "new files")
    time.sleep(1)
    assert n.stop() == 0
    assert "its file was removed" in n.text() and "the roster's file had been removed" in n.text()
    assert n.runs("t")
    # What was told before is lost: the proof speaks of what came after, and of nothing else.
    proof = n.prove()
    assert proof.code == 0 and proof.task("t")["executions"] == len(n.runs("t")), proof.raw


def test_a_leader_deposed_by_a_late_call_leads_again(node):
    """A call of an earlier leader that reaches the ledger late raises the term above the leader's own."""
    n = node({"workers": 2, "tasks": [{**TASK, "singleton": "dedicated"}]})
    n.start()
    time.sleep(0.5)
    with sqlite3.connect(f"{n.config['state_dir']}/ledger.db", timeout=10) as ledger:
        ledger.execute("pragma wal_autocheckpoint=0")
        ledger.execute("update node set term = term + 1")
    kit.wait_until(lambda: "is to lead again" in n.text(), 5, "the leader is told")
    before = len(n.runs("t"))
    kit.wait_until(lambda: len(n.runs("t")) > before + 3, 5, "dedicated tasks run on")
    assert n.stop() == 0
    assert n.prove().is_clean


def test_status_says_what_keeps_workers_from_their_work(node, redis):
    n = node({"redis": {"url": redis.url, "app": "t"},
              "tasks": [TASK, {**TASK, "name": "r", "singleton": "redis"}]})
    n.start()
    assert n.api("/v1/status")["ready"]
    redis.command("CONFIG", "SET", "maxmemory", "1")
    kit.wait_until(lambda: "redis is down" in (n.api("/v1/status")["reason"] or ""), 5, "out of memory is seen")
    n.cli_raw("GET", "/readyz")
    assert n.status == 503
    assert "onced_redis_down 1" in n.cli_raw("GET", "/metrics")
    assert "OOM" in n.text()
    redis.command("CONFIG", "SET", "maxmemory", "0")
    kit.wait_until(lambda: n.api("/v1/status")["ready"], 5, "ready again")
    redis.end()
    kit.wait_until(lambda: "redis is down" in (n.api("/v1/status")["reason"] or ""), 5, "the server's end is seen")
    before = len(n.runs("t"))
    kit.wait_until(lambda: len(n.runs("t")) > before, 5, "local tasks run on")
    n.stop()


@pytest.mark.parametrize("hang_timeout", ["1s", "2s"])
def test_a_short_hang_timeout_ends_no_healthy_process(node, hang_timeout):
    n = node({"workers": 2, "hang_timeout": hang_timeout, "tasks": [TASK]})
    n.start()
    time.sleep(5)
    assert n.stop() == 0
    assert "does not beat" not in n.text()
