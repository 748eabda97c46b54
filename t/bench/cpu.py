"""CPU of the whole tree per 1,000 runs of a 1 s noop task with 4 workers. Floor: four bare processes, each with its
own timerfd, and one word in shared memory that says who was first."""
import json
import time

from measure import cpu_between, cpu_seconds, folder, in_turn, noop, program, tree

WARM = 3


def floor(seconds):
    done = json.loads(program("floor_cpu", 4, 1000, seconds))
    return done["cpu_us"] * 1000 / 1e6


def onced(context, path, seconds):
    with folder() as where:
        node = context.node(where, [noop("t", "1s", path)], path)
        try:
            node.start()
            time.sleep(WARM)
            pids = tree(node)
            before = cpu_seconds(pids)
            time.sleep(seconds)
            after = cpu_seconds(pids)
            titles = node.titles()
            titles[node.pid] = "onced: master"
        finally:
            node.stop()
            node.end()
    parts = {titles.get(pid, str(pid)): round((after[pid] - before[pid]) * 1000 / seconds, 4) for pid in after}
    return cpu_between(before, after) * 1000 / seconds, parts


def run(context):
    seconds = max(context.options.seconds * 2, 5)
    for path in ("dedicated", "flock", "none"):
        bare, ours = in_turn(context.options.rounds, lambda: floor(seconds), lambda: onced(context, path, seconds))
        context.report.row("cpu", f"1 s {path}", "per 1,000 runs", "s", [v for v, _ in ours], bare, ratio_max=1.5,
                           parts=ours[-1][1])
