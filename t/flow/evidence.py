"""What the logs of nodes and the kernel say of them, as the tests of cases ask for it."""
import os
import pathlib
import subprocess

import kit


def task(name, path="flock", every="200ms", **more):
    base = {"name": name, "every": every, "singleton": path, "timeout": "5s"}
    if not {"http", "exec"} & set(more):
        base["noop"] = {}
    return {**base, **more}


def runs_of(nodes, name):
    nodes = nodes if isinstance(nodes, (list, tuple)) else [nodes]
    return sorted(l["planned"] for n in nodes for l in n.runs(name))


def finishes(n, name, state=None):
    return [l for l in n.lines() if l["e"] == "finish" and l["task"] == name and state in (None, l["state"])]


def waits_for_runs(nodes, name, count=3, seconds=10):
    before = len(runs_of(nodes, name))
    kit.wait_until(lambda: len(runs_of(nodes, name)) >= before + count, seconds, f"{count} more runs of {name}")


def process_of(line):
    """Who wrote it; its files follow each other in size, at midnight and when asked."""
    return line["file"].rsplit(".", 2)[0]


def all_run(n, names, more, seconds=20):
    before = {name: len(runs_of(n, name)) for name in names}
    kit.wait_until(lambda: all(len(runs_of(n, name)) >= before[name] + more for name in names), seconds,
                   f"{more} more runs of each of {names}")


def prove_all(nodes):
    done = subprocess.run([kit.ONCED, "prove", "--json", *(n.logs for n in nodes)], capture_output=True, text=True,
                          timeout=60)
    return kit.Proof(done)


def dropped(n, name):
    return {l["first"] for l in n.lines() if l["e"] == "skip" and l["task"] == name and l["cause"] == "overlap"}


def intervals(nodes, name):
    """(begin, end) of every run by the boot clock; a run without an end is left out."""
    found = {}
    for n in nodes:
        for line in n.lines():
            if line["e"] in ("run", "finish") and line.get("task") == name:
                found.setdefault(line["occ"], {})[line["e"]] = line["b"]
    return [(x["run"], x["finish"]) for x in found.values() if len(x) == 2]


def most_at_once(spans):
    edges = sorted([(b, 1) for b, _ in spans] + [(e, -1) for _, e in spans], key=lambda x: (x[0], x[1]))
    running = peak = 0
    for _, step in edges:
        running += step
        peak = max(peak, running)
    return peak


def rss_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def three_nodes(node, redis, tasks, **more):
    return [node({"workers": 2, "redis": {"url": redis.url, "app": "t"}, "tasks": tasks, **more}, name=f"n{i}")
            for i in range(3)]
