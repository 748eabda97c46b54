"""What a group costs its Redis: requests, bytes and CPU of the server for each instant of a 1 s task on three nodes of
four workers each, all that nodes say besides included. Floor: twelve contenders that each ask by SET NX PX."""
import re
import socket
import subprocess
import time

from measure import PROGRAMS, cpu_between, cpu_seconds, folder, in_turn, kit, noop

NODES, WORKERS = 3, 4
WARM = 5
# What is sent; all else is called by scripts.
SCRIPTS, LOCKS = ("evalsha", "eval"), ("set",)
COSTS = (("requests", ""), ("input", "bytes"), ("output", "bytes"), ("server_cpu", "us"))


def look(server, sent):
    """Calls of each command, and bytes, as the server counts them."""
    with socket.create_connection((server.host, server.port), timeout=5) as s, s.makefile("rb") as f:
        s.sendall(b"INFO all\r\n")
        text = f.read(int(f.readline()[1:])).decode()
    found = {way: int(re.search(rf"^total_net_{way}_bytes:(\d+)", text, re.M)[1]) for way in ("input", "output")}
    calls = {name: int(n) for name, n in re.findall(r"^cmdstat_([^:|]+):calls=(\d+)", text, re.M)}
    return {"requests": sum(calls.get(name, 0) for name in sent), **found}, calls


def costs(server, seconds, sent):
    """For each of so many instants; what the look itself costs is taken off."""
    pids = [server.process.pid]
    time.sleep(1.5 - time.time() % 1)   # between two instants
    nothing, before, cpu = look(server, sent), look(server, sent), cpu_seconds(pids)
    time.sleep(seconds)
    used, after = cpu_between(cpu, cpu_seconds(pids)), look(server, sent)
    found = {what: (after[0][what] - 2 * before[0][what] + nothing[0][what]) / seconds for what in before[0]}
    calls = {name: round((n - before[1].get(name, 0)) / seconds, 2) for name, n in after[1].items()}
    return {**found, "server_cpu": used * 1e6 / seconds, "calls": {name: n for name, n in calls.items() if n >= 0.01}}


def onced(context, seconds):
    with folder() as where:
        server, nodes = kit.Redis(where / "redis"), []
        config = {"workers": WORKERS, "redis": {"url": server.url, "app": context.app()},
                  "tasks": [noop("t", "1s", "redis")]}
        try:
            for i in range(NODES):
                nodes.append(kit.Node(where, config, name=f"n{i}"))
                nodes[-1].start()
            time.sleep(WARM)
            return costs(server, seconds, SCRIPTS)
        finally:
            for n in nodes:
                n.stop()
                n.end()
            server.end()


def contenders(seconds):
    with folder() as where:
        server = kit.Redis(where / "redis")
        floor = subprocess.Popen([str(PROGRAMS / "floor_contenders"), str(server.port), str(NODES * WORKERS),
                                  str(seconds + WARM)])
        try:
            time.sleep(WARM)
            found = costs(server, seconds, LOCKS)
            if floor.wait(2 * WARM) != 0:
                raise RuntimeError("floor_contenders: the server failed")
            return found
        finally:
            floor.kill()
            server.end()


def run(context):
    seconds = context.options.seconds * 6
    floor, ours = in_turn(context.options.rounds, lambda: contenders(seconds), lambda: onced(context, seconds))
    for what, unit in COSTS:
        goal = {"ratio_max": 0.5} if what == "requests" else {}
        context.report.row("group", f"{NODES} nodes x {WORKERS}, 1 s", f"{what} an instant", unit,
                           [r[what] for r in ours], [r[what] for r in floor], calls=ours[-1]["calls"], **goal)
