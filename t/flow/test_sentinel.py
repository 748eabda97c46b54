"""Sentinels name the server: a primary that is killed is replaced by its replica, which may lack what it was told
last. No instant starts twice, what may have been lost is named, and the old primary is not asked again."""
import contextlib
import os
import signal
import subprocess
import time

import pytest

import kit

MASTER = "primary-of-t"
QUARANTINE = 12


class Sentinel(kit.Redis):
    """One that watches a primary, with a file of its own, which it rewrites."""

    def __init__(self, folder, primary):
        self.primary = primary
        super().__init__(folder)

    def start(self):
        path = self.folder / "sentinel.conf"
        path.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
                        f"sentinel monitor {MASTER} 127.0.0.1 {self.primary.port} 2\n"
                        f"sentinel down-after-milliseconds {MASTER} 1000\n"
                        f"sentinel failover-timeout {MASTER} 5000\n")
        self.process = subprocess.Popen(["redis-server", str(path), "--sentinel"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        kit.wait_until(self.answers, 10, "a sentinel answers")

    def says(self, *words):
        """The whole of an answer, as text."""
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, timeout=10)
        return done.stdout


@pytest.fixture
def watched(folder):
    """primary, replica, and three sentinels that know of both and of each other"""
    servers = []
    try:
        primary = kit.Redis(folder / "r0", "--repl-diskless-sync-delay", "0")
        servers.append(primary)
        replica = kit.Redis(folder / "r1", "--replicaof", f"127.0.0.1 {primary.port}", "--repl-diskless-sync-delay", "0")
        servers.append(replica)
        sentinels = []
        for i in range(3):
            sentinels.append(Sentinel(folder / f"s{i}", primary))
            servers.append(sentinels[-1])
        for s in sentinels:
            kit.wait_until(lambda: "num-slaves\n1\n" in (said := s.says("SENTINEL", "MASTER", MASTER))
                           and "num-other-sentinels\n2\n" in said, 20, "the sentinels know all")
        kit.wait_until(lambda: "master_link_status:up" in role_info(replica), 20, "the replica is in step")
        yield primary, replica, sentinels
    finally:
        for s in servers:
            with contextlib.suppress(ProcessLookupError):
                s.end()


def role_info(server):
    return subprocess.run(["redis-cli", "-p", str(server.port), "INFO", "replication"], capture_output=True, text=True,
                          timeout=10).stdout


def config(sentinels, sink, **more):
    return {"workers": 2,
            "redis": {"app": "t", "master": MASTER, "sentinels": [f"127.0.0.1:{s.port}" for s in sentinels], **more},
            "tasks": [{"name": "t", "every": "200ms", "singleton": "redis", "timeout": "5s", "lease": "5s",
                       "http": {"url": sink.url}}]}


def test_a_failover_starts_nothing_twice_and_names_what_may_be_lost(node, sink, watched):
    primary, replica, sentinels = watched
    nodes = [node(config(sentinels, sink), name=name).start() for name in ("one", "two")]
    kit.wait_until(lambda: len(sink.by_instant("t")) > 10, 20, "instants are run")

    # What the primary grants from here on never reaches the replica.
    os.kill(replica.process.pid, signal.SIGSTOP)
    primary.command("CLIENT", "KILL", "TYPE", "replica")
    told = max(sink.by_instant("t"))
    kit.wait_until(lambda: max(sink.by_instant("t")) > told + 1000, 20, "instants are run")
    killed = time.time() * 1000
    primary.process.kill()
    primary.process.wait(10)
    os.kill(replica.process.pid, signal.SIGCONT)
    assert any(at > told for at in sink.by_instant("t")), "nothing was lost"
    kit.wait_until(lambda: "role:master" in role_info(replica), 30, "the replica is promoted")
    kit.wait_until(lambda: any("run id or data changed" in n.text() for n in nodes), 15, "the barrier is told")
    promoted = time.time() * 1000
    resumed = kit.wait_until(lambda: [at for at in sink.by_instant("t") if at > promoted], 60, "claims resume")
    assert min(resumed) > killed + (QUARANTINE - 2) * 1000, "owners had no time to report"

    # The old primary is back, and sentinels make it a replica of the new one; nobody has asked it meanwhile.
    primary.start()
    done = len(sink.by_instant("t"))
    kit.wait_until(lambda: "role:slave" in role_info(primary), 40, "the old primary is demoted")
    kit.wait_until(lambda: len(sink.by_instant("t")) > done + 10, 20, "instants are run")
    assert all(n.text().count("run id or data changed") <= 1 for n in nodes)
    assert set(sink.by_instant("t").values()) == {1}
    for n in nodes:
        assert n.stop() == 0
    proof = kit.prove(nodes[0].logs, nodes[1].logs)
    assert proof.code == 0, proof.raw
    assert "DUPLICATE" not in proof.task("t")["verdicts"]


def test_a_node_needs_more_than_half_of_its_sentinels(node, sink, watched):
    _, _, sentinels = watched
    for s in sentinels[1:]:
        s.end()
    n = node(config(sentinels, sink)).start()
    kit.wait_until(lambda: "1 of 3 sentinels say where the primary is" in n.text(), 10, "the lack is named")
    assert not sink.by_instant("t")
    sentinels[1].start()
    kit.wait_until(lambda: len(sink.by_instant("t")) > 3, 20, "instants are run")


def test_a_name_that_the_sentinels_do_not_know_is_said(node, sink, watched):
    _, _, sentinels = watched
    n = node(config(sentinels, sink, master="other")).start()
    kit.wait_until(lambda: "knows no redis.master of this name" in n.text(), 10, "the name is said")
    assert not sink.by_instant("t")


def test_recovery_finds_the_server_by_its_sentinels(node, sink, watched):
    primary, _, sentinels = watched
    n = node(config(sentinels, sink)).start()
    kit.wait_until(lambda: len(sink.by_instant("t")) > 3, 20, "instants are run")
    primary.command("FLUSHALL")
    kit.wait_until(lambda: "lost its identity" in n.text(), 10, "the loss is named")
    done = n.cli("recover", "--store", "--yes", "-c", str(n.config_path))
    assert done.returncode == 0, done.stderr
    lost = len(sink.by_instant("t"))
    kit.wait_until(lambda: len(sink.by_instant("t")) > lost + 3, 20, "instants are run")
    assert set(sink.by_instant("t").values()) == {1}
