"""Processes stand still for seconds and go on: all of a node, or all of a kind. Nobody is taken for hung who could not
run, nothing runs twice, and what was due meanwhile becomes what the policy says."""
import contextlib
import os
import signal
import time

import pytest

import kit
from evidence import all_run, runs_of, task

PAUSE_S = 5

# name -> (interval in ms, how many of those that are overdue may run, task)
TASKS = {
    "fast": (100, 1, {}),
    "slow": (1000, 1, {}),
    "timer": (1000, 1, {"path": "dedicated"}),
    "fast-newest": (100, 3, {"misfire": {"policy": "catch_up", "limit": 3, "lookback": "1m"}}),
    "slow-newest": (1000, 3, {"misfire": {"policy": "catch_up", "limit": 3, "lookback": "1m"}}),
    "fast-all": (100, 1000, {"misfire": {"policy": "catch_up", "limit": 1000, "lookback": "1m"}}),
    "slow-all": (1000, 1000, {"misfire": {"policy": "catch_up", "limit": 1000, "lookback": "1m"}}),
}


@pytest.fixture
def paused(node):
    """A node whose processes are never left stopped, whatever the test finds."""
    tasks = [task(name, every=f"{every}ms", first="next", **more) for name, (every, _, more) in TASKS.items()]
    n = node({"workers": 3, "hang_timeout": "3s", "tasks": tasks})
    n.start()
    stopped = []

    def pause(pids):
        """The processes stand still; gives back since when none of them has run, and until when, in ms."""
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        for pid in pids:
            kit.wait_until(lambda p=pid: (kit.stat_of(p) or "T")[0] == "T", 5, f"{pid} has stopped")
        begin = time.time() * 1000
        time.sleep(PAUSE_S)
        end = time.time() * 1000
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        return begin, end

    yield n, pause
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def people(n):
    return {n.pid, *n.titles()}


def given_up(n, name):
    """Planned instants in range records: instant -> cause"""
    every = TASKS[name][0]
    found = {}
    for line in n.lines():
        if line["e"] in ("skip", "miss") and line["task"] == name:
            for t in range(line["first"], line["last"] + 1, every):
                assert t not in found, f"{name}: {t} is given up twice"
                found[t] = (line["cause"], line["first"])
    return found


@pytest.mark.parametrize("first", ["master", "workers"])
def test_a_node_that_stood_still_goes_on_by_its_policies(paused, first):
    """Whoever runs again first: the master must not judge beats of processes that could not beat."""
    n, pause = paused
    all_run(n, TASKS, 2)
    before = people(n)
    rest = sorted(before - {n.pid})
    begin, end = pause([n.pid, *rest] if first == "master" else [*rest, n.pid])
    all_run(n, TASKS, 3)
    assert people(n) == before, "nobody was replaced"
    assert n.stop() == 0
    assert "stood still" in n.text() and "and is ended" not in n.text()
    for name, (every, most, _) in TASKS.items():
        ran = runs_of(n, name)
        assert len(ran) == len(set(ran)), f"{name}: an instant twice"
        lost = given_up(n, name)
        assert not set(ran) & set(lost), name
        assert set(range(ran[0], ran[-1] + 1, every)) <= set(ran) | set(lost), f"{name}: an instant without a word"
        # Due while nobody ran, and not so near to an edge that a process may still, or already, have been there.
        overdue = [t for t in range(ran[0], ran[-1] + 1, every) if begin + 200 < t < end - 50]
        late = [t for t in overdue if t in ran]
        if most == 1000:
            assert late == overdue, f"{name}: catch_up runs all of them"
        elif most == 1:
            assert not [t for t in late if t <= end - every], f"{name}: only the newest may run"
        else:
            assert 1 <= len(late) <= most and late == overdue[-len(late):], f"{name}: the newest {most}"
        causes = {lost[t][0] for t in overdue if t in lost}
        assert causes <= {"nobody"}, f"{name}: {causes}"
        assert len({lost[t][1] for t in overdue if t in lost}) <= 1, f"{name}: one range record"
    proof = n.prove()
    assert proof.report["verdict"] in ("ONCE", "EXPLAINED") and proof.code == 0, proof.raw


def test_a_pause_of_the_master_and_console_is_none_of_the_workers(paused):
    n, pause = paused
    before = people(n)
    all_run(n, TASKS, 2)
    pause([n.pid, n.console()])
    assert people(n) == before
    all_run(n, TASKS, 2)
    assert people(n) == before
    assert n.stop() == 0
    for name, (every, _, _) in TASKS.items():
        ran = runs_of(n, name)
        lost = given_up(n, name)
        assert ran == [t for t in range(ran[0], ran[-1] + 1, every) if t not in lost], name
        assert not [t for t, (cause, _) in lost.items() if cause == "nobody"], name
    proof = n.prove()
    assert proof.code == 0, proof.raw
