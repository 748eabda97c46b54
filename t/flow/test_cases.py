"""Faults that other schedulers met in the field, each as a short test of its whole kind: who runs, and when.
The number in a docstring is that of the report."""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import faults
import kit
import wire
from evidence import (task, runs_of, finishes, waits_for_runs, prove_all, dropped, intervals, most_at_once, cpu_of,
                      three_nodes)


# Duplicates.

def test_every_process_has_the_timers_and_one_runs_them_whoever_dies(node, redis, sink):
    """Case 1: timers in each of four processes ran each job four times; letting only one of them have timers loses
    the job when that one dies."""
    paths = ("dedicated", "flock", "redis")
    n = node({"redis": {"url": redis.url, "app": "t"},
              "tasks": [task(p, p, http={"url": sink.url}) for p in (*paths, "none")]})
    n.start()
    time.sleep(3)
    os.kill(n.workers()[0], signal.SIGKILL)
    time.sleep(3)
    os.kill(n.timer_worker(), signal.SIGKILL)
    time.sleep(3)
    assert n.stop() == 0
    proof = n.prove()
    assert proof.code == 0, proof.raw
    for p in paths:
        seen = sink.by_instant(p)
        assert set(seen.values()) == {1}, p
        longest = max(b - a for a, b in zip(sorted(seen), sorted(seen)[1:]))
        assert longest <= (1000 if p == "dedicated" else 400) or kit.gaps(seen, 200) == sorted(
            dropped(n, p) & set(kit.gaps(seen, 200))), (p, longest)
    for p in ("flock", "redis"):
        tried = collections.Counter(l["planned"] for l in n.lines() if l["e"] == "attempt" and l["task"] == p)
        assert collections.Counter(tried.values()).most_common(1)[0][0] == 4
    assert proof.task("none")["verdict"] == "NOT SINGLE"
    assert proof.task("none")["runs_per_instant"]["multiple"] == 4


def test_a_free_lock_is_no_permission_for_a_late_timer(node, redis, sink):
    """Case 2: a run of 5 ms was over and its lock free when another node's timer came, seconds late."""
    tasks = [task("r", "redis", "1s", http={"url": sink.url})]
    nodes = three_nodes(node, redis, tasks)
    local = node({"workers": 2, "tasks": [task("f", "flock", "1s", http={"url": sink.url})]},
                 env={"ONCED_TEST_TIMER_DELAY_MS": "0,400"}, name="local")
    nodes[2].env["ONCED_TEST_TIMER_DELAY_MS"] = "400,400"
    everything = [*nodes, local]
    for n in everything:
        n.start()
    time.sleep(6)
    assert [n.stop() for n in everything] == [0, 0, 0, 0]
    for name, of in (("r", nodes), ("f", [local])):
        seen = sink.by_instant(name)
        assert len(seen) >= 5 and set(seen.values()) == {1}
        proof = prove_all(of)
        assert proof.code == 0, proof.raw
    for n in (nodes[2], local):
        outs = collections.Counter(l["out"] for l in n.lines() if l["e"] == "attempt")
        assert outs["done"] >= 3 and not outs["busy"], outs


