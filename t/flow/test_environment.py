"""Faults of what surrounds a node: disks, descriptors, processes, folders, lock files, ledgers. Each is named, starts
nothing that was not claimed, and is over when its cause is."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import time

import pytest

import faults
import kit
from faults import CURE


def noop(name="f", path="flock", every="100ms", **more):
    return {"name": name, "every": every, "singleton": path, "timeout": "5s", "noop": {}, **more}


def runs_of(n, task="f"):
    return [l["planned"] for l in n.runs(task)]


def waits_for_word(n, word, seconds=10):
    kit.wait_until(lambda: word in n.text(), seconds, f"{word!r} is said")


def waits_for_runs(n, task="f", count=5, seconds=10):
    """`count` more runs than there are now."""
    before = len(runs_of(n, task))
    kit.wait_until(lambda: len(runs_of(n, task)) >= before + count, seconds, f"{count} more runs of {task}")


def stands_still(number, seconds=1):
    before = number()
    time.sleep(seconds)
    return number() == before


def assert_stands_still(n, task="f", seconds=0.7):
    before = len(runs_of(n, task))
    time.sleep(seconds)
    assert len(runs_of(n, task)) == before


def assert_once(n, codes=(0,)):
    """No instant ran twice, and the proof ends as it should."""
    proof = n.prove()
    for task in proof.report["tasks"]:
        assert task["duplicates"] == 0, proof.raw
    assert proof.code in codes, proof.raw
    return proof


def exit_of(n, seconds=20):
    n.start(ready=False)
    return n.process.wait(seconds)


# Disks.

def test_a_full_log_disk_stops_claims_until_there_is_room(node, folder):
    with faults.small_disk(folder / "logs", 2048) as disk:
        n = node({"log": {"dir": str(disk)}, "tasks": [noop(), noop("d", "dedicated")]})
        n.start()
        waits_for_runs(n)
        filler = faults.fill(disk)
        waits_for_word(n, "trigger log")
        kit.wait_until(lambda: "No space left" in n.text(), 5, "the reason is named")
        # Each worker goes on until the last block of its own file is full.
        kit.wait_until(lambda: stands_still(lambda: faults.sql(n, "SELECT count(*) FROM record WHERE fence > 0")), 20,
                       "nothing is claimed")
        filler.unlink()
        waits_for_runs(n)
        waits_for_runs(n, "d")
        waits_for_word(n, "is written again")
        assert n.stop() == 0
        # Lines that found no room are a gap by name: what they would have said stays open.
        assert_once(n, codes=(0, 2, 3))
        assert not faults.sql(n, "SELECT * FROM record WHERE state = 'running'")


def test_trigger_logs_stay_within_their_limit(node):
    """The lines of a busy second go beyond it; what a process writes just now is the only file that may."""
    n = node({"workers": 2,
              "tasks": [{"name": f"n{i}", "every": "10ms", "singleton": "none", "timeout": "5s", "noop": {}}
                        for i in range(20)]})
    n.config["log"]["max_bytes"] = "1MiB"
    n.configure(n.config)
    n.start()
    folder = pathlib.Path(n.logs, "triggers")
    waits_for_word(n, "old trigger files were deleted", 20)
    for _ in range(20):
        size = 0
        for path in folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                size += path.stat().st_size
        assert size < 3 * 512 * 1024, size
        time.sleep(0.05)
    assert n.stop() == 0


def test_a_full_state_disk_stops_claims_until_there_is_room(node, folder):
    with faults.small_disk(folder / "state", 1024) as disk:
        n = node({"state_dir": str(disk), "tasks": [noop(), noop("d", "dedicated")]})
        n.start()
        waits_for_runs(n)
        filler = faults.fill(disk)
        waits_for_word(n, "ledger is down", 20)
        assert "No space left" in n.text() or "disk is full" in n.text()
        assert_stands_still(n)
        filler.unlink()
        waits_for_word(n, "ledger is back")
        waits_for_runs(n)
        assert n.stop() == 0
        assert_once(n)


@pytest.mark.parametrize("which", ["state_dir", "run_dir", "log"])
def test_a_read_only_folder_is_named_at_the_start(node, folder, which):
    with faults.small_disk(folder / "disk", 1024) as disk:
        faults.remount(disk, "ro")
        place = str(disk / "inside")
        n = node({which: {"dir": place} if which == "log" else place, "tasks": [noop()]})
        assert exit_of(n) == 73
        assert "Read-only file system" in n.text() and place in n.text()
        faults.remount(disk, "rw")
        n.start()
        waits_for_runs(n)
        assert n.stop() == 0


@pytest.mark.parametrize("seconds", [0, 3], ids=["once", "for long"])
def test_a_disk_that_fails_stops_claims_until_it_does_not(node, folder, seconds):
    f = faults.Faults(folder)
    n = node({"workers": 2, "tasks": [noop(), noop("d", "dedicated")]}, env=f.env)
    n.start()
    waits_for_runs(n)
    f.set("fdatasync EIO")
    waits_for_word(n, "ledger.db: Input/output error")
    if seconds:
        assert_stands_still(n, seconds=seconds)
    f.clear()
    waits_for_word(n, "ledger is back")
    waits_for_runs(n)
    waits_for_runs(n, "d")
    assert n.stop() == 0
    assert_once(n)


def test_a_slow_disk_makes_late_and_nothing_else(node, folder):
    f = faults.Faults(folder)
    f.set("fdatasync 150")
    n = node({"tasks": [noop(every="1s"), noop("d", "dedicated", "1s")]}, env=f.env)
    n.start()
    waits_for_runs(n, count=4, seconds=15)
    f.clear()
    waits_for_runs(n, count=2)
    assert n.stop() == 0
    assert_once(n)


# Descriptors and processes.

def test_no_descriptor_left_fails_runs_by_name_and_passes(node, folder):
    many = [noop(f"e{i}", "dedicated", "1s", noop=None, exec=["/bin/sleep", "0.3"]) for i in range(30)]
    for task in many:
        del task["noop"]
    n = node({"workers": 1, "tasks": [*many, noop()]}, wrap=["prlimit", "--nofile=64:64"])
    n.start()
    kit.wait_until(lambda: any(l.get("error") and "Too many open files" in l["error"] for l in n.lines()
                               if l["e"] == "finish"), 10, "a run fails for want of descriptors")
    waits_for_runs(n)
    assert n.stop() == 0
    proof = assert_once(n)
    assert proof.task("f")["missed"] == 0


def test_a_refused_fork_is_tried_again(node, folder):
    f = faults.Faults(folder)
    n = node({"workers": 2, "tasks": [noop(), noop("d", "dedicated")]}, env=f.env)
    n.start()
    waits_for_runs(n)
    f.set("fork EAGAIN")
    victim = n.timer_worker()
    os.kill(victim, signal.SIGKILL)
    waits_for_word(n, "Resource temporarily unavailable")
    waits_for_runs(n)
    waits_for_runs(n, "d")
    assert len(n.workers()) == 1
    f.clear()
    kit.wait_until(lambda: len(n.workers()) == 2, 10, "the worker is replaced")
    waits_for_runs(n)
    assert n.stop() == 0
    assert_once(n)


@pytest.mark.parametrize("error", ["EAGAIN", "ENOMEM"])
def test_a_command_that_cannot_be_started_fails_by_name(node, folder, error):
    f = faults.Faults(folder)
    n = node({"workers": 2, "tasks": [{"name": "e", "every": "300ms", "timeout": "5s", "exec": ["/bin/true"]}, noop()]},
             env=f.env)
    n.start()
    waits_for_runs(n, "e", 2)
    f.set(f"spawn {error}")
    kit.wait_until(lambda: any(l["e"] == "finish" and l["task"] == "e" and l["state"] == "failed" for l in n.lines()), 10,
                   "a run fails")
    failed = next(l for l in n.lines() if l["e"] == "finish" and l["state"] == "failed")
    assert failed["cause"] == "not_sent" and os.strerror(getattr(__import__("errno"), error)) in failed["error"], failed
    f.clear()
    before = sum(l["e"] == "finish" and l["state"] == "succeeded" and l["task"] == "e" for l in n.lines())
    kit.wait_until(lambda: sum(l["e"] == "finish" and l["state"] == "succeeded" and l["task"] == "e"
                               for l in n.lines()) > before, 10, "it succeeds again")
    assert n.stop() == 0
    assert_once(n)


# The ledger's file.

def missing(state):
    for path in state.glob("ledger.db*"):
        path.unlink()


def empty(state):
    os.truncate(state / "ledger.db", 0)


def truncated(state):
    os.truncate(state / "ledger.db", os.path.getsize(state / "ledger.db") // 2)


def corrupt(state):
    with open(state / "ledger.db", "r+b") as f:
        f.seek(4096)
        f.write(os.urandom(5 * 4096))


def garbage(state):
    (state / "ledger.db").write_bytes(os.urandom(50000))


DAMAGES = {missing: "is missing", empty: "missing or empty", truncated: "is damaged", corrupt: "is damaged",
           garbage: "is damaged", "PRAGMA user_version = 9": "has layout 9",
           "PRAGMA application_id = 9": "no ledger of onced", "UPDATE meta SET incarnation = 'f00'": "another ledger",
           "UPDATE meta SET life = 99": "node_id is an older copy"}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d if isinstance(d, str) else d.__name__)
def test_a_ledger_that_is_not_the_one_left_stops_the_start_until_recovered(node, damage):
    n = node({"workers": 2, "tasks": [noop(), noop("d", "dedicated")]})
    state = pathlib.Path(n.config["state_dir"])
    n.start()
    waits_for_runs(n)
    assert n.stop() == 0
    ran = {t: set(runs_of(n, t)) for t in "fd"}
    if callable(damage):
        for extra in ("ledger.db-wal", "ledger.db-shm"):
            (state / extra).unlink(missing_ok=True)
        damage(state)
    else:
        faults.sql(n, damage)
    assert exit_of(n) == 78, n.text()
    assert DAMAGES[damage] in n.text() and CURE in n.text(), n.text()
    assert {t: set(runs_of(n, t)) for t in "fd"} == ran, "nothing is claimed"
    asked = faults.recover(n, "--ledger")
    assert asked.returncode == 64 and "may have run" in asked.stdout
    assert exit_of(n) == 78, "a question changes nothing"
    done = faults.recover(n, "--ledger", "--yes")
    assert done.returncode == 0, done.stderr
    recovered = time.time() * 1000
    if damage in (truncated, corrupt, garbage):
        assert list(state.glob("ledger.db.lost-*Z")), "the old file is kept"
    n.start()
    waits_for_runs(n)
    waits_for_runs(n, "d")
    assert n.stop() == 0
    for t in "fd":
        again = [p for p in runs_of(n, t) if p not in ran[t]]
        assert again and min(again) > recovered - 1000 and len(runs_of(n, t)) == len(set(runs_of(n, t)))
    assert faults.sql(n, "SELECT min(planned) FROM record WHERE fence > 0 AND life > 1")[0][0] > recovered - 1000
    # While nothing ran, and no ledger knew since when, instants have no record: said as missed.
    assert_once(n, codes=(0, 2, 3))
    assert n.start().stop() == 0, "and the next start asks for nothing"


def start_before_an_instant(n, task):
    """Starts n so that an instant of `task`, which comes every 6 s, runs right after; gives that instant back."""
    kit.wait_until(lambda: time.time() % 6 > 5.4, 7, "an instant is near")
    n.start()
    kit.wait_until(lambda: time.time() % 6 < 3, 2, "the instant has come")
    return kit.wait_until(lambda: [p for p in runs_of(n, task) if p > time.time() * 1000 - 3000], 3, "it runs")[0]


def assert_unknown_by_the_barrier(n, task, instant):
    """n was started anew within the grace of `instant`, which had run, and which the ledger knows no more."""
    assert time.time() * 1000 < instant + 5500, "too slow to show anything"
    before = len(runs_of(n, task))
    kit.wait_until(lambda: len(runs_of(n, task)) > before, 8, "the next instant runs")
    assert len(runs_of(n, task)) == len(set(runs_of(n, task)))
    assert faults.sql(n, "SELECT count(*) FROM record WHERE task = ? AND cause = 'barrier' AND planned = ?", task,
                      instant) == [(1,)]


@pytest.mark.parametrize("path", ["flock", "dedicated"])
def test_a_ledger_put_back_from_a_copy_starts_nothing_again(node, path):
    n = node({"workers": 2, "tasks": [noop("f", path, "6s")]})
    state = pathlib.Path(n.config["state_dir"])
    assert n.start().stop() == 0
    shutil.copy(state / "ledger.db", state / "copy")
    ran = start_before_an_instant(n, "f")
    assert n.stop() == 0
    (state / "copy").rename(state / "ledger.db")
    for extra in ("ledger.db-wal", "ledger.db-shm"):
        (state / extra).unlink(missing_ok=True)
    n.start()
    assert_unknown_by_the_barrier(n, "f", ran)
    assert "the ledger is an older copy" in n.text()
    assert n.stop() == 0


@pytest.mark.parametrize("path", ["flock", "dedicated"])
def test_a_recovered_ledger_starts_nothing_again(node, path):
    n = node({"workers": 2, "tasks": [noop("f", path, "6s")]})
    ran = start_before_an_instant(n, "f")
    assert n.stop() == 0
    missing(pathlib.Path(n.config["state_dir"]))
    assert faults.recover(n, "--ledger", "--yes").returncode == 0
    n.start()
    assert_unknown_by_the_barrier(n, "f", ran)
    assert n.stop() == 0


def test_a_damaged_node_id_is_kept_until_recovered(node):
    n = node({"workers": 2, "tasks": [noop(scope="all")]})
    node_id = pathlib.Path(n.config["state_dir"], "node_id")
    n.start()
    waits_for_runs(n)
    assert n.stop() == 0
    before = len(runs_of(n))
    name = node_id.read_text().split()[1]
    node_id.write_text("garbage\n")
    assert exit_of(n) == 73
    assert "node_id is not understood" in n.text() and CURE in n.text()
    assert node_id.read_text() == "garbage\n" and len(runs_of(n)) == before
    assert faults.recover(n, "--ledger", "--yes").returncode == 0
    assert node_id.read_text().split()[1] == name, "the ledger knew the name"
    assert list(node_id.parent.glob("node_id.lost-*"))
    n.start()
    waits_for_runs(n)
    assert n.stop() == 0
    assert len(runs_of(n)) == len(set(runs_of(n)))


def test_recovery_is_refused_while_the_instance_runs(node):
    n = node({"workers": 2, "tasks": [noop()]})
    n.start()
    for what in (["--ledger"], ["f", "--cursor", "now"]):
        refused = faults.recover(n, *what, "--yes")
        assert refused.returncode == 75 and f"pid {n.pid}" in refused.stderr, refused
    waits_for_runs(n)
    assert n.stop() == 0
    assert_once(n)


def test_a_cursor_ahead_is_loud_and_set_back_by_a_person(node):
    n = node({"workers": 2, "tasks": [noop(), noop("near")]})
    n.start()
    waits_for_runs(n)
    assert n.stop() == 0
    faults.sql(n, "UPDATE unit SET cursor = cursor + 7200000 WHERE task = 'f'")
    n.start()
    waits_for_word(n, "onced recover f --cursor now -c FILE")
    waits_for_runs(n, "near")
    assert_stands_still(n)
    problem = json.loads(n.cli_raw("GET", "/readyz"))
    assert n.status == 503 and "max_future" in problem["detail"], problem
    assert n.stop() == 0
    ran = set(runs_of(n))
    done = faults.recover(n, "f", "--cursor", "now", "--yes")
    assert done.returncode == 0 and "1 cursor set" in done.stdout, done
    kept = faults.sql(n, "SELECT count, error FROM record WHERE task = 'f' AND cause = 'revised'")
    assert len(kept) == 1 and kept[0][0] > 71000 and f"uid {os.getuid()}" in kept[0][1]
    n.start()
    waits_for_runs(n)
    n.cli_raw("GET", "/readyz")
    assert n.status == 200
    assert n.stop() == 0
    assert ran < set(runs_of(n)) and len(runs_of(n)) == len(set(runs_of(n)))


# Lock files, folders, boots.

@pytest.mark.parametrize("how", ["unlinked", "replaced"])
def test_run_locks_that_are_swapped_change_nothing(node, how):
    n = node({"tasks": [noop(f"f{i}", every="50ms") for i in range(4)]})
    locks = pathlib.Path(n.config["run_dir"], "locks")
    n.start()
    for _ in range(40):
        for path in list(locks.iterdir()):
            if how == "unlinked":
                path.unlink(missing_ok=True)
            else:
                other = path.with_suffix(".other")
                other.write_text("4711\n")
                other.rename(path)
        time.sleep(0.05)
    waits_for_runs(n, "f0")
    assert n.stop() == 0
    assert_once(n)


def test_a_run_dir_wiped_while_running_keeps_tasks_once(node):
    n = node({"workers": 2, "tasks": [noop(), noop("d", "dedicated")]})
    n.start()
    waits_for_runs(n)
    shutil.rmtree(n.config["run_dir"])
    waits_for_runs(n)
    waits_for_runs(n, "d")
    kit.wait_until(lambda: n.cli("status").returncode == 0, 15, "the socket is there again")
    assert n.stop() == 0
    assert_once(n)


def test_state_on_a_network_file_system_is_refused(node, folder):
    f = faults.Faults(folder)
    f.set("statfs nfs")
    n = node({"workers": 2, "tasks": [noop()]}, env=f.env)
    assert exit_of(n) == 78
    assert "lies on a network file system" in n.text() and "allow_network_fs" in n.text()
    assert not runs_of(n)
    n.configure({"workers": 2, "allow_network_fs": True, "tasks": [noop()]})
    n.start()
    waits_for_runs(n)
    assert n.stop() == 0
    assert_once(n)


def test_one_state_dir_has_one_instance_whatever_the_run_dir(node, folder):
    first = node({"workers": 2, "tasks": [noop()]}, name="first")
    second = node({"workers": 2, "state_dir": first.config["state_dir"], "tasks": [noop()]}, name="second")
    first.start()
    assert exit_of(second) == 75
    assert f"pid {first.pid}" in second.text()
    waits_for_runs(first)
    assert first.stop() == 0
    assert_once(first)
    second.start()
    waits_for_runs(second)
    assert second.stop() == 0


def test_one_run_dir_has_one_instance_whatever_the_state_dir(node):
    first = node({"workers": 2, "tasks": [noop()]}, name="first")
    second = node({"workers": 2, "run_dir": first.config["run_dir"], "tasks": [noop()]}, name="second")
    first.start()
    assert exit_of(second) == 73
    assert f"{first.socket} cannot be listened at: Address already in use" in second.text()
    assert not runs_of(second)
    waits_for_runs(first)
    assert first.cli("status").returncode == 0
    assert first.stop() == 0
    assert_once(first)


def test_another_boot_under_durability_process_starts_nothing_of_before(node, folder):
    f = faults.Faults(folder)
    n = node({"workers": 2, "durability": "process",
              "tasks": [noop(every="6s"),
                        {"name": "long", "every": "1s", "timeout": "60s", "exec": ["/bin/sleep", "60"]}]}, env=f.env)
    ran = start_before_an_instant(n, "f")
    kit.wait_until(lambda: runs_of(n, "long"), 5, "the long one runs")
    n.end()
    kit.wait_until(lambda: not kit.holders(n.config["state_dir"] + "/node.lock"), 10, "all of it is gone")
    # What a power loss takes: the newest commits, which never reached the disk.
    faults.sql(n, "DELETE FROM record WHERE task = 'f' AND planned = ?", ran)
    faults.sql(n, "UPDATE unit SET cursor = cursor - 6000 WHERE task = 'f'")
    f.set("boot 11111111-2222-3333-4444-555555555555")
    n.start()
    assert_unknown_by_the_barrier(n, "f", ran)
    assert "went down without a clean stop, under durability process" in n.text()
    assert n.stop(signal.SIGQUIT) in (0, 1)
    assert ("unknown", "power") in faults.sql(n, "SELECT state, cause FROM record WHERE task = 'long' ORDER BY planned")


# The group's store.

def test_a_store_without_identity_halts_and_goes_on_when_a_person_accepts_it(node, redis, sink):
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"},
              "tasks": [{"name": "r", "every": "200ms", "singleton": "redis", "timeout": "5s", "http": {"url": sink.url}},
                        noop()]})
    n.start()
    waits_for_runs(n, "r")
    redis.command("FLUSHALL")
    waits_for_word(n, "onced recover --store -c FILE")
    assert_stands_still(n, "r")
    waits_for_runs(n)
    assert redis.command("DBSIZE") == ":0", "nothing makes a new store by itself"
    assert faults.recover(n, "--store").returncode == 64
    assert redis.command("DBSIZE") == ":0"
    done = faults.recover(n, "--store", "--yes")
    assert done.returncode == 0 and "is empty" in done.stdout, done
    waits_for_word(n, "redis ledger is back")
    waits_for_runs(n, "r")
    assert n.stop() == 0
    assert set(sink.by_instant("r").values()) == {1}
    assert_once(n, codes=(0, 2, 3))


def test_a_recovered_store_starts_nothing_again(node, redis):
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"}, "tasks": [noop("r", "redis", "6s")]})
    ran = start_before_an_instant(n, "r")
    redis.command("FLUSHALL")
    assert faults.recover(n, "--store", "--yes").returncode == 0
    assert n.stop() == 0
    n.start()
    assert time.time() * 1000 < ran + 5500, "too slow to show anything"
    before = len(runs_of(n, "r"))
    kit.wait_until(lambda: len(runs_of(n, "r")) > before, 8, "the next instant runs")
    assert len(runs_of(n, "r")) == len(set(runs_of(n, "r")))
    told = [l for l in n.lines() if l.get("cause") == "barrier" and l.get("first", ran) <= ran <= l.get("last", ran)]
    assert told and n.stop() == 0


def test_a_redis_cursor_ahead_or_lost_is_set_to_now(node, redis):
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"},
              "tasks": [noop("r", "redis", "200ms"), noop("gone", "redis", "200ms")]})
    n.start()
    waits_for_runs(n, "r")
    waits_for_runs(n, "gone")
    assert n.stop() == 0
    unit = "onced:{t:default}:u:0:,%d:%s,0"
    ahead = str(int(time.time() * 1000) + 7200000)
    redis.command("HSET", unit % (1, "r"), "cursor", ahead.zfill(15))
    redis.command("DEL", unit % (4, "gone"))
    n.start()
    waits_for_word(n, "onced recover TASK --cursor now -c FILE")
    waits_for_word(n, "onced recover r --cursor now -c FILE")
    assert_stands_still(n, "r")
    assert n.stop() == 0
    for task in ("r", "gone"):
        done = faults.recover(n, task, "--cursor", "now", "--yes")
        assert done.returncode == 0 and "1 cursor set" in done.stdout, done
    n.start()
    waits_for_runs(n, "r")
    waits_for_runs(n, "gone")
    assert n.stop() == 0
    for task in ("r", "gone"):
        assert len(runs_of(n, task)) == len(set(runs_of(n, task)))
