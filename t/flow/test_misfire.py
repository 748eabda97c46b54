"""What was due while nobody was there: skipped in one record, or caught up with, oldest first, by all workers together
as if by one."""
import collections
import os
import signal
import sqlite3
import time

import pytest

import evidence
import kit

DAY_MS = 24 * 3600 * 1000
LEDGER_PATHS = ("dedicated", "flock", "redis")


def task(name, path, every="200ms", limit=5, **more):
    base = {"name": name, "every": every, "singleton": path, "timeout": "20s", "first": "next",
            "misfire": {"policy": "catch_up", "limit": limit, "lookback": "1h"}}
    if not {"http", "exec"} & set(more):
        base["noop"] = {}
    return {**base, **more}


def config(redis, tasks, **more):
    return {"redis": {"url": redis.url, "app": "t"}, "tasks": tasks, **more}


def ranges(n, name, e="skip"):
    """(first, last, count, cause) of what was given up, said by who gave it up."""
    return [(l["first"], l["last"], l["count"], l["cause"]) for l in n.lines()
            if l["e"] == e and l["task"] == name and "of" not in l]


def now_ms():
    return int(time.time() * 1000)


def rest(n, seconds):
    """Stops the node for so long; gives back when it was gone and when it came back."""
    assert n.stop() == 0, n.text()
    gone = now_ms()
    time.sleep(seconds)
    back = now_ms()
    n.start()
    return gone, back


def covered(instants, given_up):
    """Instants and ranges as one sorted list; a range stands for its first and its last."""
    return sorted(list(instants) + [edge for r in given_up for edge in r[:2]])


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_catch_up_runs_the_newest_after_a_stop_in_order_and_names_the_rest(node, redis, path):
    n = node(config(redis, [task("t", path)]))
    n.start()
    time.sleep(1.5)
    gone, back = rest(n, 4)
    evidence.waits_for_runs(n, "t", 5)
    assert n.stop() == 0, n.text()
    runs = [l["planned"] for l in n.runs("t")]
    late = [t for t in runs if gone <= t <= back]
    given_up = [r for r in ranges(n, "t") if r[3] == "misfire"]
    # The newest five by the time that a worker was there; siblings took none of them away.
    assert 4 <= len(late) <= 5 and runs == sorted(set(runs))
    assert len(given_up) == 1, given_up
    first, last, count, _ = given_up[0]
    assert first >= gone - 200 and last == late[0] - 200 and (last - first) // 200 + 1 == count
    assert count >= 20 - 5 - 2
    assert not [r for r in ranges(n, "t") if r[3] == "overlap"]
    assert not [t for t in kit.gaps(runs, 200) if not first <= t <= last]
    proof = n.prove()
    assert proof.code == 0 and proof.task("t")["skipped"] == count, proof.raw


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_skip_after_a_stop_runs_one_at_most_and_names_the_rest(node, redis, path):
    n = node(config(redis, [{**task("t", path), "misfire": {"policy": "skip", "grace": "150ms"}}]))
    n.start()
    time.sleep(1.5)
    gone, back = rest(n, 3)
    evidence.waits_for_runs(n, "t", 5)
    assert n.stop() == 0, n.text()
    runs = evidence.runs_of(n, "t")
    assert len([t for t in runs if gone <= t <= back]) <= 1
    given_up = ranges(n, "t")
    assert [r[3] for r in given_up] == ["misfire"] and given_up[0][2] >= 12, given_up
    assert kit.gaps(runs, 200) == list(range(given_up[0][0], given_up[0][1] + 1, 200))
    assert n.prove().code == 0


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_catch_up_works_after_a_crash(node, redis, path):
    n = node(config(redis, [task("t", path, limit=100)]))
    n.start()
    evidence.waits_for_runs(n, "t", 3)
    n.end()
    time.sleep(2)
    n.start()
    back = now_ms()
    kit.wait_until(lambda: evidence.runs_of(n, "t")[-1] > back, 10, "it is up to date")
    assert n.stop() == 0, n.text()
    runs = [l["planned"] for l in n.runs("t")]
    cut = [l["planned"] for l in evidence.finishes(n, "t") if l["state"] != "succeeded"]
    assert runs == sorted(set(runs)) and not kit.gaps(set(runs) | set(cut), 200)
    assert not ranges(n, "t")


def test_the_oldest_of_a_backlog_is_run_and_the_rest_wait_in_its_queue(node, redis):
    tasks = [task(path, path, every="1s", limit=3, exec=["/bin/sleep", "1.5"]) for path in LEDGER_PATHS]
    n = node(config(redis, tasks, drain_timeout="30s"))
    n.start()
    time.sleep(1.2)
    gone, back = rest(n, 6)
    time.sleep(6)
    assert n.stop() == 0, n.text()
    for path in LEDGER_PATHS:
        runs = [l["planned"] for l in n.runs(path)]
        assert runs == sorted(set(runs)), path
        assert evidence.most_at_once(evidence.intervals([n], path)) == 1
        waited = sorted(l["planned"] for l in n.lines() if l["e"] == "attempt" and l["task"] == path
                        and l["out"] == "queued")
        assert len(waited) == len(set(waited)) >= 2
        assert set(waited) & set(runs)
        assert not [r for r in ranges(n, path) if r[3] == "overlap"]
    assert n.prove().code == 0


