"""A worker killed after each step of a run, on each path, with each runner: what the ledger, the logs, the proof and
the sink then say of that very occurrence. The points are in debug builds only (common/fault.h)."""
import collections
import datetime
import pathlib
import sqlite3
import sys
import time

import pytest

import kit

sys.path.append(str(kit.SOURCE / "t/chaos"))
from redis_wire import Wire  # noqa: E402

pytestmark = pytest.mark.fault_points

EVERY_MS = 200
PASSAGE = 2

# What is found of the occurrence that was cut.
#  record: its final state     line: has a run line     effects: at the sink, at least and at most
#  verdict: of the proof over its instant alone
Expected = collections.namedtuple("Expected", "record line effects verdict")
OTHERS = Expected({"succeeded"}, True, (1, 1), "ONCE")              # nothing of it reached the ledger: another process ran it
NOT_STARTED = Expected({"interrupted"}, False, (0, 0), "EXPLAINED")
MAY_HAVE_STARTED = Expected({"interrupted"}, True, (0, 0), "ONCE")  # the line promises that a start may follow
STARTED = Expected({"interrupted"}, True, (1, 1), "ONCE")
RECORDED = Expected({"succeeded"}, True, (1, 1), "UNKNOWN")          # how it ended only the ledger knows

MATRIX = {
    "attempt-sent": OTHERS,
    "claim-held": OTHERS,
    "lock-taken": OTHERS,
    "turn-taken": OTHERS,
    "answered": NOT_STARTED,
    "granted": NOT_STARTED,
    "line-written": MAY_HAVE_STARTED,
    "started": STARTED,
    "finished-not-recorded": STARTED,
    "recorded": RECORDED,
}
# Steps of the local ledger, of the run lock, of the turn to ask Redis.
ONLY = {"claim-held": ("dedicated", "flock"), "lock-taken": ("flock",), "turn-taken": ("redis",)}

CASES = [(point, path, runner) for point in MATRIX for path in ONLY.get(point, ("dedicated", "flock", "redis"))
         for runner in ("noop", "http", "exec")]
CASES += [(point, "redis", "redis") for point in MATRIX if point not in ONLY and point != "started"]


def local_records(n):
    with sqlite3.connect(f"file:{n.folder}/state/ledger.db?mode=ro", uri=True) as db:
        return [dict(zip(("planned", "occ", "owner", "state", "fence"), row)) for row in db.execute(
            "SELECT planned, occ, owner, state, fence FROM record WHERE occ IS NOT NULL ORDER BY id")]


def redis_records(server):
    with Wire(server.port) as redis:
        entries = [dict(zip(flat[::2], flat[1::2])) for _, flat in redis("XRANGE", "onced:{t:default}:h:t", "-", "+")]
    return [{**e, "planned": int(e["planned"])} for e in entries if e.get("occ")]


def entries(server):
    with Wire(server.port) as redis:
        return collections.Counter(int(dict(zip(flat[::2], flat[1::2]))["planned"])
                                   for _, flat in redis("XRANGE", "effects", "-", "+"))


def target(runner, sink, effects, server):
    """A target, and a function that counts its effects by instant."""
    if runner == "redis":
        return {"redis": {"stream": "effects"}}, lambda: entries(server)
    if runner == "http":
        return {"http": {"url": f"{sink.url}/t"}}, lambda: sink.by_instant("t")
    if runner == "exec":
        script = 'echo "$ONCED_PLANNED" >>' + str(effects)
        return ({"exec": ["/bin/sh", "-c", script]},
                lambda: collections.Counter(map(int, effects.read_text().split() if effects.exists() else [])))
    return {"noop": {}}, None


def verdict_of(n, planned):
    """What the proof says of one instant alone."""
    since, until = (datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")
                    for ms in (planned, planned + EVERY_MS))
    return n.prove("--task", "t", "--since", since, "--until", until)