def test_a_timer_a_hair_early_starts_nothing_twice(node, folder):
    """Case 4: a timer fired a millisecond early, and the next instant computed from then was the same again."""
    control = folder / "control"
    control.write_bytes(b"\0" * (8 + 16 * 16))
    n = node({"tasks": [task("f", "flock", "100ms"), task("d", "dedicated", "100ms")]},
             env={"LD_PRELOAD": str(kit.BUILD / "t/chaos/chaos-shim.so"), "ONCED_CHAOS_CONTROL": str(control),
                  "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    n.start()
    skews = b"".join(pid.to_bytes(4, "little") + b"\0" * 4 + (ahead * 1000000).to_bytes(8, "little", signed=True)
                     for pid, ahead in zip(n.workers().values(), (1, 2, 3, -2)))
    with open(control, "r+b") as f:
        f.seek(8)
        f.write(skews)
    time.sleep(6)
    assert n.stop() == 0
    for name in "fd":
        seen = runs_of(n, name)
        assert len(seen) > 50 and len(seen) == len(set(seen)) and all(t % 100 == 0 for t in seen)
    assert n.prove().task("f")["duplicates"] == 0
    skewed = {str(pid) for pid in n.workers().values()}
    for line in n.lines():
        if line["e"] == "run":
            assert kit.seconds_of(line["t"]) * 1000 >= line["planned"] - 5, (line, skewed)


# Misses.

@pytest.mark.parametrize("back", ["5 minutes", "366 days"])
def test_a_long_pause_is_one_range_and_no_enumeration(node, back):
    """Case 5: more than a hundred missed times counted as an error, and the job was never scheduled again."""
    seconds = {"5 minutes": 300, "366 days": 366 * 86400}[back]
    n = node({"workers": 1, "tasks": [task("f", every="1s"), task("d", "dedicated", "1s")]})
    n.start()
    waits_for_runs(n, "f", 1)
    assert n.stop() == 0
    faults.sql(n, "UPDATE unit SET cursor = cursor - ?", seconds * 1000)
    before = time.time() * 1000
    n.start()
    for name in "fd":
        kit.wait_until(lambda: [p for p in runs_of(n, name) if p > before], 3, "the next instant runs")
    spent = cpu_of(n.workers()[0])
    assert n.stop() == 0
    for name in "fd":
        ranges = faults.sql(n, "SELECT count, cause FROM record WHERE task = ? AND occ IS NULL AND count > 10", name)
        assert len(ranges) == 1 and ranges[0][1] == "misfire" and abs(ranges[0][0] - seconds) <= 10, ranges
        assert len(runs_of(n, name)) == len(set(runs_of(n, name)))
    assert spent < (5 if kit.SANITIZED else 0.15), spent


def test_what_passed_while_disabled_is_one_range(node):
    """Case 5, suspended: enabling runs nothing of the time before."""
    n = node({"workers": 2, "tasks": [task("f", every="1s")]})
    n.start()
    waits_for_runs(n, "f", 1)
    assert n.stop() == 0
    n.configure({"workers": 2, "tasks": [task("f", every="1s", enabled=False)]})
    assert n.start().stop() == 0
    faults.sql(n, "UPDATE unit SET cursor = cursor - 300000")
    n.configure({"workers": 2, "tasks": [task("f", every="1s")]})
    enabled = time.time() * 1000
    n.start()
    waits_for_runs(n, "f", 1, 3)
    assert n.stop() == 0
    assert min(p for p in runs_of(n, "f")[-1:]) > enabled - 1000
    ranges = faults.sql(n, "SELECT count, cause FROM record WHERE task = 'f' AND occ IS NULL AND count > 100")
    assert len(ranges) == 1 and ranges[0][1] == "disabled" and ranges[0][0] >= 299, ranges


def test_fresh_nodes_go_on_where_dead_ones_left_off(node, redis):
    """Case 7: the owner was stored under an address that no new node has, with an hour's life."""
    tasks = [task("long", "redis", "1s", lease="1s", timeout="60s", exec=["/bin/sleep", "60"]),
             task("r", "redis", "500ms", lease="1s")]
    old = three_nodes(node, redis, tasks)
    for n in old:
        n.start()
    kit.wait_until(lambda: runs_of(old, "long"), 5, "the long one runs")
    waits_for_runs(old, "r")
    for n in old:
        n.end()
    died = time.monotonic()
    dead = runs_of(old, "long")
    fresh = [node(n.config | {"state_dir": str(n.folder / "fresh"), "run_dir": str(n.folder / "run2"),
                              "log": {"dir": str(n.folder / "log2")}}, name=f"f{i}") for i, n in enumerate(old)]
    for n in fresh:
        n.start()
    waits_for_runs(fresh, "r")
    kit.wait_until(lambda: any(l["state"] == "interrupted" and l["planned"] in dead
                               for n in fresh for l in finishes(n, "long")), 10, "the dead run is ended")
    assert time.monotonic() - died < 2.2 + 3, "a lease, the watch, and the start of three nodes"
    kit.wait_until(lambda: runs_of(fresh, "long"), 5, "the unit runs again")
    for n in fresh:
        n.stop(signal.SIGQUIT)
    assert not set(runs_of(fresh, "r")) & set(runs_of(old, "r"))
    assert not set(runs_of(fresh, "long")) & set(dead)


# Drift.

def test_a_late_start_never_moves_the_grid(node, sink):
    """Case 8: the next firing was counted from the last one, and slid by its lateness."""
    sink.respond = lambda h, answer=sink.respond: (time.sleep(0.04), answer(h))
    n = node({"tasks": [task("f", every="250ms", anchor=1000000000077, http={"url": sink.url})]})
    burners = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        n.start()
        time.sleep(6)
        assert n.stop() == 0
        n.start()
        time.sleep(6)
        assert n.stop() == 0
    finally:
        for one in burners:
            one.kill()
            one.wait()
    seen = sink.by_instant("f")
    assert len(seen) > 40 and set(seen.values()) == {1}
    assert all((t - 1000000000077) % 250 == 0 for t in seen)
    proof = n.prove()
    assert proof.code == 0 and proof.task("f")["missed"] == 0, proof.raw


# Stuck locks.

@pytest.mark.parametrize("path", ["flock", "dedicated"])
def test_no_death_leaves_a_lock_that_somebody_has_to_remove(node, path):
    """Case 9: after a crash a job waits for ever for a mutex file that nobody owns."""
    n = node({"workers": 2, "tasks": [task("t", path, "1s", timeout="30s", exec=["/bin/sleep", "20"])]})
    locks = pathlib.Path(n.config["run_dir"], "locks")
    n.start()

    def running():
        found = faults.sql(n, "SELECT occ, owner FROM record WHERE state = 'running'")
        return found[0] if found else None

    def next_run_after(occ):
        found = running()
        return found and found[0] != occ and found

    occ, owner = kit.wait_until(running, 5, "it runs")
    os.kill(n.workers()[int(owner.split(".")[1])], signal.SIGKILL)
    occ, owner = kit.wait_until(lambda: next_run_after(occ), 5, "it runs after the worker's death")
    n.process.kill()
    n.process.wait()
    n.start()
    occ, owner = kit.wait_until(lambda: next_run_after(occ), 5, "it runs after the master's death")
    n.end()
    kit.wait_until(lambda: not kit.holders(n.config["state_dir"] + "/node.lock"), 10, "all of it is gone")
    names = [p.name for p in locks.iterdir()] if locks.exists() else []
    shutil.rmtree(n.config["run_dir"])
    locks.mkdir(parents=True, mode=0o700)
    for name in names:
        (locks / name).write_text("pid 1, locked since ever\n" * 10)
        (locks / name).chmod(0o600)
    n.start()
    kit.wait_until(lambda: next_run_after(occ), 5, "it runs after the power came back")
    n.stop(signal.SIGQUIT)
    ended = faults.sql(n, "SELECT state FROM record WHERE fence > 0 ORDER BY planned")
    assert [s for s, in ended][:3] == ["interrupted"] * 3, ended
    assert n.prove().task("t")["duplicates"] == 0


# Take-over.

def test_a_cut_off_owner_neither_renews_nor_records_over_its_successor(node, redis):
    """Case 11: the old owner prolonged the new one's lease, since nobody compared the token."""
    cut = wire.Wire(redis.port)
    tasks = [task("t", "redis", "1s", lease="1s", timeout="60s", exec=["/bin/sleep", "30"])]
    a = node({"workers": 1, "redis": {"url": cut.url, "app": "t"}, "tasks": tasks}, name="a")
    b = node({"workers": 1, "redis": {"url": redis.url, "app": "t"}, "tasks": tasks}, name="b")
    a.start()
    kit.wait_until(lambda: runs_of(a, "t"), 5, "a runs it")
    b.start()
    first = a.runs("t")[0]
    children = kit.descendants_of(a.pid)
    sleeper = next(p for p in children if "sleep 30" in pathlib.Path(f"/proc/{p}/cmdline").read_bytes().replace(
        b"\0", b" ").decode())
    cut.cut()
    kit.wait_until(lambda: not kit.alive(sleeper), 5, "a ends its tree by itself")
    kit.wait_until(lambda: runs_of(b, "t"), 10, "b takes over")
    second = b.runs("t")[0]
    cut.heal()
    time.sleep(2.5)
    assert [l["planned"] for l in b.runs("t")] == [second["planned"]], "b's run goes on under its own lease"
    assert redis.command("PTTL", f"onced:{{t:default}}:l:{second['occ']}").lstrip(":").isdigit()
    assert int(second["fence"]) > int(first["fence"])
    rows = b.api("/v1/occurrences?task=t&state=interrupted")["occurrences"]
    assert first["occ"] in [r["occurrence"] for r in rows], rows
    # Its line comes when the store can be asked again; the run itself was over before.
    took = next(l["run_us"] for l in a.lines() if l["e"] == "finish" and l["occ"] == first["occ"])
    assert first["b"] + took * 1000 < second["b"]
    for n in (a, b):
        n.stop(signal.SIGQUIT)
    cut.end()
    assert all(t["duplicates"] == 0 for t in prove_all([a, b]).report["tasks"])


# Redis.

def test_a_lost_reply_is_neither_a_no_nor_a_second_yes(node, redis, sink):
    """Case 19: the lock was taken, its reply lost: the caller believed it lost, everybody else saw it held."""
    cut = wire.Wire(redis.port)
    n = node({"workers": 2, "redis": {"url": cut.url, "app": "t"},
              "tasks": [task("r", "redis", "200ms", lease="1s", http={"url": sink.url})]})
    n.start()
    waits_for_runs(n, "r")
    for _ in range(10):
        before = cut.swallowed
        cut.lose_replies = True
        kit.wait_until(lambda: cut.swallowed > before, 5, "a reply is lost")
        cut.heal()
        time.sleep(0.5)
    waits_for_runs(n, "r")
    assert n.stop() == 0
    cut.end()
    seen = sink.by_instant("r")
    assert set(seen.values()) == {1}
    fences = collections.defaultdict(set)
    for line in n.lines():
        if line["e"] == "attempt" and line["out"] == "granted":
            fences[line["planned"]].add(line["fence"])
    assert all(len(f) == 1 for f in fences.values())
    proof = n.prove()
    assert proof.code == 0, proof.raw
    assert redis.command("ZCARD", "onced:{t:default}:run") == ":0", "no running record without an owner"


def test_forgotten_scripts_lose_no_instant(node, redis, sink):
    """Case 21: after a restart or SCRIPT FLUSH every call failed with NOSCRIPT, for ever."""
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"},
              "tasks": [task(f"r{i}", "redis", "200ms", http={"url": sink.url}) for i in range(5)]})
    n.start()
    for _ in range(15):
        redis.command("SCRIPT", "FLUSH")
        time.sleep(0.3)
    metrics = json.loads(n.cli("metrics", "--json").stdout)
    assert "noscript" in json.dumps(metrics)
    redis.process.kill()
    redis.process.wait()
    redis.start()
    for i in range(5):
        waits_for_runs(n, f"r{i}")
    assert n.stop() == 0
    status = n.prove()
    # What was due while the server was away may be given up behind the barrier (unknown): never missed, never twice.
    assert status.code in (0, 3), status.raw
    for i in range(5):
        assert set(sink.by_instant(f"r{i}").values()) == {1}
        assert status.task(f"r{i}")["missed"] <= 15, "only while the server was away"


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu",
                                    "volatile-random", "volatile-ttl"])
