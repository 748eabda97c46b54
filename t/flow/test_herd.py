"""One worker of a node asks Redis about an instant; its siblings stand in. Requests are counted at the server."""
import collections
import os
import pathlib
import shutil
import signal
import subprocess
import time

import kit
import pytest

TASKS = {"slow": 1000, "fast": 100}
WORKERS = 4


def config(redis, every=TASKS, **more):
    return {"workers": WORKERS, "redis": {"url": redis.url, "app": "t"},
            "tasks": [{"name": name, "every": f"{ms}ms", "singleton": "redis", "timeout": "10s", "noop": True, **more}
                      for name, ms in every.items()]}


def claims_seen(redis, seconds, log):
    """Requests with claims in them, as the server saw them. A claim alone names its overlap policy."""
    with open(log, "w") as out:
        monitor = subprocess.Popen([shutil.which("redis-cli"), "-p", str(redis.port), "monitor"], stdout=out)
        try:
            time.sleep(seconds)
        finally:
            monitor.terminate()
            monitor.wait(10)
    return sum('"EVALSHA"' in line and '"drop"' in line for line in open(log, errors="replace"))


def attempts(nodes, task):
    """By instant: who tried, and with what outcome."""
    found = collections.defaultdict(list)
    for n in nodes:
        for l in n.lines():
            if l["e"] == "attempt" and l["task"] == task:
                found[l["planned"]].append(l["out"])
    return found


def test_an_instant_costs_about_one_request_a_node(node, redis, folder):
    nodes = [node(config(redis), name=name).start() for name in ("one", "two")]
    kit.wait_until(lambda: all(n.runs("fast") or attempts([n], "fast") for n in nodes), 10, "both nodes try")
    seconds = 8
    seen = claims_seen(redis, seconds, folder / "monitor.txt")
    assert [n.stop() for n in nodes] == [0, 0]

    # The two tasks share a request each second at most; each worker asking for itself would be four times as many.
    instants = sum(seconds * 1000 / ms for ms in TASKS.values()) * len(nodes)
    assert instants * 0.5 < seen < instants * 1.6, (seen, instants)
    for task in TASKS:
        tried = sorted(attempts(nodes, task).items())
        whole = tried[len(tried) // 4:-len(tried) // 4]
        assert len(whole) >= 2
        assert [outs.count("granted") for _, outs in whole] == [1] * len(whole)
        full = sum(len(outs) == WORKERS * len(nodes) for _, outs in whole)
        assert full >= 0.9 * len(whole), whole   # a machine that is late drops a worker's instant to misfire
    first, *others = [n.logs for n in nodes]
    proof = kit.prove(first, *others)
    assert proof.is_clean, proof.raw


@pytest.mark.fault_points
@pytest.mark.parametrize("action", ["kill", "stop", "sleep=400"])
def test_a_worker_that_fails_while_it_is_its_turn_is_stood_in_for(node, redis, folder, action):
    n = node(config(redis, {"t": 1000}), env={"ONCED_FAULT": f"turn-taken:{action}@3",
                                              "ONCED_FAULT_ONCE": str(folder / "once")}).start()
    marker = folder / "once.turn-taken"
    failed = int(kit.wait_until(lambda: marker.exists() and marker.read_text().strip(), 30, "the fault"))
    later = time.time() * 1000 + 2500
    try:
        kit.wait_until(lambda: any(l["planned"] > later for l in n.runs("t")), 10, "runs go on")
    finally:
        if action == "stop" and pathlib.Path(f"/proc/{failed}").exists():
            os.kill(failed, signal.SIGCONT)
    assert n.stop() in (0, 1), n.text()

    planned = [l["planned"] for l in n.runs("t")]
    assert len(planned) == len(set(planned)) and not kit.gaps(planned, 1000), planned
    proof = n.prove()
    assert proof.code == 0 or proof.lacks_ends_only, proof.raw