@pytest.mark.parametrize("point,path,runner", CASES, ids=["-".join(c) for c in CASES])
def test_killed_after(node, folder, sink, request, point, path, runner):
    server = request.getfixturevalue("redis") if path == "redis" else None
    what, count = target(runner, sink, folder / "effects", server)
    config = {"workers": 3, "tasks": [{"name": "t", "every": f"{EVERY_MS}ms", "singleton": path, "timeout": "5s",
                                       "first": "next", "history": 1000, "misfire": {"policy": "skip", "grace": "3s"}, **what}]}
    if server:
        config["redis"] = {"url": server.url, "app": "t"}
    n = node(config, env={"ONCED_FAULT": f"{point}:kill@{PASSAGE}", "ONCED_FAULT_ONCE": str(folder / "once")})
    n.start()
    marker = folder / f"once.{point}"
    dead = kit.wait_until(lambda: marker.exists() and marker.read_text().strip(), 15, "the kill")
    kit.wait_until(lambda: len(n.workers()) == 3 and int(dead) not in n.workers().values(), 10, "a successor")
    later = time.time() * 1000 + 2 * EVERY_MS
    kit.wait_until(lambda: any(l["planned"] >= later for l in n.runs("t")), 5, "runs go on")
    assert n.stop() == 0, n.text()

    records = redis_records(server) if server else local_records(n)
    expected = MATRIX[point]
    cut = [r for r in records if f".{dead}." in r["owner"]]
    runs = collections.Counter(l["planned"] for l in n.runs("t"))
    assert max(runs.values()) == 1 and not kit.gaps([r["planned"] for r in records], EVERY_MS)
    if count:
        assert max(count().values()) == 1
    whole = n.prove()
    assert whole.code == (3 if expected is RECORDED else 0) and whole.lacks_ends_only, whole.raw

    if expected is OTHERS:
        # Whatever it asked for is not its own; what it decided before is finished.
        assert all(r["state"] == "succeeded" for r in records), records
        return
    last = max(cut, key=lambda r: r["planned"])
    assert last["state"] in expected.record, last
    assert [r for r in records if r["state"] == "interrupted"] == ([last] if "interrupted" in expected.record else [])
    assert (runs[last["planned"]] == 1) == expected.line
    # A command that is killed right after its start may not come to its effect.
    if count and (runner, point) != ("exec", "started"):
        assert expected.effects[0] <= count()[last["planned"]] <= expected.effects[1]
    proof = verdict_of(n, last["planned"])
    assert proof.code == whole.code and proof.report["verdict"] == expected.verdict, proof.raw
    if "interrupted" in expected.record:
        finish = [l for l in n.lines() if l["e"] == "finish" and l["occ"] == last["occ"]]
        # Told until it is known to be said: maybe twice, but always the same.
        assert finish and all(l["state"] == "interrupted" and f".{dead}." in l["of"] for l in finish), finish
        assert proof.task("t")["interrupted"] == 1, proof.raw



@pytest.mark.parametrize("path", ["dedicated", "flock", "redis"])
def test_killed_after_an_end_without_a_start_was_recorded(node, folder, request, path):
    # Nobody listens there, so nothing was sent and there is no run line; the finish line died with the worker.
    server = request.getfixturevalue("redis") if path == "redis" else None
    config = {"workers": 3, "tasks": [{"name": "t", "every": f"{EVERY_MS}ms", "singleton": path, "timeout": "5s",
                                       "first": "next", "http": {"url": f"http://127.0.0.1:{kit.free_port()}/"}}]}
    if server:
        config["redis"] = {"url": server.url, "app": "t"}
    n = node(config, env={"ONCED_FAULT": f"recorded:kill@{PASSAGE}", "ONCED_FAULT_ONCE": str(folder / "once")})
    n.start()
    marker = folder / "once.recorded"
    dead = kit.wait_until(lambda: marker.exists() and marker.read_text().strip(), 15, "the kill")
    kit.wait_until(lambda: len(n.workers()) == 3 and int(dead) not in n.workers().values(), 10, "a successor")
    assert n.stop() == 0, n.text()

    cut = max((r for r in (redis_records(server) if server else local_records(n)) if f".{dead}." in r["owner"]),
              key=lambda r: r["planned"])
    told = [l for l in n.lines() if l["e"] == "finish" and l["occ"] == cut["occ"]]
    assert [(l["state"], l["cause"]) for l in told] == [("failed", "not_sent")] and f".{dead}." in told[0]["of"]
    proof = n.prove()
    assert proof.code == 0 and not n.runs("t"), proof.raw