def test_catch_up_that_drops_runs_one_and_one_that_is_concurrent_runs_side_by_side(node, redis):
    overlaps = {"drop": "drop", "two": {"policy": "concurrent", "max_running": 2}}
    tasks = [task(f"{path}-{name}", path, every="1s", limit=4, overlap=overlap, exec=["/bin/sleep", "1.5"])
             for path in LEDGER_PATHS for name, overlap in overlaps.items()]
    n = node(config(redis, tasks))
    n.start()
    time.sleep(1.2)
    gone, back = rest(n, 6)
    time.sleep(2)
    assert n.stop() == 0, n.text()
    for path in LEDGER_PATHS:
        for name, most in (("drop", 1), ("two", 2)):
            full = f"{path}-{name}"
            late = [t for t in evidence.runs_of(n, full) if gone <= t <= back]
            assert len(late) == most, (full, late)
            assert evidence.most_at_once(evidence.intervals([n], full)) == most
            # The rest of the newest four was due while they ran.
            dropped = sorted(t for t in evidence.dropped(n, full) if gone <= t <= back)
            assert len(dropped) >= 4 - most - 1 and min(dropped) > max(late), full
    assert n.prove().code == 0


@pytest.mark.parametrize("first", ["window", "next"])
def test_the_first_start_of_all(node, redis, first):
    tasks = [task(path, path, every="1h", limit=3, first=first,
                  misfire={"policy": "catch_up", "limit": 3, "lookback": "12h"}) for path in LEDGER_PATHS]
    n = node(config(redis, tasks))
    n.start()
    if first == "window":
        for path in ("dedicated", "flock"):
            kit.wait_until(lambda path=path: len(n.runs(path)) >= 3, 10, "three runs")
    time.sleep(1.5)
    assert n.stop() == 0, n.text()
    for path in LEDGER_PATHS:
        newest = now_ms() // 3600000 * 3600000
        window = [newest - 7200000, newest - 3600000, newest]
        # Nothing in Redis begins before the store itself did.
        assert [l["planned"] for l in n.runs(path)] == (window if first == "window" and path != "redis" else []), path


def day_back(n, names):
    """The local ledger as it was a day ago: what was decided since then never was."""
    with sqlite3.connect(n.folder / "state" / "ledger.db") as db:
        for name in names:
            db.execute("UPDATE unit SET cursor = cursor - ? WHERE task = ?", (DAY_MS, name))
    db.close()


STORM = [f"storm-{i}" for i in range(8)]


@pytest.mark.parametrize("misfire,most", [
    ("skip", 1),
    ({"policy": "catch_up", "limit": 3, "lookback": "2d"}, 3),
    ({"policy": "catch_up", "limit": 1000, "lookback": "2d"}, 145)], ids=["skip", "three", "thousand"])
def test_a_day_away_is_no_storm(node, redis, misfire, most):
    """Eight tasks of ten minutes, a day late: a thousand starts at once, in any order, was what others did."""
    storm = [{"name": name, "every": "10m", "singleton": "flock", "timeout": "5s", "first": "next", "misfire": misfire,
              "noop": {}} for name in STORM]
    n = node({"tasks": [*storm, evidence.task("steady", every="100ms")], "tick_limit": 20})
    n.start()
    evidence.waits_for_runs(n, "steady")
    assert n.stop() == 0, n.text()
    day_back(n, STORM)
    n.start()
    back = now_ms()
    expected = {name: 144 if most == 145 else most for name in STORM}
    if most > 1:
        kit.wait_until(lambda: all(len(n.runs(name)) >= expected[name] for name in STORM), 40, "it has caught up")
    kit.wait_until(lambda: evidence.runs_of(n, "steady")[-1] > back + 1500, 10, "the steady task goes on")
    assert n.stop() == 0, n.text()
    for name in STORM:
        runs = [l["planned"] for l in n.runs(name)]
        given_up = ranges(n, name)
        assert len(runs) <= most and runs == sorted(set(runs)), name
        assert len(runs) + sum(r[2] for r in given_up) in (143, 144, 145), (name, len(runs), given_up)
        assert len(given_up) == (most < 145) and {r[3] for r in given_up} <= {"misfire"}
        assert not [e for e in covered(runs, given_up) if covered(runs, given_up).count(e) > 2]
    # Nobody else waited behind the backlog.
    steady = evidence.runs_of(n, "steady")
    after = [t for t in steady if t > back]
    assert len(kit.gaps(after, 100)) <= len(after) // 10, kit.gaps(after, 100)
    assert collections.Counter(evidence.runs_of(n, "steady")).most_common(1)[0][1] == 1


def test_a_worker_killed_while_catching_up_loses_nothing(node, sink, redis):
    tasks = [task(path, path, every="100ms", limit=1000, http={"url": f"{sink.url}/{path}"}) for path in LEDGER_PATHS]
    n = node(config(redis, tasks))
    n.start()
    time.sleep(1)
    rest(n, 4)
    os.kill(n.timer_worker(), signal.SIGKILL)
    back = now_ms()
    for path in LEDGER_PATHS:
        kit.wait_until(lambda path=path: evidence.runs_of(n, path)[-1] > back, 20, f"{path} is up to date")
    assert n.stop() == 0, n.text()
    for path in LEDGER_PATHS:
        seen = sink.by_instant(path)
        runs = [l["planned"] for l in n.runs(path)]
        assert set(seen.values()) == {1}, path
        assert runs == sorted(set(runs)), path
        cut = {l["planned"] for l in evidence.finishes(n, path, "interrupted")}   # it died between claim and start
        assert not kit.gaps({*runs, *cut}, 100), path
        assert not ranges(n, path), path
