"""What a killed worker had decided without a start, and had not come to log, is logged by who settles its death:
the ledger knows why nothing ran, and so do the logs."""
import os
import random
import signal
import time

import pytest

import kit

BUSY = [{"name": p, "every": "50ms", "singleton": p, "timeout": "5s", "overlap": "drop", "exec": ["/bin/sleep", "0.4"]}
        for p in ("dedicated", "flock", "redis")]


needs_faults = pytest.mark.fault_points


def dies_at(node, folder, redis, faults):
    """A node that runs while each of the faults hits one of its workers; most answers to claims are skips."""
    n = node({"redis": {"url": redis.url, "app": "t"}, "tasks": BUSY},
             env={"ONCED_FAULT": ",".join(faults), "ONCED_FAULT_ONCE": str(folder / "once")})
    n.start()
    for fault in faults:
        kit.wait_until(lambda: (folder / f"once.{fault.split(':')[0]}").exists(), 30, f"{fault} has hit")
    kit.wait_until(lambda: len(n.workers()) == 4, 40, "four workers again")
    time.sleep(0.5)
    assert n.stop() == 0, n.text()
    proof = n.prove()
    assert proof.lacks_ends_only, proof.raw
    return n


def told_of_killed(n):
    """Skip and miss lines in place of killed workers; those who ended in order may be spoken for as well."""
    killed = {f"{l['slot']}.{l['pid']}.{l['pstart']}" for l in n.lines() if l["e"] == "roster" and l.get("signal") == 9}
    return [l for l in n.lines() if l["e"] in ("skip", "miss") and ".".join(l.get("of", "").split(".")[-3:]) in killed]


@needs_faults
@pytest.mark.parametrize("at", (4, 7, 12, 20, 33))
def test_decided_and_killed_before_the_line(node, folder, redis, at):
    n = dies_at(node, folder, redis, [f"answered:kill@{at}"])
    assert told_of_killed(n)


@needs_faults
@pytest.mark.parametrize("at", (30, 60, 90))
def test_who_tells_of_the_dead_may_die_as_well(node, folder, redis, at):
    dies_at(node, folder, redis, ["answered:kill@12", f"turn-end:kill@{at}"])


def config(redis):
    return {"redis": {"url": redis.url, "app": "t"},
            "tasks": [{"name": p, "every": "50ms", "singleton": p, "timeout": "5s",
                       "misfire": {"policy": "skip", "grace": "100ms"}, "noop": {}}
                      for p in ("dedicated", "flock", "redis")]}


def kill_workers(n, seconds, pause):
    """Kills all workers again and again: as they settle the gap that the last time left, or later."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for pid in n.workers().values():
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause())


@pytest.mark.parametrize("seed", range(2))
def test_killed_workers_leave_no_gap_unexplained(node, redis, seed):
    chance = random.Random(seed)
    n = node(config(redis))
    n.start()
    time.sleep(0.5)
    kill_workers(n, 4, lambda: chance.uniform(0.01, 0.25))
    kit.wait_until(lambda: len(n.workers()) == 4, 40, "four workers again")
    time.sleep(0.5)
    assert n.stop() == 0, n.text()
    proof = n.prove()
    assert proof.lacks_ends_only, proof.raw


def test_killed_nodes_leave_no_gap_unexplained(node, redis):
    # Nobody is left to settle these deaths but the next life.
    chance = random.Random(1)
    n = node(config(redis))
    for _ in range(5):
        n.start()
        time.sleep(chance.uniform(0.02, 0.2))
        tree = kit.descendants_of(n.pid) | {n.pid}
        for pid in tree:
            os.kill(pid, signal.SIGKILL)
        n.process.wait()
        kit.wait_until(lambda: not any(kit.alive(p) for p in tree), 10, "the node has ended")
    n.start()
    time.sleep(1)
    assert n.stop() == 0, n.text()
    proof = n.prove()
    assert proof.lacks_ends_only, proof.raw
