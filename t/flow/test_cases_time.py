"""Faults of time that users of other schedulers met, as cases: each test is the whole kind, not the one input."""
import time

import pytest

import kit
from clockwork import HOUR, Clock, utc_ms
from evidence import all_run, process_of, runs_of, task

BERLIN = "Europe/Berlin"
EVERY_2S = "*/2 * * * * *"


def at_night(name, cron, **more):
    """Without the window of the first start: what was due before the node is another test's."""
    plain = {k: v for k, v in task(name, **more).items() if k != "every"}
    return {**plain, "cron": cron, "tz": BERLIN, "first": "next"}


def given_up(n, name):
    return [(l["first"], l["last"], l["count"], l["cause"]) for l in n.lines()
            if l["e"] in ("skip", "miss") and l["task"] == name]


def assert_proved(n, *names):
    proof = n.prove()
    assert proof.code == 0, proof.raw
    for name in names:
        assert proof.task(name)["duplicates"] == 0 and proof.task(name)["missed"] == 0, proof.raw


def test_a_local_time_that_does_not_exist_is_never_due(node, folder):
    """The night in spring, 02:00 is followed by 03:00: passed through as it comes, and gone over by a step."""
    clock = Clock(folder, "2027-03-28T00:59:56")
    tasks = [at_night("each", EVERY_2S), at_night("missing", "30 2 * * *"), at_night("three", "0 3 * * *"),
             at_night("half", "*/30 * * * *", path="dedicated")]
    n = node({"workers": 2, "log": {"dir": str(folder / "log"), "keep": "366d"}, "tasks": tasks}, env=clock.env).start()
    three = utc_ms("2027-03-28T01:00:00")
    kit.wait_until(lambda: runs_of(n, "three"), 15, "03:00 comes when 02:00 would have")
    kit.wait_until(lambda: [t for t in runs_of(n, "each") if t > three + 2000], 10, "the seconds go on")
    before = clock.step(HOUR)
    kit.wait_until(lambda: [t for t in runs_of(n, "each") if t > before + HOUR * 1000], 10, "and after the step")
    assert n.stop() == 0
    assert runs_of(n, "three") == [three]
    assert runs_of(n, "missing") == [] and given_up(n, "missing") == []
    each = runs_of(n, "each")
    ranges = given_up(n, "each")
    assert len(each) == len(set(each)) and len(ranges) == 1 and ranges[0][3] == "misfire", ranges
    covered = set(range(ranges[0][0], ranges[0][1] + 1, 2000))
    assert len(covered) == ranges[0][2] and covered | set(each) == set(range(each[0], each[-1] + 1, 2000))
    assert runs_of(n, "half")[0] == three
    assert_proved(n, "each", "missing", "three", "half")


def test_a_local_time_that_comes_twice_is_due_as_often_as_it_says(node, folder):
    """The night in autumn, 03:00 is followed by 02:00. And somebody who sets the clock back by hand repeats nothing."""
    clock = Clock(folder, "2027-10-31T00:29:56")
    tasks = [at_night("first", "30 2 * * *"), {**at_night("both", "30 2 * * *", path="dedicated"), "dst_fold": "both"},
             at_night("each-first", EVERY_2S), {**at_night("each-both", EVERY_2S), "dst_fold": "both"}]
    n = node({"workers": 2, "log": {"dir": str(folder / "log"), "keep": "366d"}, "tasks": tasks}, env=clock.env).start()
    summer, winter = utc_ms("2027-10-31T00:30:00"), utc_ms("2027-10-31T01:30:00")
    turn, over = utc_ms("2027-10-31T01:00:00"), utc_ms("2027-10-31T02:00:00")

    def set_to(instant):
        clock.step((instant - clock.now()) / 1000)

    kit.wait_until(lambda: runs_of(n, "first") and runs_of(n, "both"), 15, "02:30 of summer time")
    set_to(turn - 3500)
    kit.wait_until(lambda: [t for t in runs_of(n, "each-both") if t > turn + 2000], 15, "the hour is repeated")
    set_to(winter - 1500)
    kit.wait_until(lambda: winter in runs_of(n, "both"), 15, "02:30 of winter time")
    set_to(summer - 1500)
    time.sleep(3)
    set_to(winter - 500)
    time.sleep(2)
    set_to(over - 1500)
    kit.wait_until(lambda: [t for t in runs_of(n, "each-first") if t >= over], 15, "after the repeated hour")
    assert n.stop() == 0
    assert runs_of(n, "first") == [summer]
    assert runs_of(n, "both") == [summer, winter]
    assert not [t for t in runs_of(n, "each-first") if turn <= t < over]
    for name in ("each-first", "each-both"):
        ran = runs_of(n, name)
        lost = [t for first, last, _, _ in given_up(n, name) for t in range(first, last + 1, 2000)]
        if name == "each-first":
            lost = [t for t in lost if not turn <= t < over]
        assert len(ran) == len(set(ran)) and not set(ran) & set(lost)
        due = [t for t in range(ran[0], ran[-1] + 1, 2000) if name == "each-both" or not turn <= t < over]
        assert set(due) == set(ran) | set(lost), name
    for first, last, count, cause in given_up(n, "each-first"):
        hidden = len([t for t in range(first, last + 1, 2000) if turn <= t < over])
        assert cause == "misfire" and count == (last - first) // 2000 + 1 - hidden
    assert_proved(n, "first", "both", "each-first", "each-both")