def test_a_server_that_evicts_is_refused(node, folder, policy):
    """Case 24: keys vanished under an eviction policy; leases have a time to live, so volatile-* takes them too."""
    redis = kit.Redis(folder / "redis", "--maxmemory-policy", policy)
    n = node({"workers": 1, "redis": {"url": redis.url, "app": "t"}, "tasks": [task("r", "redis"), task("f")]})
    try:
        n.start()
        kit.wait_until(lambda: f"maxmemory-policy is {policy}; set noeviction" in n.text(), 5, "the policy is named")
        waits_for_runs(n, "f")
        assert not runs_of(n, "r") and redis.command("DBSIZE") == ":0"
        redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        waits_for_runs(n, "r")
        assert n.stop() == 0
    finally:
        redis.end()


def test_a_full_server_stops_claims_and_still_takes_results(node, redis):
    """Case 24, memory full under noeviction: nothing half-written, what runs is recorded."""
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"},
              "tasks": [task("r", "redis", "200ms"), task("long", "redis", "1s", exec=["/bin/sleep", "0.7"])]})
    n.start()
    waits_for_runs(n, "r")
    kit.wait_until(lambda: len(runs_of(n, "long")) > len(finishes(n, "long")), 5, "a run goes on")
    redis.command("CONFIG", "SET", "maxmemory", "1")
    running = runs_of(n, "long")[-1]
    kit.wait_until(lambda: running in [l["planned"] for l in finishes(n, "long", "succeeded")], 5, "its end is recorded")
    before = runs_of(n, "r")
    time.sleep(0.6)
    assert runs_of(n, "r") == before
    assert any(l["e"] == "attempt" and l["out"] == "down" for l in n.lines())
    redis.command("CONFIG", "SET", "maxmemory", "0")
    waits_for_runs(n, "r")
    waits_for_runs(n, "long", 1)
    assert n.stop() == 0
    proof = n.prove()
    assert all(t["duplicates"] == 0 for t in proof.report["tasks"]), proof.raw
    assert proof.code == 0, proof.raw


