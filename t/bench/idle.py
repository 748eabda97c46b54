"""Idle with 10,000 hourly tasks: CPU of the whole tree, memory, and what a task costs in each worker. None of the
tasks falls due while it is looked at."""
import time

from measure import cpu_between, cpu_seconds, folder, noop, pss_kib, tree

SETTLE = 5


def one(context, count, seconds):
    anchor = (int(time.time()) + 1800) * 1000
    with folder() as where:
        node = context.node(where, [noop(f"t{i}", "1h", "flock", anchor=anchor) for i in range(count)], "flock")
        try:
            node.start(seconds=90)
            time.sleep(SETTLE)
            pids = tree(node)
            before = cpu_seconds(pids)
            time.sleep(seconds)
            after = cpu_seconds(pids)
            titles = {**node.titles(), node.pid: "onced: master"}
            pss = {titles.get(pid, str(pid)): pss_kib(pid) for pid in pids}
            node.stop()
        finally:
            node.end()
    return {"cpu": cpu_between(before, after) * 100 / seconds, "pss": pss,
            "workers": sum(v for k, v in pss.items() if "worker" in k)}


def run(context):
    seconds = max(context.options.seconds * 2, 10)
    few, many = one(context, 1, 1), one(context, 10000, seconds)
    context.report.row("idle", "10,000 hourly tasks", "CPU of a core", "%", many["cpu"], at_most=0.2)
    context.report.row("idle", "10,000 hourly tasks", "PSS of the tree", "MiB", sum(many["pss"].values()) / 1024,
                       at_most=20, parts=many["pss"])
    context.report.row("idle", "1 hourly task", "PSS of the tree", "MiB", sum(few["pss"].values()) / 1024,
                       parts=few["pss"])
    context.report.row("idle", "10,000 hourly tasks", "per task and worker", "bytes",
                       (many["workers"] - few["workers"]) * 1024 / 9999 / 4)