@pytest.mark.parametrize("path", ["flock", "dedicated", "none"])
def test_a_clock_put_forward_is_no_storm(node, folder, path):
    """Case 16: an hour forward, and a job of every 5 seconds ran some 720 times in a row."""
    clock = Clock(folder)
    tasks = [task("skip", path, "5s"), task("newest", path, "5s", misfire={"policy": "catch_up", "limit": 3, "lookback": "2h"})]
    n = node({"workers": 2, "tasks": tasks}, env=clock.env).start()
    workers = 2 if path == "none" else 1
    all_run(n, ("skip", "newest"), workers)
    begin = clock.step(HOUR)
    end = begin + HOUR * 1000
    kit.wait_until(lambda: all(len([t for t in runs_of(n, name) if t > end]) >= workers for name in ("skip", "newest")),
                   15, "it goes on by the new time")
    assert n.stop() == 0
    for name, most in (("skip", 1), ("newest", 3)):
        by_process = {}
        for line in n.runs(name):
            by_process.setdefault(process_of(line) if path == "none" else "", []).append(line["planned"])
        assert len(by_process) == workers
        for ran in by_process.values():
            assert len(ran) == len(set(ran)) and ran == sorted(ran), "ascending, none twice"
            old = [t for t in ran if begin < t <= end]
            assert len(old) <= most and (not old or old == list(range(old[0], old[-1] + 1, 5000))), old
        ranges = [r for r in given_up(n, name) if r[0] > begin]
        if path != "none":
            assert len(ranges) == 1 and ranges[0][3] == "misfire"
            assert abs(ranges[0][2] - (720 - len(old))) <= 1, ranges
    assert len({process_of(l) for l in n.lines() if l["e"] == "step"}) == 2, "both workers say so"
    if path != "none":
        assert_proved(n, "skip", "newest")


@pytest.mark.parametrize("policy", ["skip", "catch_up"])
@pytest.mark.parametrize("path", ["flock", "dedicated"])
def test_a_changed_schedule_does_not_run_what_lies_behind(node, folder, path, policy):
    """Case 15: run at 05:35, now it is 10:37; the time is changed to 06:35, or hours become minutes."""
    misfire = {"policy": policy} if policy == "skip" else {"policy": policy, "limit": 10, "lookback": "2d"}
    clock = Clock(folder, "2027-06-15T05:34:58")

    def config(cron, every):
        daily = {k: v for k, v in task("daily", path, misfire=misfire).items() if k != "every"}
        return {"workers": 2, "log": {"dir": str(folder / "log"), "keep": "366d"},
                "tasks": [{**daily, "cron": cron, "first": "next"},
                          task("hours", path, every, misfire=misfire, first="next")]}

    n = node(config("35 5 * * *", "1h"), env=clock.env).start()
    kit.wait_until(lambda: runs_of(n, "daily"), 15, "05:35")
    assert n.stop() == 0
    clock.step((utc_ms("2027-06-15T10:36:30") - clock.now()) / 1000)
    n.configure(config("35 6 * * *", "7m"))
    n.start()
    time.sleep(2)
    assert runs_of(n, "daily") == [utc_ms("2027-06-15T05:35:00")] and runs_of(n, "hours") == []
    assert n.api("/v1/tasks/daily")["next_planned"].startswith("2027-06-16T06:35:00")
    next_hours = n.api("/v1/tasks/hours")["next_planned"]
    at = utc_ms(next_hours[:19])
    clock.step((at - 1000 - clock.now()) / 1000)
    kit.wait_until(lambda: runs_of(n, "hours"), 10, "the new schedule is in force")
    assert n.stop() == 0
    assert runs_of(n, "hours") == [at] and at % 420000 == 0
    assert [cause for *_, cause in given_up(n, "hours")] == ["revised"]
    assert_proved(n, "daily", "hours")
