"""The wall clock is set while nodes run: forward, back, much, little, often, and by one node alone. Nothing runs
twice, what was gone over is named, and nothing waits for a time that is an hour off."""
import collections
import random
import subprocess
import time

import pytest

import faults
import kit
from clockwork import HOUR, Clock
from evidence import all_run, finishes, process_of, runs_of, task, waits_for_runs

CATCH_UP = {"policy": "catch_up", "limit": 3, "lookback": "2h"}
STEPPED = "clock-step: the wall clock was set"


def ranges(n, name, cause=None):
    """(first, last, count) of what was given up, in order."""
    return sorted((l["first"], l["last"], l["count"]) for l in n.lines()
                  if l["e"] in ("skip", "miss") and l["task"] == name and cause in (None, l["cause"]))


def assert_all_decided(n, name, every_ms):
    """From the first run to the last every instant ran once or is in one range; gives the runs back."""
    ran = runs_of(n, name)
    assert len(ran) == len(set(ran)), f"{name}: an instant twice: {ran}"
    given_up = [t for first, last, _ in ranges(n, name) for t in range(first, last + 1, every_ms)]
    assert len(given_up) == len(set(given_up)) and not set(given_up) & set(ran), name
    assert set(range(ran[0], ran[-1] + 1, every_ms)) <= set(ran) | set(given_up), name
    return ran


def jumps(n):
    """What each worker noticed: process -> its steps in s."""
    found = collections.defaultdict(list)
    for line in n.lines():
        if line["e"] == "step":
            found[process_of(line)].append(line["jump_ns"] / 1e9)
    return found


def assert_noticed(n, seconds, workers=2):
    seen = jumps(n)
    assert len(seen) == workers, seen
    for steps in seen.values():
        assert len(steps) == 1 and abs(steps[0] - seconds) < 0.01, seen


def cursor_of(redis, name):
    """As it stands in the store."""
    def ask(*words):
        return subprocess.run(["redis-cli", "-p", str(redis.port), *words], capture_output=True, text=True,
                              check=True).stdout.split()
    key, = [k for k in ask("KEYS", "*:u:*") if name in k]
    return int(ask("HGET", key, "cursor")[0])


def test_a_step_back_repeats_nothing_and_ends_by_itself(node, folder):
    """By a second: what was decided stays decided, and work goes on where it was."""
    clock = Clock(folder)
    n = node({"workers": 2, "tasks": [task("f", every="200ms"), task("d", "dedicated", "200ms"),
                                      task("c", every="200ms", misfire=CATCH_UP)]}, env=clock.env).start()
    all_run(n, "fdc", 5)
    clock.step(-1)
    all_run(n, "fdc", 5)
    assert n.stop() == 0
    assert_noticed(n, -1)
    assert n.text().count(STEPPED + " back by 1.000 s") == 1
    for name in "fdc":
        ran = assert_all_decided(n, name, 200)
        assert ran == list(range(ran[0], ran[-1] + 1, 200)), "nothing was left out either"
    proof = n.prove()
    assert proof.code == 0, proof.raw


def test_a_step_back_is_a_pause_that_is_told_once(node, folder):
    """By an hour, and put right: tasks wait meanwhile and say until when; then only what the policy wants runs."""
    clock = Clock(folder)
    tasks = [task("f", every="1s"), task("d", "dedicated", "1s"), task("c", every="1s", misfire=CATCH_UP)]
    n = node({"workers": 2, "tasks": tasks}, env=clock.env).start()
    all_run(n, "fdc", 2)
    clock.step(-HOUR)
    kit.wait_until(lambda: len(jumps(n)) == 2, 5, "both workers have noticed")
    before = {name: runs_of(n, name) for name in "fdc"}
    time.sleep(2.5)
    assert {name: runs_of(n, name) for name in "fdc"} == before, "nothing runs while the clock is back"
    assert "3 tasks wait" in n.text() and n.text().count("tasks wait") == 1 and "max_future" not in n.text()
    n.cli_raw("GET", "/readyz")
    assert n.status == 200
    clock.step(HOUR)
    all_run(n, "fdc", 2)
    assert n.stop() == 0
    assert n.text().count(STEPPED) == 2
    for name in "fdc":
        assert_all_decided(n, name, 1000)
    proof = n.prove()
    assert proof.code == 0, proof.raw


