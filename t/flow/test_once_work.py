"""One round of all tasks in one process, and a number of them: what cron or a container starts instead of a node."""
import datetime
import fcntl
import json
import os
import re
import signal
import subprocess
import time

import pytest

import evidence
import kit

PATHS = ("none", "dedicated", "flock", "redis")
LEDGER_PATHS = PATHS[1:]
DAY = "1d"   # nothing of a day's grid becomes due while a test runs, but for one test in some millions


class Alone(kit.Node):
    """The folders and the configuration of a node that is run in rounds."""

    def begin(self, *words):
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen([kit.ONCED, *map(str, words), str(self.config_path)], env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        return self.process

    def once(self, seconds=60):
        return self.begin("once").wait(seconds)

    def work(self, count, interval_ms, seconds=60):
        return self.begin("work", count, interval_ms).wait(seconds)

    def runs_a_command(self):
        kit.wait_until(lambda: [l for l in self.lines() if l["e"] == "child"], 20, "a command runs")

    def records(self):
        """What the ledgers have, as a person is shown it."""
        done = subprocess.run([kit.ONCED, "history", "--json", "-c", str(self.config_path)], capture_output=True,
                              text=True, timeout=60, env=self.env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["occurrences"]


@pytest.fixture
def alone(folder):
    made = []

    def make(tasks, **more):
        made.append(Alone(folder, {"tasks": tasks, **more.pop("config", {})}, name=f"alone{len(made)}", **more))
        return made[-1]

    yield make
    for one in made:
        one.end()
        text = one.text() if one.output.exists() else ""
        assert "AddressSanitizer" not in text and "runtime error:" not in text and "LeakSanitizer" not in text, text
        assert not kit.holders(f"{one.config['state_dir']}/node.lock")


def soon(seconds=1.0):
    """The anchor of a day's grid that has an instant so far ahead; and the time at which it has passed."""
    at = time.time() + seconds
    return datetime.datetime.utcfromtimestamp(at).isoformat(timespec="milliseconds") + "Z", at


def wait_for(at):
    time.sleep(max(0, at - time.time()) + 0.01)


def task(name, path="flock", every=DAY, **more):
    """One that is due at its first look, whenever that is. Not on a new Redis: what such a store was not there for is
    never run."""
    return evidence.task(name, path, every, **{"misfire": {"policy": "skip", "grace": "1d"}, **more})


def on_redis(redis):
    return {"redis": {"url": redis.url, "app": "t"}}


def test_each_due_task_is_run_once_and_no_second_round_runs_it_again(alone, redis):
    anchor, due = soon()
    n = alone([evidence.task(path, path, DAY, anchor=anchor, exec=["/bin/echo", path],
                             scope="auto" if path == "redis" else "all") for path in LEDGER_PATHS],
              config=on_redis(redis))
    assert n.once() == 0 and n.runs("flock") == [], n.text()
    wait_for(due)
    assert n.once() == 0, n.text()
    assert all(len(n.runs(path)) == 1 for path in LEDGER_PATHS), n.lines()
    assert re.search(r"info +once\[\d+\]: 3 succeeded\n", n.text()), n.text()
    said = len(n.text())
    for _ in range(3):
        assert n.once() == 0, n.text()
    assert n.text()[said:] == ""   # nothing was due, nothing is said: cron sends no mail
    assert all(len(n.runs(path)) == 1 for path in LEDGER_PATHS)
    assert sorted((r["task"], r["state"]) for r in n.records()) == [(path, "succeeded") for path in LEDGER_PATHS]
    proof = n.prove()
    assert proof.code == 0 and all(proof.task(path)["verdict"] == "ONCE" for path in LEDGER_PATHS), proof.raw


def test_a_task_of_no_path_remembers_nothing(alone):
    anchor, due = soon()
    n = alone([evidence.task("t", "none", DAY, anchor=anchor)])
    assert n.once() == 0 and n.runs("t") == []
    wait_for(due)
    assert n.once() == 0 and n.once() == 0, n.text()
    runs = n.runs("t")
    assert len(runs) == 2 and runs[0]["planned"] == runs[1]["planned"]
    proof = n.prove()
    assert proof.code == 0 and proof.task("t")["verdict"] == "NOT SINGLE", proof.raw


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_rounds_in_a_row_prove_once_and_name_what_lay_between(alone, redis, path):
    n = alone([evidence.task("t", path, "200ms")], config=on_redis(redis))
    for _ in range(6):
        assert n.once() == 0, n.text()
        time.sleep(0.35)
    planned = evidence.runs_of(n, "t")
    assert planned == sorted(set(planned)) and len(planned) >= 4
    given_up = [(l["first"], l["last"], l["cause"]) for l in n.lines() if l["e"] in ("skip", "miss")]
    assert given_up and {cause for _, _, cause in given_up} == {"misfire"}
    for gap in kit.gaps(planned, 200):
        assert any(first <= gap <= last for first, last, _ in given_up), (gap, given_up)
    proof = n.prove()
    assert proof.code == 0 and proof.task("t")["executions"] >= 3, proof.raw


def test_a_cron_task_is_run_by_its_schedule(alone):
    n = alone([{"name": "t", "cron": "* * * * * *", "timeout": "5s", "singleton": "flock", "noop": {}}])
    assert n.once() == 0, n.text()
    planned = evidence.runs_of(n, "t")
    assert len(planned) == 1 and planned[0] % 1000 == 0


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_a_backlog_is_caught_up_with_in_one_round(alone, redis, path):
    n = alone([evidence.task("t", path, "200ms", first="next",
                             misfire={"policy": "catch_up", "limit": 5, "lookback": "1h"}, exec=["/bin/true"])],
              config=on_redis(redis))
    assert n.once() == 0, n.text()
    begun = evidence.runs_of(n, "t")     # what came due while it began
    assert len(begun) <= 1, n.text()
    time.sleep(2.2)
    assert n.once() == 0, n.text()
    planned = evidence.runs_of(n, "t")[len(begun):]
    assert planned[1:] == [t + 200 for t in planned[:-1]] and len(planned) >= 5, planned
    assert [l["planned"] for l in n.runs("t")] == begun + planned
    skips = [l for l in n.lines() if l["e"] == "skip"]
    assert [l["cause"] for l in skips] == ["misfire"]
    assert skips[0]["last"] == planned[0] - 200 and skips[0]["count"] >= 4
    assert n.prove().code == 0


def test_a_round_is_not_bounded_by_the_limits_of_a_turn(alone):
    n = alone([task(f"t{i:02}", every=DAY) for i in range(30)], config={"tick_limit": 2, "max_handles": 1})
    assert n.once() == 0, n.text()
    assert "30 succeeded" in n.text()


def test_what_waits_in_a_queue_is_run_by_the_next_round(alone):
    """Two wait when the process that had queued them is killed in its run."""
    n = alone([evidence.task("t", "flock", "200ms", first="next", overlap="queue",
                             misfire={"policy": "catch_up", "limit": 3, "lookback": "1h"},
                             exec=["/bin/sleep", "20"], timeout="30s")])
    assert n.once() == 0
    time.sleep(1)
    n.begin("once")
    kit.wait_until(lambda: len([l for l in n.lines() if l["e"] == "attempt" and l["out"] == "queued"]) >= 2, 20,
                   "two wait")
    n.runs_a_command()
    n.process.kill()
    n.process.wait(20)
    waiting = [l["planned"] for l in n.lines() if l["e"] == "attempt" and l["out"] == "queued"]
    n.config["tasks"][0]["exec"] = ["/bin/true"]
    n.configure(n.config)
    assert n.once() == 70, n.text()   # of the one that was killed
    ran = [l["planned"] for l in n.runs("t")]
    assert set(waiting) <= set(ran) and ran == sorted(set(ran)), (waiting, ran)
    assert n.prove().code == 0


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_a_first_round_begins_with_what_it_runs_and_proves_it(alone, redis, path):
    catch_up = {"policy": "catch_up", "limit": 1, "lookback": "1h"}
    n = alone([evidence.task("t", path, "1s", misfire=catch_up)], config=on_redis(redis))
    assert n.once() == 0, n.text()
    assert not [l for l in n.lines() if l["e"] in ("skip", "miss") and l["count"] > 5], n.lines()
    if path == "redis":
        return   # what was due before a store of a group was made is never run
    assert len(n.runs("t")) == 1
    proof = n.prove()
    assert proof.code == 0 and proof.report["verdict"] == "ONCE" and proof.task("t")["executions"] == 1, proof.raw


def test_what_a_round_told_of_a_barrier_no_other_tells_again(alone, redis):
    n = alone([evidence.task("t", "redis", "500ms", misfire={"policy": "skip", "grace": "20s"})], config=on_redis(redis))
    assert n.once() == 0, n.text()
    time.sleep(1)
    redis.end()
    redis.start()
    assert n.once() == 70, n.text()
    assert "unknown (barrier): may have run before Redis restarted" in n.text()
    told = [l for l in n.lines() if l["e"] in ("skip", "miss")]
    assert "barrier" in {l["cause"] for l in told}
    said = len(n.text())
    assert n.once() == 0, n.text()
    assert "barrier" not in n.text()[said:] and not [l for l in n.lines() if l["e"] in ("skip", "miss") and "of" in l]
    assert n.prove().code == 0


@pytest.mark.parametrize("words, code", [
    (("once",), 64), (("once", "a.yaml", "b.yaml"), 64), (("once", "--now", "a.yaml"), 64),
    (("work",), 64), (("work", "5", "a.yaml"), 64), (("work", "0", "200", "a.yaml"), 64),
    (("work", "1000001", "200", "a.yaml"), 64), (("work", "-1", "200", "a.yaml"), 64),
    (("work", "1x", "200", "a.yaml"), 64), (("work", "", "200", "a.yaml"), 64),
    (("work", "1", "9", "a.yaml"), 64), (("work", "1", "86400001", "a.yaml"), 64),
    (("work", "1", "99999999999999999999999", "a.yaml"), 64),
    (("once", "/nowhere/a.yaml"), 78), (("work", "1", "200", "/nowhere/a.yaml"), 78)])
def test_what_cannot_be_meant_is_refused(folder, words, code):
    done = subprocess.run([kit.ONCED, *words], capture_output=True, text=True, timeout=20, cwd=folder)
    assert done.returncode == code and done.stderr, done
    assert (f"onced {words[0]}: " in done.stderr) == (code == 64) and not list(folder.iterdir())


def test_a_configuration_that_run_refuses_is_refused(alone):
    n = alone([{"name": "a", "every": "nonsense", "timeout": "1s", "noop": {}}])
    assert n.once() == 78 and "nonsense" in n.text()
    later = alone([{"name": "a", "every": "1s", "timeout": "1s", "call": "f"}])
    assert later.once() == 78, later.text()
    assert not (later.folder / "state").exists()


@pytest.mark.parametrize("command, state", [(["/bin/false"], "failed"), (["/bin/sh", "-c", "kill -9 $$"], "failed")])
def test_a_run_that_fails_shows_in_the_exit_code(alone, command, state):
    n = alone([task("bad", exec=command), task("good", exec=["/bin/true"])])
    assert n.once() == 70, n.text()
    assert f"1 succeeded, 1 {state}" in n.text(), n.text()
    assert n.once() == 0   # and is the matter of its round


def test_a_folder_that_cannot_be_is_said(alone):
    n = alone([task("t")])
    (n.folder / "state").write_text("a file")
    assert n.once() == 73 and "state_dir" in n.text()


def test_a_log_file_that_cannot_be_is_said_and_one_that_can_is_used(alone):
    n = alone([task("t")])
    n.configure({**n.config, "log": {"dir": n.logs, "to": "file"}})
    log = n.folder / "log/onced.log"
    log.mkdir(parents=True)
    assert n.once() == 73 and "onced.log" in n.text()
    log.rmdir()
    assert n.once() == 0 and "1 succeeded" in log.read_text()


def test_of_two_at_once_one_is_refused_and_disturbs_nothing(alone):
    n = alone([task("t", exec=["/bin/sleep", "2"])])
    first = n.begin("once")
    kit.wait_until(lambda: n.runs("t"), 20, "it runs")
    assert n.begin("once").wait(20) == 75
    assert n.begin("work", 3, 10).wait(20) == 75
    assert f"held by another instance, pid {first.pid}" in n.text()
    assert first.wait(30) == 0, n.text()
    assert len(n.runs("t")) == 1 and len(evidence.finishes(n, "t", "succeeded")) == 1


def test_while_a_node_runs_a_round_is_refused_and_the_other_way_round(alone):
    n = alone([evidence.task("t", "flock", "100ms")])
    n.start()
    master, workers = n.process, n.workers()
    evidence.waits_for_runs(n, "t")
    assert n.begin("once").wait(20) == 75 and n.begin("work", 2, 100).wait(20) == 75
    n.process = master
    evidence.waits_for_runs(n, "t")
    assert n.workers() == workers and n.stop() == 0
    assert n.once() == 0, n.text()          # the node is gone: now it may
    n.configure({**n.config, "tasks": [evidence.task("t", "flock", "100ms", exec=["/bin/sleep", "2"])]})
    time.sleep(0.2)
    solo = n.begin("once")
    n.runs_a_command()
    assert n.begin("run").wait(20) == 75
    assert solo.wait(30) == 0
    proof = n.prove()
    assert proof.code == 0, proof.raw


@pytest.mark.parametrize("path", LEDGER_PATHS)
def test_a_run_that_died_with_its_process_is_recorded_by_the_next_round(alone, redis, path):
    anchor, due = soon()
    n = alone([evidence.task("t", path, DAY, anchor=anchor, exec=["/bin/sleep", "600"], timeout="20m")],
              config=on_redis(redis))
    assert n.once() == 0
    wait_for(due)
    n.begin("once")
    n.runs_a_command()
    tree = kit.descendants_of(n.pid)
    n.process.kill()
    n.process.wait(20)
    assert n.once() == 70, n.text()
    assert "1 interrupted" in n.text()
    assert not any(map(kit.alive, tree))
    ends = [(l["state"], l["cause"]) for l in evidence.finishes(n, "t")]
    assert ends == [("interrupted", "worker_died")] and len(n.runs("t")) == 1
    assert n.once() == 0
    proof = n.prove()
    assert proof.code == 0 and proof.report["verdict"] == "ONCE", proof.raw


def test_rounds_come_on_their_grid_and_each_runs_what_is_due(alone):
    n = alone([evidence.task("t", "flock", "100ms")])
    began = time.monotonic()
    assert n.work(5, 200) == 0, n.text()
    assert time.monotonic() - began > 0.7   # four intervals, less what a slow start takes away
    planned = [l["planned"] for l in n.runs("t")]
    assert planned == sorted(set(planned)) and 4 <= len(planned) <= 6, planned
    rounds = re.findall(r"work\[\d+\]: round (\d): ", n.text())
    assert rounds == sorted(set(rounds)) and set(rounds) <= set("12345") and len(rounds) >= 4, n.text()
    assert {l["cause"] for l in n.lines() if l["e"] in ("skip", "miss")} <= {"misfire"}
    assert len({evidence.process_of(l) for l in n.lines()}) == 1
    proof = n.prove()
    assert proof.code == 0, proof.raw


def test_a_round_longer_than_the_interval_takes_the_place_of_others(alone):
    n = alone([evidence.task("t", "flock", "50ms", exec=["/bin/sleep", "0.5"])])
    assert n.work(3, 100) == 0, n.text()
    runs = evidence.intervals([n], "t")
    assert 3 <= len(runs) <= 6 and evidence.most_at_once(runs) == 1


def test_nothing_is_begun_between_rounds(alone):
    n = alone([evidence.task("t", "none", "50ms"), evidence.task("u", "dedicated", "50ms"),
               evidence.task("v", "flock", "50ms", overlap="queue")])
    n.begin("work", 2, 3000)
    kit.wait_until(lambda: "round 1: " in n.text(), 20, "the first round")
    ran = {name: len(n.runs(name)) for name in "tuv"}
    time.sleep(1.6)
    assert {name: len(n.runs(name)) for name in "tuv"} == ran
    assert n.process.wait(30) == 0
    assert all(len(n.runs(name)) > ran[name] for name in "tuv")
    assert n.prove().code == 0


def test_worse_rounds_show_in_the_exit_code_of_all(alone, folder):
    mark = folder / "mark"
    command = f"test -e {mark} || {{ touch {mark}; exit 1; }}"
    n = alone([evidence.task("t", "flock", "100ms", exec=["/bin/sh", "-c", command])])
    assert n.work(4, 200) == 70, n.text()
    assert evidence.finishes(n, "t", "succeeded") and len(evidence.finishes(n, "t", "failed")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_lets_what_runs_end_and_begins_nothing_more(alone, number):
    n = alone([evidence.task("t", "flock", "100ms", exec=["/bin/sleep", "1"])])
    n.begin("work", 1000, 100)
    n.runs_a_command()
    n.send(number)
    assert n.process.wait(30) == 0, n.text()
    assert "asked to stop, with 1 occurrence at work" in n.text()
    assert len(n.runs("t")) == 1 and len(evidence.finishes(n, "t", "succeeded")) == 1
    assert n.prove().report["verdict"] in ("ONCE", "NOTHING")


def test_a_signal_between_rounds_ends_at_once(alone):
    n = alone([task("t")])
    n.begin("work", 2, 86400000)
    kit.wait_until(lambda: "round 1: 1 succeeded" in n.text(), 20, "the first round")
    n.send(signal.SIGTERM)
    assert n.process.wait(20) == 0, n.text()


STUBBORN = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]


@pytest.mark.parametrize("numbers, drain", [
    ((signal.SIGTERM,), "1s"), ((signal.SIGTERM, signal.SIGTERM), "10m"), ((signal.SIGQUIT,), "10m")])
def test_what_does_not_end_is_stopped(alone, numbers, drain):
    n = alone([task("t", exec={"argv": STUBBORN, "kill_after": "200ms"}, timeout="20m")],
              config={"drain_timeout": drain})
    n.begin("once")
    n.runs_a_command()
    tree = kit.descendants_of(n.pid)
    for number in numbers:
        n.send(number)
        time.sleep(0.3)   # two that come together are one
    assert n.process.wait(30) == 70, n.text()
    assert [(l["state"], l["cause"]) for l in evidence.finishes(n, "t")] == [("interrupted", "stopped")]
    assert not any(map(kit.alive, tree))


def test_no_zombie_is_left_while_rounds_go_on(alone):
    n = alone([evidence.task("t", "flock", "100ms", exec=["/bin/sh", "-c", "sleep 0.01 & exit 0"])])
    n.begin("work", 8, 100)
    kit.wait_until(lambda: len(n.runs("t")) >= 4, 20, "some rounds")
    n.send(signal.SIGSTOP)
    states = [stat[0] for pid in os.listdir("/proc") if pid.isdigit()
              for stat in [kit.stat_of(int(pid))] if stat and stat[1] == n.pid]
    n.send(signal.SIGCONT)
    assert states.count("Z") <= 1, states   # one that ended just now
    assert n.process.wait(30) == 0, n.text()


def test_redis_that_is_away_is_said_and_the_rest_is_run(alone, redis):
    n = alone([evidence.task("here", "flock", "100ms"), evidence.task("there", "redis", "100ms")],
              config={**on_redis(redis), "boot_timeout": "2s"})
    assert n.once() == 0
    time.sleep(0.2)
    assert n.once() == 0 and len(n.runs("there")) >= 1, n.text()
    redis.process.kill()
    redis.process.wait(10)
    before = len(n.runs("there"))
    time.sleep(0.5)
    assert n.once() == 70, n.text()
    assert n.prove().task("there")["missed"] == 0   # what nobody could look at is not yet to be judged
    assert "its tasks do not run" in n.text()
    assert n.runs("here") and len(n.runs("there")) == before
    redis.start()
    assert n.once() in (0, 70), n.text()   # of the newest instant before its return it may not be known whether it ran
    time.sleep(0.2)
    assert n.once() == 0 and len(n.runs("there")) > before, n.text()
    proof = n.prove()
    assert proof.code == 0, proof.raw


def test_redis_that_goes_between_rounds_leaves_its_units_undecided(alone, redis):
    n = alone([evidence.task("here", "flock", "100ms"), evidence.task("there", "redis", "100ms")],
              config={**on_redis(redis), "boot_timeout": "2s"})
    n.begin("work", 3, 2500)
    kit.wait_until(lambda: "round 1: " in n.text(), 20, "the first round")
    redis.process.kill()
    redis.process.wait(10)
    assert n.process.wait(60) == 70, n.text()
    assert "task there: not decided in this round: ledger_down" in n.text(), n.text()
    assert len(n.runs("here")) >= 2 and len(n.runs("there")) <= 1


def test_a_ledger_that_is_held_by_another_program_is_said(alone):
    n = alone([task("t")], config={"boot_timeout": "1s"})
    assert n.once() == 0
    with open(f"{n.config['state_dir']}/ledger.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        solo = n.begin("once")
        kit.wait_until(lambda: "boot_timeout" in n.text(), 20, "it is said")
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert solo.wait(30) == 70, n.text()


def test_a_halted_ledger_is_said(alone):
    n = alone([task("t")])
    assert n.once() == 0
    (n.folder / "state/ledger.db").write_bytes(b"not a database at all" * 500)
    assert n.once() == 78 and "onced recover" in n.text(), n.text()


def test_a_start_counts_as_the_start_of_a_node_does(alone):
    def life():
        return int(re.search(r"^life (\d+)$", (n.folder / "state/node_id").read_text(), re.M)[1])
    n = alone([task("t")])
    assert n.once() == 0
    first = life()
    assert n.work(2, 10) == 0 and life() == first + 1
    n.start()
    assert n.stop() == 0 and life() == first + 2
    assert n.once() == 0 and life() == first + 3
    text = (n.folder / "state/node_id").read_text()
    assert "clean 1" in text and (n.folder / "run/witness").read_text() == text
    assert len(n.runs("t")) == 1


def test_old_trigger_logs_are_tidied_by_rounds_as_well(alone):
    n = alone([task("t")])
    n.configure({**n.config, "log": {"dir": n.logs, "keep": "1d"}})
    assert n.once() == 0
    old = next((n.folder / "log/triggers").glob("*.jsonl"))
    os.utime(old, (time.time() - 3 * 86400,) * 2)
    assert n.once() == 0, n.text()
    assert not old.exists()
