"""Entries and scripts that onced itself writes to Redis: one a planned instant, whatever becomes of replies, and none
by a run that was taken over."""
import os
import signal
import sys

import pytest

import kit
import wire

sys.path.append(str(kit.SOURCE / "t/chaos"))
from redis_wire import Wire  # noqa: E402


def config(url, every="1s", lease="30s", workers=4, **what):
    return {"workers": workers, "redis": {"url": url, "app": "t"},
            "tasks": [{"name": "t", "every": every, "singleton": "redis", "timeout": "20s", "lease": lease, "first": "next",
                       **(what or {"redis": {"stream": "events", "fields": {"kind": "tick"}}})}]}


def entries(server, stream="events"):
    with Wire(server.port) as redis:
        return [dict(zip(flat[::2], flat[1::2])) for _, flat in redis("XRANGE", stream, "-", "+")]


def instants(server):
    return [int(e["planned"]) for e in entries(server)]


def finishes(*nodes):
    return [l for n in nodes for l in n.lines() if l["e"] == "finish"]


def prove(*nodes):
    first, *others = (n.logs for n in nodes)
    return kit.prove(first, *others)


def test_two_nodes_write_one_entry_for_each_instant(node, redis):
    nodes = [node(config(redis.url), name=name).start() for name in ("one", "two")]
    kit.wait_until(lambda: len(instants(redis)) >= 6, 15, "six entries")
    assert [n.stop() for n in nodes] == [0, 0]

    found = entries(redis)
    planned = [int(e["planned"]) for e in found]
    assert planned == list(range(planned[0], planned[-1] + 1000, 1000))
    fences = [int(e["fence"]) for e in found]
    assert fences == sorted(set(fences))
    runs = {l["occ"]: l for n in nodes for l in n.runs("t")}
    for e in found:
        run = runs[e["occurrence"]]
        assert (e["trigger"], e["task"], e["shard"], e["shards"], e["kind"]) == (run["trig"], "t", "0", "1", "tick")
        assert e["trigger"].startswith(e["node"] + ".") and e["fence"] == run["fence"]
    proof = prove(*nodes)
    assert proof.is_clean and proof.report["verdict"] == "ONCE", proof.raw


class EffectWire(wire.Wire):
    """Loses the replies to requests that name the stream, when armed."""
    armed = False

    def pump(self, source, target, replies):
        super().pump(source if replies else Listener(self, source), target, replies)


class Listener:
    """A socket that is looked over the shoulder."""

    def __init__(self, owner, inner):
        self.owner, self.inner = owner, inner

    def recv(self, size):
        data = self.inner.recv(size)
        if self.owner.armed and b"events" in data:
            self.owner.armed = False
            self.owner.lose_replies = True
        return data

    def shutdown(self, how):
        self.inner.shutdown(how)


def test_an_entry_whose_reply_was_lost_is_not_written_again(node, redis):
    between = EffectWire(redis.port)
    try:
        # Commands have a sixth of the lease.
        n = node(config(between.url, "500ms", lease="2s")).start()
        kit.wait_until(lambda: instants(redis), 10, "an entry")
        for _ in range(3):
            before = between.swallowed
            between.armed = True
            kit.wait_until(lambda: between.swallowed > before, 10, "a reply is lost")
            between.heal()
            seen = len(finishes(n))
            kit.wait_until(lambda: len(finishes(n)) > seen + 1, 10, "runs go on")
        assert n.stop() == 0
    finally:
        between.end()

    planned = instants(redis)
    assert len(planned) == len(set(planned))
    ended = [l for l in finishes(n)]
    assert sorted(e["occurrence"] for e in entries(redis)) == sorted(l["occ"] for l in ended)
    assert all(l["state"] == "succeeded" for l in ended), ended
    assert n.prove().is_clean


@pytest.mark.fault_points
def test_a_holder_that_stood_still_is_fenced(node, redis, folder):
    once = folder / "once"
    marker = folder / "once.line-written"
    # The stop comes between the run line and the effect: this process has no other look at its lease in between.
    one = node(config(redis.url, lease="1s", workers=1), name="one",
               env={"ONCED_FAULT": "line-written:stop", "ONCED_FAULT_ONCE": str(once)}).start()
    stopped = int(kit.wait_until(lambda: marker.exists() and marker.read_text().strip(), 10, "it stands still"))
    stale = one.runs("t")[-1]
    two = node(config(redis.url, lease="1s", workers=1), name="two").start()
    try:
        kit.wait_until(lambda: any(l["planned"] > stale["planned"] for l in finishes(two) if l["state"] == "succeeded"), 9,
                       "the other node takes over")
        assert stale["occ"] not in [e["occurrence"] for e in entries(redis)]
    finally:
        os.kill(stopped, signal.SIGCONT)
    own = kit.wait_until(lambda: [l for l in finishes(one) if l["occ"] == stale["occ"]], 10, "it says how its run ended")
    assert [(l["state"], l["cause"]) for l in own] == [("interrupted", "lease_lost")]
    assert "nothing was written" in own[0]["error"], own
    kit.wait_until(lambda: len(instants(redis)) >= 4, 10, "entries go on")
    assert [one.stop(), two.stop()] == [0, 0]

    found = entries(redis)
    assert stale["occ"] not in [e["occurrence"] for e in found]
    assert all(int(e["fence"]) > int(stale["fence"]) for e in found)
    fences = [int(e["fence"]) for e in found]
    assert fences == sorted(set(fences))
    proof = prove(one, two)
    assert proof.code == 0 and proof.report["verdict"] in ("ONCE", "EXPLAINED"), proof.raw
    assert proof.task("t")["interrupted"] == 1, proof.raw


def test_a_script_runs_once_for_each_instant_and_its_failure_is_told(node, redis, folder):
    script = folder / "tally.lua"
    script.write_text("""
        if onced.shard == '1' then
          error('no such shard')
        end
        redis.call('SADD', KEYS[1], onced.planned)
        return redis.call('INCRBY', KEYS[2], ARGV[1])
        """)
    n = node(config(redis.url, shards=2, redis={"script": str(script), "keys": ["seen", "sum"], "args": ["10"]})).start()
    kit.wait_until(lambda: len(finishes(n)) >= 8, 15, "four instants")
    script.write_text("error('another text than was checked')")
    seen = len(finishes(n))
    kit.wait_until(lambda: len(finishes(n)) >= seen + 4, 10, "two more")
    assert n.stop() == 0

    good, bad = ([l for l in finishes(n) if l["shard"] == shard] for shard in (0, 1))
    with Wire(redis.port) as server:
        assert sorted(map(int, server("SMEMBERS", "seen"))) == sorted(l["planned"] for l in good)
        assert int(server("GET", "sum")) == 10 * len(good)
    assert all(l["state"] == "succeeded" for l in good), good
    assert all((l["state"], l["cause"], l["error"]) == ("failed", "status", "script:3: no such shard") for l in bad), bad
    assert "script:3: no such shard" in n.text()


def test_a_server_that_is_away_is_waited_for(node, redis):
    n = node(config(redis.url, "1s", workers=2)).start()
    kit.wait_until(lambda: instants(redis), 10, "an entry")
    for _ in range(3):
        with Wire(redis.port) as server:
            server("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        seen = len(finishes(n))
        kit.wait_until(lambda: len(finishes(n)) > seen + 1, 10, "runs go on")
    assert n.stop() == 0
    planned = instants(redis)
    assert len(planned) == len(set(planned))
    assert all(l["state"] == "succeeded" for l in finishes(n)), finishes(n)
    assert n.prove().is_clean
