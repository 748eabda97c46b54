"""kill -9 of the timer worker to the next start of a 10 ms task. Floor: a bare pidfd notice and the fork of a
successor."""
import os
import signal
import time

from lateness import micros
from measure import folder, in_turn, kit, noop, percentile, program


def floor(count):
    return [int(line.split()[1]) for line in program("floor_death", count).splitlines()]


def onced(context, path, count):
    with folder() as where:
        node = context.node(where, [noop("t", "10ms", path)], path)
        try:
            node.start()
            kills = []
            for _ in range(count):
                victim = node.timer_worker()
                time.sleep(0.3)
                kills.append(time.time() * 1e6)
                os.kill(victim, signal.SIGKILL)
                kit.wait_until(lambda: len(node.workers()) == 4 and victim not in node.workers().values(), 60,
                               "a successor")
                time.sleep(0.2)
            node.stop()
            starts = sorted(micros(l["t"]) for l in node.runs("t"))
        finally:
            node.end()
    return [int(next(s for s in starts if s > killed) - killed) for killed in kills]


def run(context):
    kills = context.options.kills
    for path in ("dedicated", "flock"):
        bare, ours = in_turn(context.options.rounds, lambda: floor(50), lambda: onced(context, path, kills))
        context.report.row("death", f"10 ms {path}", "p50", "us", [percentile(v, 0.5) for v in ours],
                           [percentile(v, 0.5) for v in bare], above_max=10_000, max=max(map(max, ours)))