# Locks and children.

def test_a_child_that_outlives_its_command_holds_no_lock(node, folder):
    """Case 25: a detached worker of a job had inherited the lock, and the job ran once in that worker's life."""
    pids = folder / "pids"
    script = f"setsid sleep 300 & echo $! >> {pids}; (setsid sh -c 'sleep 301 & echo $! >> {pids}; wait' &) ; sleep 0.2"
    n = node({"workers": 2, "tasks": [task("t", every="1s", exec=["/bin/sh", "-c", script]),
                                      task("d", "dedicated", "1s", exec=["/bin/sh", "-c", script])]})
    n.start()
    for name in ("t", "d"):
        kit.wait_until(lambda: len(finishes(n, name, "succeeded")) >= 2, 10, f"{name} has run twice")
    held = pathlib.Path("/proc/locks").read_text()
    mine = {int(p) for p in pids.read_text().split()}
    assert not [line for line in held.splitlines() if int(line.split()[4]) in mine]
    assert n.stop() == 0
    kit.wait_until(lambda: not [p for p in mine if kit.alive(p)], 5, "descendants are ended")
    assert n.prove().code == 0


# Overlap and storms.

@pytest.mark.parametrize("overlap,most", [("drop", 1), ({"policy": "concurrent", "max_running": 2}, 2)],
                         ids=["drop", "concurrent"])
