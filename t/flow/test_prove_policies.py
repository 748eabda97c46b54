"""The proof over what policies and clocks do: overlap, queues, zones, steps of the wall clock."""
import os
import signal
import subprocess

import kit
from clockwork import HOUR, Clock
from evidence import task, waits_for_runs
from test_prove import adds_up

EACH_SECOND = "* * * * * *"


def table(n):
    done = subprocess.run([kit.ONCED, "prove", n.logs], capture_output=True, text=True, timeout=60)
    return done.stdout


def steps_of(n, least):
    kit.wait_until(lambda: sum(l["e"] == "step" for l in n.lines()) >= least, 10, "the step is noticed")


def test_the_figures_of_each_overlap_policy(node):
    sleeps = {"exec": ["/bin/sleep", "0.7"], "singleton": "flock", "every": "200ms", "timeout": "10s"}
    n = node({"workers": 3, "tasks": [
        {"name": "drop", "overlap": "drop", **sleeps}, {"name": "queue", "overlap": "queue", **sleeps},
        {"name": "both", "overlap": {"policy": "concurrent", "max_running": 2}, **sleeps}]}).start()
    waits_for_runs(n, "queue", 6)
    assert n.stop() == 0
    proof = n.prove()
    told = {name: proof.task(name) for name in ("drop", "queue", "both")}
    assert proof.code == 0 and all(adds_up(t) and not t["findings"] for t in told.values()), proof.raw
    assert all(t["executions"] >= t["done"] > 2 for t in told.values()), told
    assert told["drop"]["dropped"] > 5 and told["drop"]["queued"] == told["drop"]["crossing"] == 0, told
    assert told["queue"]["queued"] > 5 and told["queue"]["dropped"] == told["queue"]["crossing"] == 0, told
    assert told["queue"]["waited"]["runs"] > 3 and told["queue"]["waited"]["max_us"] > 1000000, told
    assert told["both"]["crossing"] > 3 and told["both"]["dropped"] > 3, told
    shown = table(n)
    assert " CROSSING " in shown and " DROPPED " in shown and " QUEUED " in shown and "still queued\n" in shown


def test_what_waited_is_run_by_the_next_life_and_once(node):
    n = node({"workers": 2, "tasks": [
        {"name": "q", "overlap": "queue", "exec": ["/bin/sleep", "0.5"], "singleton": "flock", "every": "300ms",
         "timeout": "10s"}]}).start()
    waits_for_runs(n, "q", 5)
    assert n.stop() == 0
    waiting = n.prove().task("q")["queued"]
    assert waiting > 1
    n.start()
    waits_for_runs(n, "q", waiting + 1)
    assert n.stop() == 0
    proof = n.prove()
    assert proof.code == 0 and proof.task("q")["missed"] == proof.task("q")["duplicates"] == 0, proof.raw
    assert proof.task("q")["waited"]["runs"] > waiting and "BACK" not in proof.task("q")["findings"], proof.raw


def test_a_zone_that_is_not_here_is_said_and_judged_by_nobody(node, folder):
    n = node({"workers": 2, "tasks": [
        {"name": "z", "cron": EACH_SECOND, "tz": "Europe/Berlin", "singleton": "flock", "timeout": "1s", "noop": {}},
        task("f")]}).start()
    waits_for_runs(n, "z", 3)
    assert n.stop() == 0
    proof = n.prove()
    told = proof.task("z")
    assert proof.code == 0 and told["verdict"] in ("ONCE", "EXPLAINED") and told["expected"] >= 2, proof.raw
    assert told["schedule"] == f"cron {EACH_SECOND} tz Europe/Berlin" and not proof.report["remarks"], proof.raw
    empty = folder / "zones"
    empty.mkdir()
    done = subprocess.run([kit.ONCED, "prove", n.logs], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TZDIR": str(empty)})
    assert done.returncode == 3, done
    assert "UNKNOWN z: its zone Europe/Berlin is not on this machine" in done.stdout, done.stdout


def test_a_clock_that_was_set_is_named_and_wrongs_nobody(node, folder):
    clock = Clock(folder)
    n = node({"workers": 2, "tasks": [task("f", every="200ms"),
                                      task("c", every="200ms", misfire={"policy": "catch_up", "limit": 3})]},
             env=clock.env).start()
    for name in "fc":
        waits_for_runs(n, name, 5)
    clock.step(HOUR)
    steps_of(n, 2)
    for name in "fc":
        waits_for_runs(n, name, 5)
    clock.step(-2)
    steps_of(n, 4)
    for name in "fc":
        waits_for_runs(n, name, 5)
    assert n.stop() == 0
    proof = n.prove()
    assert proof.code == 0, proof.raw
    steps = proof.report["steps"]
    assert [(round(s["jump_ms"] / 1000), s["processes"]) for s in steps] == [(3600, 2), (-2, 2)], steps
    assert "its clock was set forward by 3600.0" in table(n) and "its clock was set back by 2.0" in table(n)
    for name in "fc":
        told = proof.task(name)
        assert adds_up(told) and told["missed"] == told["duplicates"] == 0 and not told["findings"], told
        assert told["given_up"]["misfire"] > 17000 and told.get("late_us", {"max": 0})["max"] < 60000000, told


def test_the_life_after_a_step_back_follows_the_one_before(node, folder):
    """Killed as a whole, an hour back: what was decided stays so, and nobody still runs."""
    clock = Clock(folder)
    n = node({"workers": 2, "tasks": [task("f", every="200ms")]}, env=clock.env).start()
    waits_for_runs(n, "f", 10)
    clock.step(-HOUR)
    steps_of(n, 2)
    n.stop(signal.SIGKILL)
    kit.wait_until(lambda: not kit.holders(f"{n.config['state_dir']}/node.lock"), 10, "nobody is left")
    n.start()
    clock.step(HOUR)
    waits_for_runs(n, "f", 5)
    assert n.stop() == 0
    proof = n.prove()
    told = proof.task("f")
    assert proof.code == 0 and told["missed"] == told["duplicates"] == told["running"] == 0, proof.raw
    assert told["once"] > 10 and "not_judged" not in told and adds_up(told), proof.raw
