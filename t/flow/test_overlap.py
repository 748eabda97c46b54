"""Runs that last longer than their period: dropped, queued or side by side, on every path, with four workers; and a
queue that outlives whoever was to work it off."""
import collections
import os
import re
import signal
import threading
import time

import pytest

import evidence
import kit

PATHS = ("none", "dedicated", "flock", "redis")
LEDGER_PATHS = PATHS[1:]
POLICIES = {"drop": "drop", "queue": "queue", "concurrent": {"policy": "concurrent", "max_running": 2}}


def config(redis, tasks, **more):
    return {"redis": {"url": redis.url, "app": "t"}, "tasks": tasks, **more}


def attempts(n, name, out=None):
    return [l for l in n.lines() if l["e"] == "attempt" and l["task"] == name and out in (None, l["out"])]


def queued(n, name):
    return sorted(l["planned"] for l in attempts(n, name, "queued"))


def skipped(n, name, cause):
    """By who decided it; a line with `of` tells the same again, when its writer may have died before it left."""
    return sorted(l["first"] for l in n.lines()
                  if l["e"] == "skip" and l["task"] == name and l["cause"] == cause and "of" not in l)


def told_skipped(n, name):
    return {l["first"] for l in n.lines() if l["e"] == "skip" and l["task"] == name and l["cause"] == "disabled"}


def depth(n, name):
    return int(re.search(rf'^onced_task_queued{{task="{name}"}} (\d+)', n.cli_raw("GET", "/metrics"), re.M)[1])


def counted(n, name, state):
    page = n.cli_raw("GET", "/metrics")
    return int(re.search(rf'^onced_task_runs_total{{task="{name}",state="{state}"}} (\d+)', page, re.M)[1])


def occurrences(n, name, state):
    return n.api(f"/v1/occurrences?task={name}&state={state}&limit=1000")["occurrences"]


def worker_of(line):
    return int(line["trig"].split(".")[-3])


class Gate:
    """An answer of the sink that waits until it is opened; then all are quick."""

    def __init__(self, sink):
        self.open = threading.Event()
        answer = sink.respond
        sink.respond = lambda handler: (self.open.wait(60), answer(handler))


@pytest.fixture
def gate(sink):
    one = Gate(sink)
    yield one
    one.open.set()


def gated(sink, path, every="500ms", **more):
    return {"name": path, "every": every, "singleton": path, "timeout": "60s", "overlap": "queue",
            "http": {"url": f"{sink.url}/{path}"}, **more}


def test_a_run_of_three_seconds_at_one_second_under_each_policy(node, redis):
    tasks = [{"name": f"{path}-{name}", "every": "1s", "singleton": path, "timeout": "10s", "overlap": overlap,
              "exec": ["/bin/sleep", "3"]} for path in PATHS for name, overlap in POLICIES.items()]
    n = node(config(redis, tasks))
    n.start()
    time.sleep(6)
    early = {t["name"]: depth(n, t["name"]) for t in tasks}
    time.sleep(6)
    late = {t["name"]: depth(n, t["name"]) for t in tasks}
    waiting = {path: len(occurrences(n, f"{path}-queue", "queued")) for path in LEDGER_PATHS}
    drops = {path: counted(n, f"{path}-drop", "skipped") for path in LEDGER_PATHS}
    assert n.stop() == 0, n.text()
    for path in PATHS:
        each = 4 if path == "none" else 1
        peaks = {name: evidence.most_at_once(evidence.intervals([n], f"{path}-{name}")) for name in POLICIES}
        if path != "none":
            assert peaks == {"drop": 1, "queue": 1, "concurrent": 2}, path
        # Nothing else waits, and a queue grows by two instants in three.
        assert not any(early[f"{path}-{name}"] or late[f"{path}-{name}"] for name in ("drop", "concurrent")), path
        assert 0 < early[f"{path}-queue"] < late[f"{path}-queue"], (path, early, late)
        assert late[f"{path}-queue"] - early[f"{path}-queue"] >= 3 * each, (path, early, late)
        assert not attempts(n, f"{path}-drop", "queued") and not attempts(n, f"{path}-concurrent", "queued")
    for path in LEDGER_PATHS:
        drop, queue, two = f"{path}-drop", f"{path}-queue", f"{path}-concurrent"
        assert waiting[path] >= early[queue] and drops[path] > 0
        for name in (drop, two):
            decided = evidence.runs_of(n, name) + skipped(n, name, "overlap")
            assert len(decided) == len(set(decided)) and not kit.gaps(decided, 1000), name
        assert len(evidence.runs_of(n, two)) > len(evidence.runs_of(n, drop))
        # First come, first served: what ran is the oldest of what was due, in its order.
        order = [l["planned"] for l in n.runs(queue)]
        due = sorted({*queued(n, queue), *order})
        assert order == due[:len(order)] and not kit.gaps(due, 1000), queue
        assert max(collections.Counter(queued(n, queue)).values()) == 1
        assert not skipped(n, queue, "overlap")
    proof = n.prove()
    for path in LEDGER_PATHS:
        told = {name: proof.task(f"{path}-{name}") for name in POLICIES}
        assert all(t["duplicates"] == 0 and t["missed"] == 0 for t in told.values()), told
        assert all(t["done"] == t["runs"] for t in told.values()), told
        assert told["drop"]["dropped"] > 0 and told["concurrent"]["dropped"] > 0 and told["queue"]["dropped"] == 0
    assert proof.code == 0, proof.raw


