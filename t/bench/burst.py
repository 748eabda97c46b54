"""1,000 and 10,000 noop tasks at 1 s, all due at the same instant, 4 workers: prove finds nothing missed or doubled,
and how late the last ones start. Floor of the lateness: one bare program that claims as many units in batches of 64."""
import glob
import json
import re
import subprocess
import time

from lateness import floor
from measure import cpu_between, cpu_seconds, folder, kit, noop, percentile, tree

RUN = re.compile(rb'^\{"e":"run",.*?"t":"[^"]*:(\d\d)\.(\d{6})Z".*?"planned":(\d+)')
LOST = ("duplicates", "missed", "dropped", "skipped", "recorded_missed")
FLOOR_SECONDS = 8
LIMIT_US = {1000: 30_000, 10000: 250_000}


def late_of(logs, since_ms, until_ms):
    """Microseconds from planned to the run line. The line's minute is the planned one's or the next, so seconds are
    enough to tell."""
    found = []
    for path in glob.glob(f"{logs}/triggers/*.jsonl"):
        with open(path, "rb") as f:
            for line in f:
                if not line.startswith(b'{"e":"run"'):
                    continue
                m = RUN.match(line)
                planned = int(m[3])
                if not since_ms <= planned < until_ms:
                    continue
                late = (int(m[1]) * 1_000_000 + int(m[2])) - (planned % 60_000) * 1000
                found.append(late if late >= 0 else late + 60_000_000)
    return found


def prove(logs, since_ms):
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since_ms // 1000)) + "Z"
    done = subprocess.run([kit.ONCED, "prove", "--json", "--since", since, logs], capture_output=True, text=True)
    report = json.loads(done.stdout)
    sums = {k: sum(t[k] for t in report["tasks"]) for k in ("duplicates", "missed", "dropped", "skipped",
                                                             "recorded_missed", "interrupted")}
    # Executions also count what ran in the last second, behind the range that can be judged.
    for verdict in {v for t in report["tasks"] for v in t["verdicts"]}:
        sums[verdict] = sum(t["verdicts"].get(verdict, 0) for t in report["tasks"])
    return done.returncode, report["verdict"], sums


def one(context, path, count, seconds):
    with folder() as where:
        node = context.node(where, [noop(f"t{i}", "1s", path) for i in range(count)], path)
        try:
            node.start(seconds=90)
            time.sleep(5)
            since_ms = (int(time.time()) + 1) * 1000
            time.sleep(since_ms / 1000 - time.time())
            pids = tree(node)
            server = [context.redis().process.pid] if path == "redis" else []
            before, server_before = cpu_seconds(pids), cpu_seconds(server)
            time.sleep(seconds)
            after, server_after = cpu_seconds(pids), cpu_seconds(server)
            node.stop(seconds=90)
        finally:
            node.end()
        late = late_of(node.logs, since_ms, since_ms + seconds * 1000)
        code, verdict, sums = prove(node.logs, since_ms)
    starts = max(len(late), 1)
    return {"late": late, "code": code, "verdict": verdict, "sums": sums,
            "cpu": cpu_between(before, after) * 1000 / starts,
            "server_cpu": cpu_between(server_before, server_after) * 1000 / starts}


def run(context):
    seconds = context.options.burst_seconds
    for count in context.options.tasks:
        for path in ("dedicated", "flock", "redis"):
            r = one(context, path, count, seconds)
            case = f"{count} tasks {path}"
            sums = r["sums"]
            context.report.row("burst", case, "instants not run once", "", sum(v for k, v in sums.items() if k in LOST),
                               at_most=0, report=r["verdict"], exit=r["code"], **sums)
            judged = sum(v for k, v in sums.items() if k.isupper())
            context.report.row("burst", case, "instants run once", "%", 100 * sums.get("ONCE", 0) / max(judged, 1),
                               at_least=100)
            if r["late"]:
                bare = floor(context, 1000, path, "full", FLOOR_SECONDS, count)
                context.report.row("burst", case, "late p99", "us", percentile(r["late"], 0.99), percentile(bare, 0.99),
                                   at_most=LIMIT_US.get(count, 250_000), p50=percentile(r["late"], 0.5),
                                   floor_p50=percentile(bare, 0.5), max=max(r["late"]), n=len(r["late"]))
            context.report.row("burst", case, "CPU per 1,000 starts", "s", r["cpu"], server_cpu=r["server_cpu"])
