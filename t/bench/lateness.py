"""Start lateness of one task at 1 s and at 10 ms: planned instant to the run line, which is written before the start.
Floor: a bare absolute timerfd, and after it one bare durable claim of the same rows, or one bare EVALSHA."""
import calendar
import time

from measure import folder, in_turn, noop, percentile, program

CASES = [("none", "full"), ("dedicated", "full"), ("dedicated", "process"), ("flock", "full"), ("flock", "process"),
         ("redis", "full")]
CUT = 3     # runs at both ends that are not counted: start and stop are no steady state


def micros(text):
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 1_000_000 + int(fraction)


def floor(context, every_ms, path, durability, seconds, units=1):
    count = max(int(seconds * 1000 / every_ms), 1)
    with folder() as where:
        if path == "none":
            kind = ["none"]
        elif path == "redis":
            kind = ["redis", context.redis().url, context.app(), units]
        else:
            kind = ["sqlite", where, durability, units]
        out = program("floor_lateness", every_ms, count, *kind)
    return [int(v) for v in out.split()][CUT * units:]


def onced(context, every_ms, path, durability, seconds):
    with folder() as where:
        node = context.node(where, [noop("t", f"{every_ms}ms", path)], path, durability)
        try:
            node.start()
            time.sleep(seconds + 2 * CUT * every_ms / 1000)
            if node.stop() != 0:
                raise RuntimeError(node.text())
            runs = node.runs("t")
        finally:
            node.end()
    return [micros(l["t"]) - l["planned"] * 1000 for l in runs[CUT:-CUT]]


def run(context):
    for every_ms in (10, 1000):
        seconds = context.options.seconds * (1 if every_ms < 1000 else 4)
        for path, durability in CASES:
            bare, ours = in_turn(context.options.rounds,
                                 lambda: floor(context, every_ms, path, durability, seconds),
                                 lambda: onced(context, every_ms, path, durability, seconds))
            case = f"{every_ms} ms {path}" + ("" if path in ("none", "redis") else f" {durability}")
            for what, share, goal in (("p50", 0.5, 1.5), ("p99", 0.99, 3)):
                context.report.row("lateness", case, what, "us", [percentile(v, share) for v in ours],
                                   [percentile(v, share) for v in bare], ratio_max=goal,
                                   n=sum(map(len, ours)), max=max(map(max, ours)), floor_max=max(map(max, bare)))
