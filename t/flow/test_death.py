"""Deaths: whoever is killed or stopped, no occurrence starts twice and what was cut short is said to be."""
import collections
import os
import signal
import time

import pytest

import kit


def config(url, redis=None, extra=()):
    paths = ("dedicated", "flock") + (("redis",) if redis else ())
    tasks = [{"name": f"{p}", "every": "100ms", "singleton": p, "timeout": "5s", "http": {"url": f"{url}/{p}"}}
             for p in paths]
    got = {"tasks": tasks + list(extra)}
    if redis:
        got["redis"] = {"url": redis.url, "app": "t"}
    return got


def assert_once(n, sink, names):
    for name in names:
        seen = sink.by_instant(name)
        assert set(seen.values()) == {1}, (name, [t for t in seen if seen[t] > 1])
    occs = collections.Counter(l["occ"] for l in n.lines() if l["e"] == "run")
    assert set(occs.values()) == {1}
    proof = n.prove()
    assert proof.code == 0, proof.raw
    return proof


def test_the_timer_worker_is_replaced_at_once(node):
    n = node({"tasks": [{"name": "t", "every": "10ms", "singleton": "dedicated", "timeout": "1s", "noop": {}}]})
    n.start()
    time.sleep(1)
    delays = []
    for _ in range(3):
        victim = n.timer_worker()
        killed = time.time()
        os.kill(victim, signal.SIGKILL)
        kit.wait_until(lambda: any(p != victim for p, t in n.titles().items() if "(timer)" in t), 5, "a successor")
        time.sleep(1)
        starts = [l["t"] for l in n.runs("t")]
        first = min(t for t in map(kit.seconds_of, starts) if t > killed)
        delays.append(first - killed)
        # Without waiting for a restart: the successor was alive before the death.
    assert min(delays) < 0.05, delays
    kit.wait_until(lambda: len(n.workers()) == 4, 10, "four workers again")
    assert n.stop() == 0
    proof = n.prove()
    assert proof.code == 0, proof.raw


@pytest.mark.parametrize("who", ["timer", "running", "all", "console"])
def test_killed_processes(node, sink, redis, who):
    long = {"name": "long", "every": "3s", "singleton": "flock", "timeout": "20s", "exec": ["/bin/sleep", "2"]}
    n = node(config(sink.url, redis, [long]))
    n.start()
    time.sleep(1)
    runner = kit.wait_until(lambda: running_worker(n, "long"), 8, "a run of long")
    console = n.console()
    victims = {"timer": [n.timer_worker()], "running": [runner], "all": list(n.workers().values()),
               "console": [console]}[who]
    child = [l for l in n.lines() if l["e"] == "child"][-1]
    killed = time.monotonic()
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    if runner in victims:
        kit.wait_until(lambda: not kit.alive(child["pid"]), 10, "the tree of the dead worker ended by its keeper")
        finish = kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "finish" and l["task"] == "long" and
                                         l["state"] == "interrupted"], 10, "interrupted is recorded")[0]
        assert finish["of"] == child["trig"]
        if who == "running":
            assert time.monotonic() - killed < 2
    kit.wait_until(lambda: len(n.workers()) == 4, 10, "four workers again")
    kit.wait_until(lambda: console_answers(n), 10, "the console answers")
    time.sleep(3.5)
    assert n.stop() == 0, n.text()
    proof = assert_once(n, sink, ("dedicated", "flock", "redis"))
    for name in ("dedicated", "flock", "redis"):
        missing = kit.gaps(sink.by_instant(name), 100)
        told = proof.task(name)
        assert len(missing) <= told["dropped"] + told["skipped"] + told["interrupted"] + told["unknown"] + told["recorded_missed"], (
            name, missing, told)
        if who == "console":
            assert not missing


def running_worker(n, task):
    """The worker that runs an occurrence of the task now."""
    lines = n.lines()
    ended = {l["trig"] for l in lines if l["e"] == "finish"}
    of_task = {l["trig"] for l in lines if l["e"] == "run" and l["task"] == task}
    for line in reversed([l for l in lines if l["e"] == "child"]):
        if line["trig"] in of_task - ended and kit.alive(line["pid"]):
            return int(line["trig"].split(".")[-3])
    return None


