"""A worker killed at each step of handing on a slot, or of taking what waits, on each path: no instant is started
twice, none is lost, and what was cut short is said to be. The points are in debug builds only (common/fault.h)."""
import collections
import time

import pytest

import evidence
import kit

pytestmark = pytest.mark.fault_points

EVERY_MS = 200

# Which passage of a point is behind the first hand-over. A run is granted, started and recorded once; the claims of
# what is due meanwhile are sent between these steps.
POINTS = {"finished-not-recorded": 2, "recorded": 2, "granted": 3, "line-written": 3, "attempt-sent": 6}


@pytest.mark.parametrize("path", ["dedicated", "flock", "redis"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_while_a_queue_is_worked_off(node, folder, sink, request, point, path):
    server = request.getfixturevalue("redis") if path == "redis" else None
    answer = sink.respond
    sink.respond = lambda handler: (time.sleep(0.5 if len(sink.requests) < 6 else 0), answer(handler))
    config = {"workers": 3, "tasks": [{"name": "t", "every": f"{EVERY_MS}ms", "singleton": path, "timeout": "10s",
                                       "first": "next", "overlap": "queue", "http": {"url": f"{sink.url}/t"}}]}
    if server:
        config["redis"] = {"url": server.url, "app": "t"}
    n = node(config, env={"ONCED_FAULT": f"{point}:kill@{POINTS[point]}", "ONCED_FAULT_ONCE": str(folder / "once")})
    n.start()
    marker = folder / f"once.{point}"
    dead = kit.wait_until(lambda: marker.exists() and marker.read_text().strip(), 20, "the kill")
    kit.wait_until(lambda: len(n.workers()) == 3 and int(dead) not in n.workers().values(), 10, "a successor")

    def caught_up():
        newest = evidence.runs_of(n, "t")[-1:]
        return newest and newest[0] > time.time() * 1000 - 2 * EVERY_MS

    kit.wait_until(caught_up, 20, "the queue is worked off")
    assert n.stop() == 0, n.text()
    runs = [l["planned"] for l in n.runs("t")]
    ends = {l["planned"]: l["state"] for l in evidence.finishes(n, "t")}
    waited = {l["planned"] for l in n.lines() if l["e"] == "attempt" and l["out"] == "queued"}
    assert max(collections.Counter(runs).values()) == 1 and max(sink.by_instant("t").values()) == 1
    # The line of an end may die with who wrote it, when the record of it did not.
    decided = {*ends, *runs}
    # What came last may wait on.
    assert waited and {w for w in waited if w <= max(runs)} <= decided and not kit.gaps(decided, EVERY_MS)
    assert len(decided - set(ends)) <= 1
    assert runs == sorted(runs)   # a queue is worked off from its oldest
    cut = [t for t, state in ends.items() if state == "interrupted"]
    assert len(cut) <= 1 and {ends[t] for t in ends} <= {"succeeded", "interrupted"}, ends
    assert evidence.most_at_once(evidence.intervals([n], "t")) == 1
    proof = n.prove()
    assert proof.lacks_ends_only and proof.task("t")["interrupted"] == len(cut), proof.raw
