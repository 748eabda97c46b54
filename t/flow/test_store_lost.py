"""A group's store that lost what it knew starts nothing twice, whoever comes next: a replaced worker, the node's next
life, another node. Who remembers the store halts until a person accepts the loss."""
import os
import pathlib
import signal
import time

import faults
import kit

EVERY = 20


def task(sink, every=f"{EVERY}s", name="t"):
    return {"name": name, "every": every, "singleton": "redis", "timeout": "5s", "http": {"url": sink.url}}


def config(redis, sink, *more, workers=2):
    return {"workers": workers, "redis": {"url": redis.url, "app": "t"}, "tasks": [task(sink), *more]}


def ran_and_emptied(n, redis, sink):
    """One instant of `t` was run, its grace is not over, and Redis has lost everything."""
    kit.wait_until(lambda: sink.by_instant("t"), EVERY + 10, "an instant is run")
    redis.command("FLUSHALL")


def halts(n, word="lost its identity", times=1, seconds=10):
    kit.wait_until(lambda: n.text().count(word) >= times, seconds, f"{word!r} is said")


def each_once(sink):
    for name in ("t", "u"):
        assert set(sink.by_instant(name).values()) <= {1}, sink.by_instant(name)


def near_an_instant():
    """The whole case fits between two instants."""
    kit.wait_until(lambda: time.time() % EVERY > EVERY - 4, EVERY, "an instant is near")


def test_an_emptied_store_stays_halted_when_a_worker_is_replaced(node, redis, sink):
    n = node(config(redis, sink))
    near_an_instant()
    n.start()
    ran_and_emptied(n, redis, sink)
    first = list(n.workers().values())
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    kit.wait_until(lambda: len(set(n.workers().values()) - set(first)) == 2, 15, "both are replaced")
    halts(n, times=2)
    time.sleep(1)
    assert redis.command("DBSIZE") == ":0"
    each_once(sink)
    assert n.stop() == 0


def test_an_emptied_store_stays_halted_over_a_restart_until_a_person_accepts_it(node, redis, sink):
    n = node(config(redis, sink, task(sink, "200ms", "u")))
    near_an_instant()
    n.start()
    ran_and_emptied(n, redis, sink)
    assert n.stop() == 0
    before = n.text().count("lost its identity")
    n.start()
    halts(n, times=before + 2)
    quiet = sum(sink.by_instant("u").values())
    time.sleep(1)
    assert sum(sink.by_instant("u").values()) == quiet and redis.command("DBSIZE") == ":0"
    # Said once by each process, however often it looks again.
    assert n.text().count("lost its identity") == before + 2

    done = faults.recover(n, "--store", "--yes")
    assert done.returncode == 0, done
    kit.wait_until(lambda: sum(sink.by_instant("u").values()) > quiet + 3, 10, "it goes on without a restart")
    assert n.stop() == 0
    n.start()
    again = sum(sink.by_instant("u").values())
    kit.wait_until(lambda: sum(sink.by_instant("u").values()) > again + 3, 10, "also in the next life")
    assert n.stop() == 0
    each_once(sink)
    assert not any(t["duplicates"] for t in n.prove().report["tasks"])


def test_a_stop_while_the_store_is_lost_is_quick_and_leaves_how_runs_ended(node, redis):
    n = node({"workers": 2, "redis": {"url": redis.url, "app": "t"},
              "tasks": [{"name": "long", "every": "1s", "singleton": "redis", "timeout": "30s",
                         "exec": ["/bin/sleep", "2"]}]})
    n.start()
    kit.wait_until(lambda: n.runs("long"), 10, "it runs")
    redis.command("FLUSHALL")
    kit.wait_until(lambda: "to be tried again" in n.text(), 10, "its end cannot be recorded")
    began = time.monotonic()
    assert n.stop() == 0
    assert time.monotonic() - began < 3
    ends = [line["state"] for line in n.lines() if line["e"] == "finish"]
    assert ends == ["succeeded"], ends
    assert n.text().count("lost its identity") == 2 + n.text().count("to be tried again"), n.text()
    assert n.prove().code in (0, 3)