def test_a_full_queue_skips_and_says_so(node, redis):
    tasks = [{"name": path, "every": "200ms", "singleton": path, "timeout": "10s",
              "overlap": {"policy": "queue", "queue_limit": 2}, "exec": ["/bin/sleep", "2"]} for path in PATHS]
    n = node(config(redis, tasks))
    n.start()
    full = {"none": 8, "dedicated": 2, "flock": 2, "redis": 2}
    kit.wait_until(lambda: {path: depth(n, path) for path in PATHS} == full, 15, "all queues are full")
    time.sleep(3)
    assert n.stop() == 0, n.text()
    for path in LEDGER_PATHS:
        full, ran, waited = skipped(n, path, "queue_full"), evidence.runs_of(n, path), queued(n, path)
        assert full and not skipped(n, path, "overlap")
        decided = set(full) | set(ran) | set(waited)
        assert not set(full) & set(waited) and not kit.gaps(decided, 200), path
        assert evidence.most_at_once(evidence.intervals([n], path)) == 1
    assert skipped(n, "none", "queue_full")
    assert n.prove().code == 0


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_the_death_of_the_running_worker_loses_nothing_that_waits(node, sink, gate, redis, path):
    n = node(config(redis, [gated(sink, path)]))
    n.start()
    first = kit.wait_until(lambda: n.runs(path), 10, "a run")[0]
    kit.wait_until(lambda: len(queued(n, path)) >= 2, 10, "two wait")
    os.kill(worker_of(first), signal.SIGKILL)
    gate.open.set()
    waited = queued(n, path)
    kit.wait_until(lambda: set(waited) <= set(sink.by_instant(path)), 15, "all that waited has run")
    kit.wait_until(lambda: depth(n, path) == 0, 5, "nothing waits any more")
    assert n.stop() == 0, n.text()
    seen, runs = sink.by_instant(path), n.runs(path)
    assert set(seen.values()) == {1}
    assert not kit.gaps(seen, 500)
    assert [l["planned"] for l in runs] == sorted(seen)
    cut = evidence.finishes(n, path, "interrupted")
    assert [l["planned"] for l in cut] == [first["planned"]]
    assert worker_of(runs[1]) != worker_of(first)
    fences = [int(l["fence"]) for l in runs]
    assert fences == sorted(set(fences))


@pytest.mark.parametrize("path", kit.PATHS_LOCAL)
def test_what_waits_is_found_by_siblings_when_nothing_else_comes(node, sink, gate, redis, path):
    rare = gated(sink, path, every="1h", misfire={"policy": "catch_up", "limit": 4, "lookback": "12h"})
    n = node(config(redis, [rare]))
    n.start()
    first = kit.wait_until(lambda: n.runs(path), 10, "a run")[0]
    waited = kit.wait_until(lambda: len(queued(n, path)) == 3 and queued(n, path), 10, "three wait")
    os.kill(worker_of(first), signal.SIGKILL)
    gate.open.set()
    kit.wait_until(lambda: set(waited) <= set(sink.by_instant(path)), 10, "all that waited has run")
    assert n.stop() == 0, n.text()
    assert set(sink.by_instant(path).values()) == {1}
    assert [l["planned"] for l in n.runs(path)][:4] == [first["planned"], *waited]


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_what_waits_outlives_a_restart(node, sink, gate, redis, path):
    n = node(config(redis, [gated(sink, path)], drain_timeout="1s"))
    n.start()
    kit.wait_until(lambda: len(queued(n, path)) >= 3, 10, "three wait")
    assert n.stop() == 1   # the run was ended: it would have waited for the gate
    waited = queued(n, path)
    first = n.runs(path)[0]
    assert len(n.runs(path)) == 1
    gate.open.set()
    n.start()
    kit.wait_until(lambda: set(waited) <= set(sink.by_instant(path)), 10, "what waited has run")
    kit.wait_until(lambda: depth(n, path) == 0, 5, "nothing waits any more")
    assert n.stop() == 0, n.text()
    runs = n.runs(path)
    assert [l["planned"] for l in runs[:len(waited) + 1]] == [first["planned"], *waited]
    assert set(sink.by_instant(path).values()) == {1}


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_what_waits_for_a_task_that_is_disabled_is_skipped(node, sink, gate, redis, path):
    other = {"name": "other", "every": "1s", "singleton": path, "timeout": "1s", "noop": {}}
    n = node(config(redis, [gated(sink, path), other], drain_timeout="1s"))
    n.start()
    kit.wait_until(lambda: len(queued(n, path)) >= 2, 10, "two wait")
    assert n.stop() == 1
    waited, ran = queued(n, path), len(n.runs(path))
    gate.open.set()
    n.configure(config(redis, [gated(sink, path, enabled=False), other]))
    n.start()
    kit.wait_until(lambda: set(waited) <= told_skipped(n, path), 10, "what waited is skipped")
    assert not occurrences(n, path, "queued")
    assert n.stop() == 0, n.text()
    assert len(n.runs(path)) == ran


