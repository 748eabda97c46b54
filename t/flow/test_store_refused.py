"""A server that cannot be trusted with claims is refused by name, at the start as well as when it turns so under a
running node: nothing is claimed, no store is made, local tasks run on, and when it is cured work goes on by itself."""
import os
import shutil
import signal
import time

import pytest

import kit
import wire

OLD = (b"redis_version:7.0.15", b"redis_version:6.0.16")   # of one length: it is in the middle of a counted text


class OldServer(wire.Wire):
    """The server behind it says that it is an old one."""
    is_old = False

    def pump(self, source, target, replies):
        super().pump(Liar(self, source) if replies else source, target, replies)


class Liar:
    def __init__(self, owner, inner):
        self.owner, self.inner = owner, inner

    def recv(self, size):
        data = self.inner.recv(size)
        return data.replace(*OLD) if self.owner.is_old else data

    def shutdown(self, how):
        self.inner.shutdown(how)


class Bad:
    """How a server turns bad, what is said of it, and how it is cured."""

    def __init__(self, says, spoil, cure):
        self.says, self.spoil, self.cure = says, spoil, cure


def tell(*words):
    return lambda redis, old: redis.command(*words)


def config_set(key, bad, good):
    return tell("CONFIG", "SET", key, bad), tell("CONFIG", "SET", key, good)


def kick(redis):
    """What a server is, is looked at when a connection is made."""
    redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def old_version(value):
    def turn(redis, old):
        old.is_old = value
    return turn


BAD = {
    "eviction": Bad("maxmemory-policy is allkeys-lru; set noeviction",
                    *config_set("maxmemory-policy", "allkeys-lru", "noeviction")),
    "no persistence": Bad("neither append-only file nor snapshots are on", *config_set("appendonly", "no", "yes")),
    "replica": Bad("server is a slave", tell("REPLICAOF", "127.0.0.1", "1"), tell("REPLICAOF", "NO", "ONE")),
    "wrong password": Bad("WRONGPASS", tell("ACL", "SETUSER", "worker", "resetpass", ">other"),
                          tell("ACL", "SETUSER", "worker", "resetpass", ">secret")),
    "wrong version": Bad("server version is 6.0.16; 6.2 or newer is needed", old_version(True), old_version(False)),
    "no memory": Bad("OOM command not allowed", *config_set("maxmemory", "1", "0")),
}


@pytest.fixture
def old(redis):
    redis.command("ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all")
    one = OldServer(redis.port)
    yield one
    one.end()


def config(old):
    base = {"every": "200ms", "timeout": "5s", "noop": {}}
    return {"workers": 2, "redis": {"url": f"redis://worker:secret@127.0.0.1:{old.port}/0", "app": "t"},
            "tasks": [{"name": "r", "singleton": "redis", "lease": "1s", **base}, {"name": "f", "singleton": "flock", **base}]}


def runs_on(n, name, more=3):
    before = len(n.runs(name))
    kit.wait_until(lambda: len(n.runs(name)) >= before + more, 15, f"{name} runs")


def named(n, bad):
    kit.wait_until(lambda: bad.says in n.text(), 10, f"{bad.says!r} is said")
    kit.wait_until(lambda: "redis is down" in (n.api("/v1/status")["reason"] or ""), 10, "status says so")
    n.cli_raw("GET", "/readyz")
    assert n.status == 503


@pytest.mark.parametrize("what", BAD)
def test_a_bad_server_is_refused_by_name_at_the_start(node, redis, old, what):
    bad = BAD[what]
    bad.spoil(redis, old)
    n = node(config(old))
    n.start()
    named(n, bad)
    runs_on(n, "f")
    assert not n.runs("r") and redis.command("DBSIZE") == ":0", "no store is made"
    bad.cure(redis, old)
    runs_on(n, "r")
    assert n.stop() == 0
    assert n.prove().is_clean


@pytest.mark.parametrize("what", BAD)
def test_a_server_that_turns_bad_is_refused_by_name_until_it_is_cured(node, redis, old, what):
    bad = BAD[what]
    n = node(config(old))
    n.start()
    runs_on(n, "r")
    bad.spoil(redis, old)
    kick(redis)
    named(n, bad)
    before = [l["planned"] for l in n.runs("r")]
    runs_on(n, "f")
    assert [l["planned"] for l in n.runs("r")] == before, "nothing is claimed"
    bad.cure(redis, old)
    runs_on(n, "r")
    assert n.stop() == 0
    ran = [l["planned"] for l in n.runs("r")]
    assert len(ran) == len(set(ran))
    proof = n.prove()
    assert proof.code in (0, 3) and not proof.task("r")["duplicates"] and not proof.task("r")["missed"], proof.raw


@pytest.mark.parametrize("other_starts", [False, True], ids=["the same nodes", "another node"])
def test_an_older_snapshot_starts_nothing_again_and_lowers_no_fence(node, redis, old, other_starts):
    """The store is put back from a copy while nodes run: what was run behind the copy is not run again, by whom it may
    be, and fences go on behind all that were given. A run that the copy knows as going on holds its unit until its lease
    is over."""
    n = node(config(old), name="one")
    n.start()
    runs_on(n, "r")
    os.kill(redis.process.pid, signal.SIGSTOP)
    shutil.copytree(redis.folder / "appendonlydir", redis.folder / "copy")
    os.kill(redis.process.pid, signal.SIGCONT)
    runs_on(n, "r", 8)
    if other_starts:
        assert n.stop() == 0
    redis.end()
    shutil.rmtree(redis.folder / "appendonlydir")
    (redis.folder / "copy").rename(redis.folder / "appendonlydir")
    redis.start()
    back_ms = time.time() * 1000
    redis.command("ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all")
    nodes = [n] if not other_starts else [n, node(config(old), name="two")]
    if other_starts:
        nodes[1].start()
    kit.wait_until(lambda: any(l["planned"] > back_ms for l in nodes[-1].runs("r")), 20, "what comes after is run")
    runs_on(nodes[-1], "r")
    assert nodes[-1].stop() == 0
    runs = sorted((l for one in nodes for l in one.runs("r")), key=lambda l: l["planned"])
    assert len(runs) == len({l["planned"] for l in runs})
    fences = [int(l["fence"]) for l in runs]
    assert fences == sorted(set(fences))