def test_further_back_than_max_future_is_an_alarm(node, folder):
    """And is cured by a person when it is the new time that is right."""
    clock = Clock(folder)
    n = node({"workers": 2, "tasks": [task("a", every="1s"), task("b", every="1s")]}, env=clock.env).start()
    all_run(n, "ab", 1)
    clock.step(-2 * HOUR)
    kit.wait_until(lambda: "max_future" in n.text(), 5, "the alarm")
    n.cli_raw("GET", "/readyz")
    assert n.status == 503
    assert n.stop() == 0
    at = clock.now()
    for name in "ab":
        assert f"onced recover {name} --cursor now" in n.text() or "others are as well" in n.text()
        done = faults.recover(n, name, "--cursor", "now", "--yes")
        assert done.returncode == 0, done
    n.start()
    kit.wait_until(lambda: [t for t in runs_of(n, "a") if at < t < at + 60000], 5, "a runs by the new time")
    n.cli_raw("GET", "/readyz")
    assert n.status == 200
    assert n.stop() == 0


@pytest.mark.parametrize("back_s", [600, 7200], ids=["10 min", "2 h"])
def test_a_cursor_ahead_at_the_start_waits_and_says_so(node, folder, back_s):
    """A machine whose clock begins in the past: one line for all its tasks, not one for each and each worker."""
    clock = Clock(folder)
    tasks = [task(f"t{i}", every="1s") for i in range(20)]
    n = node({"workers": 2, "tasks": tasks}, env=clock.env).start()
    all_run(n, [f"t{i}" for i in range(20)], 1)
    assert n.stop() == 0
    clock.step(-back_s)
    n.start()
    kit.wait_until(lambda: "20 tasks wait, from task t" in n.text(), 5, "it says that they wait")
    before = len(n.lines())
    time.sleep(1.5)
    assert not [l for l in n.lines()[before:] if l["e"] == "run"]
    assert n.text().count("tasks wait") == 1
    assert n.text().count("more than max_future") == (1 if back_s > HOUR else 0)
    n.cli_raw("GET", "/readyz")
    assert n.status == (503 if back_s > HOUR else 200)
    clock.step(back_s)
    waits_for_runs(n, "t0", 2)
    assert n.stop() == 0
    assert_all_decided(n, "t0", 1000)


def test_steps_in_a_row_are_all_noticed(node, folder):
    """Some fall between a timer's end and its next setting; their sum must be what the clock was set by in all."""
    clock = Clock(folder)
    draw = random.Random(4)
    n = node({"workers": 2, "tasks": [task("f", every="10ms"), task("d", "dedicated", "50ms"),
                                      task("c", every="100ms", misfire=CATCH_UP)]}, env=clock.env).start()
    waits_for_runs(n, "c", 3)
    begin = highest = clock.wall
    for _ in range(150):
        clock.step(draw.choice([-1, 1]) * draw.choice([0.002, 0.3, 3, 60]))
        highest = max(highest, clock.wall)
        time.sleep(draw.uniform(0, 0.02))
    clock.step((highest - clock.wall) / 1e9 + 1)   # no cursor is ahead in the end
    all_run(n, "fdc", 5)
    assert n.stop() == 0
    seen = jumps(n)
    assert len(seen) == 2
    for steps in seen.values():
        assert abs(sum(steps) - (clock.wall - begin) / 1e9) < 0.02, "a step was not noticed, or noticed twice"
        assert len(steps) > 20
    assert len({l["file"] for l in n.lines() if l["e"] == "start"}) == 4, "nobody was replaced: master, console, workers"
    for name, every in (("f", 10), ("d", 50), ("c", 100)):
        assert_all_decided(n, name, every)
    proof = n.prove()
    assert proof.code == 0, proof.raw