def test_a_run_longer_than_its_lease_keeps_its_place(node, redis, overlap, most):
    """Case 29: the lock lived 45 s, the job ten minutes: three nodes worked in parallel."""
    nodes = three_nodes(node, redis, [task("t", "redis", "500ms", lease="1s", timeout="20s", overlap=overlap,
                                           exec=["/bin/sleep", "2.7"])])
    for n in nodes:
        n.start()
    time.sleep(8)
    codes = [n.stop() for n in nodes]
    assert codes == [0, 0, 0]
    spans = intervals(nodes, "t")
    assert len(spans) >= 2 * most and most_at_once(spans) == most
    proof = prove_all(nodes)
    assert proof.code == 0, proof.raw
    assert proof.task("t")["dropped"] > 0 and proof.task("t")["interrupted"] == 0


def test_a_day_off_is_no_storm(node):
    """Case 30: after a day off a ten-minute job started hundreds of times at once."""
    half_way = int(time.time() * 1000) + 300000
    tasks = [task(f"t{i}", "flock" if i % 2 else "dedicated", "10m", anchor=half_way) for i in range(8)]
    n = node({"workers": 2, "tasks": [*tasks, task("quick", every="50ms")]})
    n.start()
    waits_for_runs(n, "quick")
    assert n.stop() == 0
    ran = {f"t{i}": len(runs_of(n, f"t{i}")) for i in range(8)}
    faults.sql(n, "UPDATE unit SET cursor = cursor - 86400000 WHERE task LIKE 't%'")
    n.start()
    time.sleep(1.5)
    assert n.stop() == 0
    for name, before in ran.items():
        assert len(runs_of(n, name)) == before == 0
        told = faults.sql(n, "SELECT sum(count) FROM record WHERE task = ? AND occ IS NULL", name)[0][0]
        assert 143 <= told <= 145, (name, told)
    assert n.prove().task("quick")["duplicates"] == 0