def test_what_waits_runs_under_another_policy_as_well(node, sink, gate, redis):
    n = node(config(redis, [gated(sink, "flock")], drain_timeout="1s"))
    n.start()
    kit.wait_until(lambda: len(queued(n, "flock")) >= 2, 10, "two wait")
    assert n.stop() == 1
    waited = queued(n, "flock")
    gate.open.set()
    n.configure(config(redis, [gated(sink, "flock", overlap="drop")]))
    n.start()
    kit.wait_until(lambda: set(waited) <= set(sink.by_instant("flock")), 10, "what waited has run")
    assert n.stop() == 0, n.text()
    assert set(sink.by_instant("flock").values()) == {1}
    assert evidence.most_at_once(evidence.intervals([n], "flock")) == 1


def test_another_node_works_off_the_queue_of_one_that_died(node, sink, gate, redis):
    task = gated(sink, "redis", lease="1s")
    one = node(config(redis, [task], workers=2), name="one")
    one.start()
    first = kit.wait_until(lambda: one.runs("redis"), 10, "a run")[0]
    two = node(config(redis, [task], workers=2), name="two")
    two.start()
    kit.wait_until(lambda: len(queued(one, "redis") + queued(two, "redis")) >= 3, 10, "three wait")
    one.end()   # all of it at once
    gate.open.set()
    waited = sorted(queued(one, "redis") + queued(two, "redis"))
    kit.wait_until(lambda: set(waited) <= set(sink.by_instant("redis")), 20, "the other node has run what waited")
    assert two.stop() == 0, two.text()
    seen = sink.by_instant("redis")
    assert set(seen.values()) == {1} and not kit.gaps(seen, 500)
    assert [l["planned"] for l in two.runs("redis")] == sorted(set(seen) - {first["planned"]})


def test_a_run_longer_than_its_lease_stays_alone_on_three_nodes(node, redis):
    """drop: one at a time, the others skipped; queue: one at a time, then full; concurrent: never more than two."""
    overlaps = {"drop": "drop", "queue": {"policy": "queue", "queue_limit": 2},
                "concurrent": {"policy": "concurrent", "max_running": 2}}
    tasks = [{"name": name, "every": "1s", "singleton": "redis", "timeout": "20s", "lease": "1s", "overlap": overlap,
              "exec": ["/bin/sleep", "5"]} for name, overlap in overlaps.items()]
    nodes = evidence.three_nodes(node, redis, tasks)
    for n in nodes:
        n.start()
    time.sleep(13)
    assert [n.stop() for n in nodes] == [0, 0, 0]
    spans = {name: evidence.intervals(nodes, name) for name in overlaps}
    assert {name: evidence.most_at_once(s) for name, s in spans.items()} == {"drop": 1, "queue": 1, "concurrent": 2}
    causes = {name: collections.Counter(l["cause"] for n in nodes for l in n.lines()
                                        if l["e"] == "skip" and l["task"] == name) for name in overlaps}
    assert set(causes["drop"]) == {"overlap"} and set(causes["queue"]) == {"queue_full"}
    for name in overlaps:
        assert all(e - b >= 4.9e9 for b, e in spans[name]), spans   # none was taken for dead
    assert evidence.prove_all(nodes).code == 0
