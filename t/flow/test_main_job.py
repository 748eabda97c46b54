"""The main job: four workers with the same timers, counted by an independent server and proven from the logs."""
import time

import pytest

import kit

SECONDS = 20


def tasks_for(url, paths):
    return [{"name": f"{path}-{every}", "every": every, "singleton": path, "timeout": "5s",
             "http": {"url": f"{url}/{path}/{every}"}}
            for path in paths for every in ("1s", "100ms")]


def dropped_of(n, task):
    return {l["first"] for l in n.lines() if l["e"] == "skip" and l["task"] == task and l["cause"] == "overlap"}


@pytest.mark.parametrize("close_every_second", [False, True], ids=["kept-alive", "closed-unread"])
def test_each_instant_once_on_every_path(folder, node, redis, close_every_second):
    sink = kit.Sink(close_every_second)
    paths = ("none", "dedicated", "flock", "redis")
    n = node({"redis": {"url": redis.url, "app": "t"}, "http_base": sink.url, "tasks": tasks_for("", paths)})
    n.start()
    time.sleep(SECONDS)
    assert n.stop() == 0, n.text()
    sink.end()
    proof = n.prove()
    assert proof.report["verdict"] in ("ONCE", "EXPLAINED"), proof.raw   # on a busy machine some are dropped, by name
    assert proof.code == 0
    for path in paths:
        for every, ms in (("1s", 1000), ("100ms", 100)):
            seen = sink.by_instant(f"{path}-{every}")
            told = proof.task(f"{path}-{every}")
            if not close_every_second:
                # On a busy machine a run may last into the next instant, which is then dropped, by name.
                missing = kit.gaps(seen, ms)
                assert set(missing) <= dropped_of(n, f"{path}-{every}") and len(missing) < SECONDS, (path, every)
                assert len(seen) + len(missing) >= SECONDS * 1000 / ms - 2
            if path == "none":
                # Workers become ready one after the other and stop likewise: the edges are not whole.
                inner = sorted(seen)[2:-2]
                if not close_every_second:
                    assert {seen[t] for t in inner} == {4}, seen
                assert max(seen.values()) <= 4
                assert told["verdict"] == "NOT SINGLE" and told["runs_per_instant"]["multiple"] == 4
            else:
                assert set(seen.values()) == {1}, [t for t in seen if seen[t] > 1]
                assert told["verdict"] in ("ONCE", "EXPLAINED") and told["duplicates"] == 0 and told["missed"] == 0
                assert told["processes"] >= 1
    if close_every_second:
        assert sink.unread > 0
        # Sent and unanswered: said to be unknown, never sent again.
        assert proof.task("flock-100ms")["unknown"] > 0


def test_every_process_logs_its_attempt(node, sink):
    n = node({"tasks": [{"name": "t", "every": "200ms", "singleton": "flock", "timeout": "1s", "noop": {}}]})
    n.start()
    time.sleep(4)
    assert n.stop() == 0
    attempts = {}
    for line in n.lines():
        if line["e"] == "attempt":
            attempts.setdefault(line["planned"], set()).add((line["file"], line["out"]))
    whole = sorted(attempts)[2:-2]
    assert len(whole) > 10
    for planned in whole:
        files = {f for f, _ in attempts[planned]}
        granted = [f for f, out in attempts[planned] if out == "granted"]
        assert len(files) == 4 and len(granted) == 1, attempts[planned]


@pytest.mark.parametrize("path", ["flock", "redis"])
def test_skewed_timers_of_a_short_task_stay_once(node, sink, redis, path):
    # A 2 ms task is long finished, and its lock free, when the most skewed sibling looks.
    n = node({"redis": {"url": redis.url, "app": "t"}, "tasks": [
        {"name": "short", "every": "100ms", "singleton": path, "timeout": "5s",
         "http": {"url": f"{sink.url}/short"}}]},
        env={"ONCED_TEST_TIMER_DELAY_MS": "0,10,20,30"})
    sink.respond = lambda h, answer=sink.respond: (time.sleep(0.002), answer(h))
    n.start()
    time.sleep(6)
    assert n.stop() == 0
    seen = sink.by_instant("short")
    assert len(seen) > 50 and set(seen.values()) == {1}
    assert set(kit.gaps(seen, 100)) <= dropped_of(n, "short")
    outs = {l["out"] for l in n.lines() if l["e"] == "attempt"}
    assert "done" in outs, outs
    assert n.prove().code == 0


def test_a_restart_keeps_the_grid_and_names_the_gap(node, sink):
    n = node({"tasks": [{"name": "t", "every": "250ms", "singleton": "flock", "timeout": "1s",
                         "http": {"url": f"{sink.url}/t"}}]})
    n.start()
    time.sleep(2)
    assert n.stop() == 0
    time.sleep(1.5)
    n.start()
    time.sleep(2)
    assert n.stop() == 0
    seen = sink.by_instant("t")
    assert all(t % 250 == 0 for t in seen) and set(seen.values()) == {1}
    missing = kit.gaps(seen, 250)
    assert missing
    proof = n.prove()
    assert proof.code == 0, proof.raw
    t = proof.task("t")
    assert t["skipped"] + t["recorded_missed"] + t["dropped"] == len(missing), proof.raw
    skips = [l for l in n.lines() if l["e"] == "skip"]
    assert [(l["first"], l["last"], l["count"], l["cause"]) for l in skips] == [
        (missing[0], missing[-1], len(missing), "misfire")]


def test_a_change_of_schedule_starts_nothing_old(node, sink):
    task = {"name": "t", "every": "1h", "singleton": "flock", "timeout": "1s", "http": {"url": f"{sink.url}/t"}}
    n = node({"tasks": [task]})
    n.start()
    assert n.stop() == 0
    before = len(sink.requests)   # the hour's own instant, if its grace of 59 s is not over
    n.configure({"tasks": [dict(task, every="7m", anchor=int(time.time() * 1000) - 1000)]})
    n.start()
    time.sleep(1)
    assert n.stop() == 0
    assert len(sink.requests) == before


def test_overlap_drop_and_concurrent(node):
    def task(name, path, overlap):
        return {"name": name, "every": "200ms", "singleton": path, "timeout": "5s", "overlap": overlap,
                "exec": ["/bin/sleep", "0.5"]}
    n = node({"tasks": [task("drop", "flock", "drop"), task("drop-d", "dedicated", "drop"),
                        task("two", "flock", {"policy": "concurrent", "max_running": 2})]})
    n.start()
    time.sleep(5)
    assert n.stop() == 0
    proof = n.prove()
    assert proof.code == 0, proof.raw
    intervals = {}
    for line in n.lines():
        if line["e"] in ("run", "finish"):
            intervals.setdefault(line["task"], {}).setdefault(line["occ"], {})[line["e"]] = line["b"]
    for name, most in (("drop", 1), ("drop-d", 1), ("two", 2)):
        told = proof.task(name)
        assert told["executions"] >= 5 and told["dropped"] > 0, told
        edges = sorted([(x["run"], 1) for x in intervals[name].values()] +
                       [(x["finish"], -1) for x in intervals[name].values()])
        running = peak = 0
        for _, step in edges:
            running += step
            peak = max(peak, running)
        assert peak == most, name