def test_another_node_makes_a_new_store_that_begins_behind_what_was_run(node, redis, sink):
    n = node(config(redis, sink, task(sink, "200ms", "u")), name="one")
    near_an_instant()
    n.start()
    ran_and_emptied(n, redis, sink)
    other = node(config(redis, sink, task(sink, "200ms", "u")), name="two")
    other.start()
    halts(n, "is not the one this node remembers")
    kit.wait_until(lambda: other.runs("u"), 10, "the other node runs what comes after")
    ran = [p for p in sink.by_instant("t")]
    time.sleep(1)
    assert list(sink.by_instant("t")) == ran
    each_once(sink)
    assert other.stop() == 0
    assert n.stop() == 0
    text = other.text()
    assert "halted" not in text, text


def test_what_came_due_without_a_store_is_recorded_for_every_unit(node, redis, folder):
    """Two nodes whose workers go on: none of what nobody could decide is left without a record, and what did run
    before is not called missed."""
    tasks = [{"name": "often", "every": "250ms", "scope": "all", "singleton": "redis", "timeout": "5s", "noop": {}},
             {"name": "long", "every": "1s", "scope": "all", "singleton": "redis", "lease": "2s", "timeout": "10s",
              "exec": ["/bin/sleep", "2.5"]},
             {"name": "shared", "every": "250ms", "singleton": "redis", "timeout": "5s", "noop": {}}]
    nodes = [node({"workers": 2, "redis": {"url": redis.url, "app": "t"}, "tasks": tasks}, name=name)
             for name in ("one", "two")]
    for n in nodes:
        n.start()
    kit.wait_until(lambda: all(len(n.runs("often")) > 8 and n.runs("long") for n in nodes), 15, "all of it runs")
    redis.command("FLUSHALL")
    lost = time.time()
    for n in nodes:
        halts(n, times=2)
    time.sleep(4)
    assert faults.recover(nodes[0], "--store", "--yes").returncode == 0
    back = time.time()
    for n in nodes:
        ran = len(n.runs("often"))
        kit.wait_until(lambda: len(n.runs("often")) > ran + 8, 15, "it goes on")
    for n in nodes:
        assert n.stop() == 0
    proof = kit.prove(nodes[0].logs, nodes[1].logs)
    for t in proof.report["tasks"]:
        assert not t["duplicates"] and not t["missed"], proof.raw
    # By the lines of both nodes: the whole time without a store lies in ranges.
    for name in ("often", "shared"):
        ranges = [(line["first"], line["last"]) for n in nodes for line in n.lines()
                  if line["e"] in ("miss", "skip") and line["task"] == name and line["cause"] in ("ledger_down", "barrier")]
        due = range(int(lost * 4 + 2) * 250, int(back * 1000) - 250, 250)
        uncovered = [p for p in due if not any(first <= p <= last for first, last in ranges)]
        assert len(due) > 12 and not uncovered, (uncovered, ranges)


def test_a_healthy_store_is_not_recovered(node, redis, sink):
    """Nor is one that a person has accepted before: only the first time it gets a new identity."""
    n = node(config(redis, sink, task(sink, "200ms", "u")))
    n.start()
    kit.wait_until(lambda: sink.by_instant("u"), 10, "it runs")

    def identity():
        return redis.command("EVAL", "return redis.status_reply(table.concat(redis.call('HMGET', KEYS[1], 'inc', 'epoch', "
                             "'barrier'), ' '))", "1", "onced:{t:default}:store")

    def unchanged():
        before = identity()
        assert len(before) > 32 and not before.startswith("-"), before
        done = faults.recover(n, "--store", "--yes")
        assert done.returncode == 0 and "nothing was changed" in done.stdout, done
        assert identity() == before
    unchanged()
    assert n.stop() == 0
    redis.command("DEL", "onced:{t:default}:store")
    done = faults.recover(n, "--store", "--yes")
    assert done.returncode == 0 and "Recovered" in done.stdout, done
    unchanged()
    n.start()
    ran = len(sink.by_instant("u"))
    kit.wait_until(lambda: len(sink.by_instant("u")) > ran, 10, "it goes on")
    assert n.stop() == 0
    each_once(sink)


def test_a_first_deployment_leaves_nothing_unexplained(node, redis, sink):
    n = node(config(redis, sink, task(sink, "100ms", "u"), workers=3))
    n.start()
    kit.wait_until(lambda: len(sink.by_instant("u")) > 10, 10, "it runs")
    assert n.stop() == 0
    proof = n.prove()
    assert proof.code == 0, proof.raw
    assert not [line for line in n.lines() if line.get("cause") == "barrier"]
    assert len(list(pathlib.Path(n.config["state_dir"]).glob("store-*[0-9a-f]"))) == 1
