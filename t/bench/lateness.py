#!/usr/bin/python3
"""Lateness of one 10 ms noop task, a path at a time, against a bare absolute timerfd in the same run; and kill -9
of the timer worker to the next start, against a bare pidfd. JSON lines, then a table. Lateness is planned instant
to the run line, which is written before the start; microseconds.

usage: lateness.py [--seconds N] [--redis URL]      (ONCED_BUILD names the build folder)"""
import argparse
import calendar
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))
import kit  # noqa: E402

EVERY_MS = 10


def micros(text):
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 1_000_000 + int(fraction)


def summary(values):
    values = sorted(values)
    return {"n": len(values), "p50": values[len(values) // 2], "p99": values[int(len(values) * 0.99)],
            "max": values[-1]}


def floor(program, *arguments):
    out = subprocess.run([str(kit.BUILD / "t/bench" / program), *map(str, arguments)], capture_output=True, text=True,
                         check=True).stdout
    return [int(v) for v in out.split()]


def node(folder, path, durability, redis):
    config = {"durability": durability, "log": {"dir": f"{folder}/node/log", "level": "warning"}, "tasks": [
        {"name": "t", "every": f"{EVERY_MS}ms", "singleton": path, "timeout": "1s", "noop": {}}]}
    if path == "redis":
        config["redis"] = {"url": redis, "app": f"bench{os.getpid()}"}
    return kit.Node(folder, config)


def lateness(path, durability, seconds, redis):
    with tempfile.TemporaryDirectory(prefix="onced-") as folder:
        n = node(folder, path, durability, redis)
        try:
            n.start()
            time.sleep(seconds)
            assert n.stop() == 0, n.text()
            runs = n.runs("t")
        finally:
            n.end()
    return [micros(l["t"]) - l["planned"] * 1000 for l in runs[20:-20]]


def deaths(count):
    """kill -9 of the timer worker to the next run line, less the time to the next planned instant after the kill."""
    found = []
    with tempfile.TemporaryDirectory(prefix="onced-") as folder:
        n = node(folder, "dedicated", "full", None)
        try:
            n.start()
            kills = []
            for _ in range(count):
                victim = n.timer_worker()
                time.sleep(0.5)
                kills.append(time.time() * 1e6)
                os.kill(victim, signal.SIGKILL)
                kit.wait_until(lambda: len(n.workers()) == 4 and victim not in n.workers().values(), 30, "a successor")
                time.sleep(0.5)
            assert n.stop() == 0
            starts = sorted(micros(l["t"]) for l in n.runs("t"))
        finally:
            n.end()
    for killed in kills:
        found.append(int(next(s for s in starts if s > killed) - killed))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--redis", help="redis://… ; without it a server of our own is started")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="onced-") as folder:
        own = None if options.redis else kit.Redis(folder)
        try:
            url = options.redis or own.url
            for path, durability in (("none", "full"), ("dedicated", "full"), ("dedicated", "process"),
                                     ("flock", "full"), ("flock", "process"), ("redis", "full")):
                bare = summary(floor("floor_timerfd", EVERY_MS, options.seconds * 50))
                ours = summary(lateness(path, durability, options.seconds, url))
                rows.append({"bench": "lateness", "path": path, "durability": durability, "floor": bare, "onced": ours,
                             "ratio_p50": round(ours["p50"] / max(bare["p50"], 1), 2),
                             "ratio_p99": round(ours["p99"] / max(bare["p99"], 1), 2)})
                print(json.dumps(rows[-1]), flush=True)
        finally:
            if own:
                own.end()
    bare, ours = summary(floor("floor_death", 50)), summary(deaths(5))
    print(json.dumps({"bench": "death-to-next-start", "floor": bare, "onced": ours}))
    print(f"\n{'path':10} {'durability':10} {'floor p50':>10} {'p50':>8} {'x':>6} {'floor p99':>10} {'p99':>8} {'x':>6}   us")
    for r in rows:
        print(f"{r['path']:10} {r['durability']:10} {r['floor']['p50']:10} {r['onced']['p50']:8} {r['ratio_p50']:6} "
              f"{r['floor']['p99']:10} {r['onced']['p99']:8} {r['ratio_p99']:6}")
    print(f"kill -9 of the timer worker to the next start of a {EVERY_MS} ms task: p50 {ours['p50']} us, "
          f"max {ours['max']} us; bare pidfd notice p50 {bare['p50']} us")


if __name__ == "__main__":
    main()