def test_steps_too_small_to_matter_are_not_told(node, folder):
    clock = Clock(folder)
    n = node({"workers": 2, "tasks": [task("f", every="100ms")]}, env=clock.env).start()
    waits_for_runs(n, "f", 2)
    for _ in range(5):
        clock.step(0.0001)
        time.sleep(0.05)
    waits_for_runs(n, "f", 2)
    assert not jumps(n) and STEPPED not in n.text()
    for _ in range(10):
        clock.step(0.0001)
        time.sleep(0.05)
    kit.wait_until(lambda: len(jumps(n)) == 2, 5, "together they are a step")
    assert n.stop() == 0
    assert_all_decided(n, "f", 100)


def test_runs_go_on_by_their_own_clock(node, folder, redis):
    """A run's timeout and its lease are not on the wall clock."""
    clock = Clock(folder)
    slow = {"exec": ["/bin/sleep", "3"], "timeout": "6s", "every": "366d", "anchor": clock.now() + 3000}
    endless = dict(slow, exec=["/bin/sleep", "60"], timeout="3s")
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"}, "tasks": [
        task("f", **slow), task("r", "redis", lease="1s", **slow), task("t", **endless)]},
        env={**clock.env, "ONCED_TEST_SHORT_LEASE": "1"}).start()
    kit.wait_until(lambda: all(runs_of(n, name) for name in "frt"), 10, "all run")
    for seconds in (HOUR, -HOUR, -HOUR, HOUR):
        clock.step(seconds)
        time.sleep(0.3)
    kit.wait_until(lambda: all(finishes(n, name) for name in "frt"), 20, "all have ended")
    assert n.stop() == 0
    for name in "fr":
        assert [l["state"] for l in finishes(n, name)] == ["succeeded"]
    ended = finishes(n, "t")
    assert [(l["state"], l["cause"]) for l in ended] == [("failed", "timeout")]
    assert 2.9e6 < ended[0]["run_us"] < 8e6


def test_a_node_whose_clock_alone_is_ahead_starts_nothing_early(node, folder, redis, sink):
    """The store's clock counts: nothing starts early, and what is to come is not given up for the others."""
    tasks = [task("fast", "redis", "200ms", http={"url": sink.url}),
             task("slow", "redis", "10m", misfire={"policy": "skip", "grace": "1s"})]
    config = {"workers": 2, "redis": {"url": redis.url, "app": "t"}, "tasks": tasks}
    clock = Clock(folder)
    right, wrong = node(config, name="right").start(), node(config, env=clock.env, name="wrong").start()
    waits_for_runs([right, wrong], "fast", 5)
    clock.step(HOUR)
    kit.wait_until(lambda: "early by the ledger's clock" in wrong.text(), 5, "an alarm")
    waits_for_runs(right, "fast", 10)
    assert wrong.text().count("early by the ledger's clock") <= 2, "once a worker"
    assert cursor_of(redis, "slow") < time.time() * 1000 + 1000, "the future was given up"
    assert "early" in {l["out"] for l in wrong.lines() if l["e"] == "attempt"}
    assert wrong.stop() == 0 and right.stop() == 0
    seen = sink.by_instant("fast")
    assert set(seen.values()) == {1} and not kit.gaps(seen, 200), kit.gaps(seen, 200)


def test_suspend_is_no_step(node, folder):
    """A machine that was asleep has the right time at once; what was due meanwhile is the policy's."""
    clock = Clock(folder)
    n = node({"workers": 2, "tasks": [task("f", every="1s"), task("d", "dedicated", "1s"),
                                      task("c", every="1s", misfire=CATCH_UP)]}, env=clock.env).start()
    all_run(n, "fdc", 2)
    workers = n.workers()
    asleep = clock.suspend(HOUR)
    all_run(n, "fdc", 5)
    assert n.workers() == workers, "no worker was taken for hung"
    assert n.stop() == 0
    assert not jumps(n) and STEPPED not in n.text() and n.text().count("this machine slept for 3600.0") == 1
    for name, most in (("f", 1), ("d", 1), ("c", 3)):
        ran = assert_all_decided(n, name, 1000)
        late = [t for t in ran if asleep < t <= asleep + HOUR * 1000]
        assert len(late) <= most and late == sorted(late), (name, late)
        assert [count for _, _, count in ranges(n, name, "misfire") if count > 3500], name
    proof = n.prove()
    assert proof.code == 0, proof.raw
