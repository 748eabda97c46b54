"""What did not come off is said to people as well: missed, interrupted and unknown, with its cause, in few lines. What
the tables and metrics count is what the history has."""
import os
import re
import signal
import time

import kit
from evidence import all_run, process_of, task

EVERY_MS = 100


def said(n, name):
    """Warnings of the log for people that are about the task."""
    return [l for l in n.text().splitlines() if f" task {name}: " in l and " warning " in l]


def history(n, name):
    """state, cause -> instants"""
    found = {}
    for row in n.api(f"/v1/occurrences?task={name}&limit=1000")["occurrences"]:
        key = row["state"], row.get("cause") or ""
        found[key] = found.get(key, 0) + (row.get("count") or 1)
    return found


def by_state(found, state):
    return sum(count for (s, _), count in found.items() if s == state)


def shown(n, name):
    return next(t for t in n.api("/v1/tasks")["tasks"] if t["name"] == name)["counts"]["runs"]


def metric(n, name, state):
    value = re.search(rf'^onced_task_runs_total\{{task="{name}",state="{state}"\}} (\d+)', n.cli_raw("GET", "/metrics"),
                      re.MULTILINE)
    return int(value.group(1)) if value else 0


def counts_agree(n, name, states=("skipped", "missed", "unknown", "interrupted")):
    """What is counted, in all places, is what the history has; instants that go on being due are waited for."""
    seen = []

    def agree():
        found = history(n, name)
        want = {s: by_state(found, s) for s in states}
        seen[:] = [want, {s: shown(n, name)[s] for s in states}, {s: metric(n, name, s) for s in states}]
        return seen[0] == seen[1] == seen[2] and want
    try:
        return kit.wait_until(agree, 10, f"counts of {name} as in its history")
    except AssertionError as e:
        raise AssertionError(f"{e}: {seen}") from None


def stop_for(pids, seconds):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_what_a_stopped_timer_worker_missed_is_a_line_and_a_count(node):
    n = node({"workers": 2, "hang_timeout": "20s",
              "tasks": [task("solo", path="dedicated", every=f"{EVERY_MS}ms", first="next")]})
    n.start()
    all_run(n, ["solo"], 5)
    stop_for([n.timer_worker()], 3)
    all_run(n, ["solo"], 5)
    missed = counts_agree(n, "solo")["missed"]
    assert missed >= 20
    lines = said(n, "solo")
    assert len(lines) == 1, lines
    count = int(re.search(r"(\d+) instants missed \(nobody\), from \S+Z to \S+Z$", lines[0]).group(1))
    assert 20 <= count <= missed
    assert n.stop() == 0


def test_a_pause_of_all_is_one_line_of_a_plain_timer(node):
    """Each worker gives up its own, and each tells so in its trigger log."""
    n = node({"hang_timeout": "20s", "tasks": [task("plain", path="none", every=f"{EVERY_MS}ms", first="next")]})
    n.start()
    n.timer_worker()
    all_run(n, ["plain"], 5)
    stop_for(n.workers().values(), 2)
    kit.wait_until(lambda: len({process_of(l) for l in n.lines() if l["e"] == "miss"}) == 4, 10, "all have told it")
    kit.wait_until(lambda: said(n, "plain"), 10, "people hear of it")
    all_run(n, ["plain"], 5)
    lines = said(n, "plain")
    assert len(lines) == 1 and re.search(r"missed \(nobody\), .*; each worker has its own timer$", lines[0]), lines
    assert n.stop() == 0


def test_a_restart_of_redis_says_until_when_instants_are_given_up(node, redis):
    n = node({"redis": {"url": redis.url, "app": "t"},
              "tasks": [task("far", path="redis", every="200ms", first="next", misfire={"policy": "skip", "grace": "10s"})]})
    n.start()
    all_run(n, ["far"], 3)
    redis.end()
    time.sleep(1)
    redis.start()
    given_up = kit.wait_until(lambda: [l for l in n.lines() if l["e"] in ("skip", "miss") and l["cause"] == "barrier"],
                              15, "instants are given up")
    said_once = [l for l in n.text().splitlines() if "the server restarted, failed over or was put back" in l]
    assert len(said_once) == 1, n.text()
    until = re.search(r"planned until (\S+Z) and not decided is given up as unknown \(barrier\)$", said_once[0]).group(1)
    assert all(l["last"] <= kit.seconds_of(until) * 1000 for l in given_up), (until, given_up)
    assert n.stop() == 0


def test_what_policies_skip_is_counted_and_no_warning(node):
    n = node({"tasks": [task("busy", exec=["/bin/sleep", "0.5"], first="next"), task("calm", first="next")]})
    n.start()
    all_run(n, ["busy"], 3)
    assert n.stop() == 0
    time.sleep(1)
    n.start()
    all_run(n, ["busy", "calm"], 3)
    assert history(n, "calm")["skipped", "misfire"] >= 3
    assert not said(n, "busy") and not said(n, "calm")
    # Counters begin with the master: the history has those of the master before as well.
    before = by_state(history(n, "busy"), "skipped") - shown(n, "busy")["skipped"]
    assert before > 0
    assert kit.wait_until(lambda: metric(n, "busy", "skipped") >= 3, 10, "skips are counted")
    assert n.stop() == 0


def test_runs_of_a_killed_worker_are_a_line(node):
    n = node({"workers": 2, "tasks": [task("long", path="dedicated", every="1s", exec=["/bin/sleep", "30"],
                                           timeout="60s", overlap="drop", first="next")]})
    n.start()
    kit.wait_until(lambda: n.runs("long"), 10, "it runs")
    row = kit.wait_until(lambda: next((r for r in n.api("/v1/occurrences?task=long")["occurrences"]
                                       if r["state"] == "running"), None), 5, "it is in the history")
    assert row["started"], "a run tells since when"
    os.kill(n.timer_worker(), signal.SIGKILL)
    kit.wait_until(lambda: said(n, "long"), 10, "people hear of it")
    assert re.search(r"task long: occurrence [0-9a-f]{12} interrupted \(worker_died\)$", said(n, "long")[0])
    row = next(r for r in n.api("/v1/occurrences?task=long")["occurrences"] if r["state"] == "interrupted")
    assert row["started"] and row["cause"] == "worker_died"
    assert counts_agree(n, "long", ("interrupted",))["interrupted"] >= 1


def test_what_a_stalled_redis_held_up_is_not_nobodys(node, redis):
    n = node({"redis": {"url": redis.url, "app": "t"},
              "tasks": [task("far", path="redis", every=f"{EVERY_MS}ms", first="next")]})
    n.start()
    all_run(n, ["far"], 5)
    stop_for([redis.process.pid], 6)
    all_run(n, ["far"], 10)
    found = history(n, "far")
    assert by_state(found, "missed") >= 20, found
    assert set(c for s, c in found if s == "missed") <= {"ledger_down", "late", "abandoned"}, found
    assert found["missed", "ledger_down"] >= 20, found
    assert [l for l in said(n, "far") if "missed (ledger_down)" in l or "missed (late)" in l or "abandoned" in l]
    counts_agree(n, "far")
    assert n.stop() == 0
