"""A table of 100,000 tasks, a third on intervals and two thirds cron in twenty zones: what checking, starting, arming
and idling cost. None of the tasks falls due while it is looked at. Floor: as many lines read, a heap of instants."""
import datetime
import json
import os
import pathlib
import subprocess
import time
import zoneinfo

from measure import cpu_between, cpu_seconds, folder, in_turn, kit, program, pss_kib, tree

ZONES = ("UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Moscow", "Africa/Casablanca", "Africa/Cairo",
         "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo",
         "America/St_Johns", "Asia/Shanghai", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran",
         "Australia/Lord_Howe", "Pacific/Auckland")
A_FILE = 10000      # tasks: one file has a limit
AHEAD = 1800        # seconds until the first falls due
START_SECONDS = 300
SETTLE = 3


def line_of(i, due, minutes):
    task = {"name": f"t{i}", "noop": {}}
    if i % 3 == 0:
        return {**task, "every": f"{1 + i % 24}h", "anchor": due * 1000}
    zone = ZONES[i % len(ZONES)]
    return {**task, "cron": f"{(minutes[zone] + i % 5) % 60} */{2 + i % 3} * * *", "tz": zone}


def write_table(where, count):
    due = int(time.time()) + AHEAD
    minutes = {z: datetime.datetime.fromtimestamp(due, zoneinfo.ZoneInfo(z)).minute for z in ZONES}
    files = []
    for first in range(0, count, A_FILE):
        files.append(where / f"part{first // A_FILE:03}.yaml")
        with open(files[-1], "w") as f:
            f.write("tasks:\n")
            for i in range(first, min(first + A_FILE, count)):
                f.write(f"  - {json.dumps(line_of(i, due, minutes))}\n")
    return files


def floor(files):
    micros, size = program("floor_table", *files).split()
    return {"cpu": int(micros) / 1e6, "bytes": float(size)}


def check(config_path):
    """CPU seconds and the largest resident set of `onced check`."""
    pid = subprocess.Popen([kit.ONCED, "check", str(config_path)], stdout=subprocess.DEVNULL).pid
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"check: {os.waitstatus_to_exitcode(status)}")
    return {"cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss / 1024}


def is_armed(node, count):
    """In the turn in which the timer worker arms what is its own it writes a plan line a task, in their order."""
    wanted = b'"task":"t%d"' % (count - 1)
    for path in pathlib.Path(node.logs, "triggers").glob("*.jsonl"):
        with open(path, "rb") as f:
            f.seek(max(os.fstat(f.fileno()).st_size - 4096, 0))
            if wanted in f.read():
                return True
    return False


def started(node, count):
    """Seconds until ready, and until the last task is armed."""
    began = time.monotonic()
    node.start(seconds=START_SECONDS)
    ready = time.monotonic() - began
    kit.wait_until(lambda: is_armed(node, count), START_SECONDS, "the last task's plan")
    return {"ready": ready, "armed": time.monotonic() - began}


def memory(node):
    titles = {**node.titles(), node.pid: "onced: master"}
    return {titles.get(pid, str(pid)): pss_kib(pid) for pid in tree(node)}


def anything_ran(node):
    return any(b'{"e":"run"' in path.read_bytes() for path in pathlib.Path(node.logs, "triggers").glob("*.jsonl"))


def lived(node, count, seconds):
    """A first start, which registers everything, and a second one, which finds it; the second is then left idle."""
    try:
        first = started(node, count)
        node.stop(seconds=90)
        for path in pathlib.Path(node.logs, "triggers").glob("*.jsonl"):
            path.unlink()
        second = started(node, count)
        time.sleep(SETTLE)
        before = cpu_seconds(tree(node))
        time.sleep(seconds)
        idle = cpu_between(before, cpu_seconds(tree(node))) * 100 / seconds
        pss = memory(node)
        if node.stop(seconds=90) != 0 or anything_ran(node):
            raise RuntimeError(f"not idle, or no good end: {node.text()}")
    finally:
        node.end()
    return {"first": first, "second": second, "idle": idle, "pss": pss}


def node_with(context, where, path, count):
    return context.node(where, [], path, include=f"{where}/part*.yaml", boot_timeout="10s",
                        defaults={"timeout": "30s", "singleton": path}), write_table(where, count)


def one(context, path, count, seconds):
    with folder() as where:
        node, _ = node_with(context, where, path, count)
        return lived(node, count, seconds)


def few(context, path):
    return sum(one(context, path, 1, 1)["pss"].values())


def checked(context, case, count):
    with folder() as where:
        node, _ = node_with(context, where, "dedicated", 1)
        base = check(node.config_path)["rss"]
        node, files = node_with(context, where, "dedicated", count)
        bare, ours = in_turn(context.options.rounds, lambda: floor(files), lambda: check(node.config_path))
    context.report.row("table", case, "check, CPU", "s", [r["cpu"] for r in ours], [r["cpu"] for r in bare], at_most=3)
    context.report.row("table", case, "check, RSS a task", "bytes", [(r["rss"] - base) * 2**20 / count for r in ours],
                       [r["bytes"] for r in bare], at_most=2048)


def run(context):
    count, seconds = context.options.table, max(context.options.seconds * 2, 10)
    case = f"{count:,} tasks"
    checked(context, case, count)
    for path in ("dedicated", "flock"):
        r, base = one(context, path, count, seconds), few(context, path)
        for life in ("first", "second"):
            context.report.row("table", f"{case} {path}", f"{life} start, all armed", "s", r[life]["armed"], at_most=10,
                               ready=r[life]["ready"])
        context.report.row("table", f"{case} {path}", "idle, CPU of a core", "%", r["idle"], at_most=0.2)
        context.report.row("table", f"{case} {path}", "PSS a task, all processes", "bytes",
                           (sum(r["pss"].values()) - base) * 1024 / count, at_most=3072, parts=r["pss"])
        workers = [v for k, v in r["pss"].items() if "worker" in k]
        context.report.row("table", f"{case} {path}", "PSS a task and worker", "bytes",
                           sum(workers) * 1024 / len(workers) / count)