def console_answers(n):
    try:
        return n.api("/v1/status")
    except (OSError, ValueError):
        return None


def test_interrupted_within_a_tenth_of_a_second(node):
    # The record is final before the tree is gone; the unit stays busy until then.
    n = node({"tasks": [{"name": "deaf", "every": "1s", "singleton": "flock", "timeout": "60s",
                         "exec": {"argv": ["/bin/sh", "-c", "trap '' TERM; sleep 30 & wait; sleep 30"],
                                  "kill_after": "2s"}}]})
    n.start()
    runner = kit.wait_until(lambda: running_worker(n, "deaf"), 8, "a run")
    child = [l for l in n.lines() if l["e"] == "child"][-1]
    os.kill(runner, signal.SIGKILL)
    killed = time.time()
    line = kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "finish"], 10, "a final record")[0]
    assert line["state"] == "interrupted" and line["of"] == child["trig"]
    assert kit.seconds_of(line["t"]) - killed < 0.1 or kit.alive(child["pid"])
    kit.wait_until(lambda: len(n.runs("deaf")) > 1, 10, "the next run")
    second = n.runs("deaf")[1]
    assert not kit.alive(child["pid"])
    assert kit.seconds_of(second["t"]) - killed > 1.5, "started beside the tree of the dead one"
    n.send(signal.SIGQUIT)
    assert n.process.wait(30) == 1
    assert n.prove().code == 0


def test_master_killed(node, sink):
    n = node(config(sink.url, extra=[{"name": "long", "every": "2s", "singleton": "flock", "timeout": "20s",
                                      "exec": ["/bin/sleep", "60"]}]))
    n.start()
    kit.wait_until(lambda: running_worker(n, "long"), 8, "a run of long")
    tree = kit.descendants_of(n.pid)
    child = [l for l in n.lines() if l["e"] == "child"][-1]
    n.process.kill()
    n.process.wait()
    kit.wait_until(lambda: not any(kit.alive(p) for p in tree | {child["pid"]}), 15, "every process of the node ended")
    n.start()
    kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "finish" and l.get("of") == child["trig"]], 10,
                   "the cut run is recorded as interrupted")
    kit.wait_until(lambda: running_worker(n, "long"), 8, "the next run of long")
    time.sleep(2)
    assert n.stop(signal.SIGQUIT) == 1   # long had to be killed
    assert_once(n, sink, ("dedicated", "flock"))


@pytest.mark.parametrize("who", ["timer", "other"])
def test_a_stopped_worker_is_replaced(node, sink, who):
    n = node({**config(sink.url), "hang_timeout": "5s"})
    n.start()
    time.sleep(1)
    timer = n.timer_worker()
    victim = timer if who == "timer" else next(p for p in n.workers().values() if p != timer)
    os.kill(victim, signal.SIGSTOP)
    kit.wait_until(lambda: "STALE" in n.cli("workers").stdout, 5, "the slot is marked stale while it is stopped")
    kit.wait_until(lambda: not kit.alive(victim), 10, "the hung worker is ended")
    kit.wait_until(lambda: len(n.workers()) == 4, 10, "four workers again")
    time.sleep(2)
    assert n.stop() == 0
    assert "does not beat" in n.text()
    assert_once(n, sink, ("dedicated", "flock"))


def test_no_zombie_and_no_stranger_is_left(node):
    n = node({"tasks": [{"name": "t", "every": "100ms", "singleton": "flock", "timeout": "5s",
                         "exec": ["/bin/sh", "-c", "sleep 0.01 & sleep 0.01"]}]})
    n.start()
    time.sleep(3)
    inside = kit.descendants_of(n.pid) | {n.pid}
    zombies = [p for p in map(int, (e for e in os.listdir("/proc") if e.isdigit()))
               if (s := kit.stat_of(p)) and s[0] == "Z" and s[1] in inside]
    time.sleep(0.5)
    assert not [z for z in zombies if kit.stat_of(z)], "zombies that stay"
    assert n.stop() == 0
    assert not [p for p in inside if kit.alive(p)]
