"""What all benches share: rounds in turn with their floors, CPU and memory of processes, rows and the table."""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))
import kit  # noqa: E402,F401  (the others take it from here)

PROGRAMS = kit.BUILD / "t/bench"


def load():
    return float(pathlib.Path("/proc/loadavg").read_text().split()[0])


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="onced-bench-") as name:
        yield pathlib.Path(name)


def program(name, *arguments, **options):
    """Runs one of the bench programs and gives back its output."""
    done = subprocess.run([str(PROGRAMS / name), *map(str, arguments)], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{name} {arguments}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def cpu_seconds(pids):
    """CPU that living processes have used, all threads, by the kernel's own clocks; None for those that are gone."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            found[pid] = time.clock_gettime((~pid << 3) | 2)
    return found


def cpu_between(before, after):
    return sum(after[pid] - before.get(pid, 0.0) for pid in after)


def tree(node):
    return [node.pid, *kit.descendants_of(node.pid)]


def pss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise RuntimeError(f"no Pss for {pid}")


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)]


def in_turn(rounds, *measures):
    """Every measure once a round, the order turned from round to round; gives a list of results for each."""
    found = [[] for _ in measures]
    for r in range(rounds):
        order = range(len(measures)) if r % 2 == 0 else reversed(range(len(measures)))
        for i in order:
            found[i].append(measures[i]())
    return found


class Report:
    """Rows as they come, as JSON lines; the table at the end."""

    def __init__(self, out):
        self.rows = []
        self.out = out

    def row(self, bench, case, what, unit, onced, floor=None, ratio_max=None, ratio_min=None, at_most=None,
            at_least=None, above_max=None, **more):
        """One figure: medians of the rounds, if lists are given; the goal is one of the last five."""
        rounds = {}
        if isinstance(onced, list):
            rounds["onced_rounds"], onced = onced, statistics.median(onced)
        if isinstance(floor, list):
            rounds["floor_rounds"], floor = floor, statistics.median(floor)
        ratio = onced / floor if floor else None
        goal, met = None, None
        if ratio_max is not None:
            goal, met = f"<= {ratio_max} x", ratio is not None and ratio <= ratio_max
        elif ratio_min is not None:
            goal, met = f">= {ratio_min} x", ratio is not None and ratio >= ratio_min
        elif above_max is not None:
            goal, met = f"floor + {above_max}", onced - floor <= above_max
        elif at_most is not None:
            goal, met = f"<= {at_most}", onced <= at_most
        elif at_least is not None:
            goal, met = f">= {at_least}", onced >= at_least
        row = {"bench": bench, "case": case, "what": what, "unit": unit, "onced": onced, "floor": floor,
               "ratio": ratio and round(ratio, 3), "goal": goal, "met": met, "load": load(), **rounds, **more}
        self.rows.append(row)
        print(json.dumps(row), file=self.out, flush=True)

    def table(self):
        def text(v):
            return "" if v is None else f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.4g}"
        lines = [("bench", "case", "what", "onced", "floor", "ratio", "goal", "")]
        for r in self.rows:
            lines.append((r["bench"], r["case"], f"{r['what']} {r['unit']}".strip(), text(r["onced"]), text(r["floor"]),
                          text(r["ratio"]), r["goal"] or "", {True: "met", False: "MISSED", None: ""}[r["met"]]))
        widths = [max(len(l[i]) for l in lines) for i in range(len(lines[0]))]
        for l in lines:
            print("  ".join(c.rjust(w) if 3 <= i <= 5 else c.ljust(w)
                            for i, (c, w) in enumerate(zip(l, widths))).rstrip())


class Context:
    """Options and the report, and a Redis server that is started when the first bench asks for one."""

    def __init__(self, options, report, stack):
        self.options = options
        self.report = report
        self.stack = stack
        self.server = None
        self.apps = 0

    def redis(self):
        if self.server is None:
            self.server = kit.Redis(self.stack.enter_context(folder()))
            self.stack.callback(self.server.end)
        return self.server

    def app(self):
        """A group of its own for each round."""
        self.apps += 1
        return f"bench{os.getpid()}x{self.apps}"

    def node(self, where, tasks, path, durability="full", **config):
        base = {"durability": durability, "log": {"dir": f"{where}/node/log", "level": "warning",
                                                  "max_bytes": "64GiB"},
                "boot_timeout": "60s", "tasks": tasks, **config}
        if path == "redis":
            base["redis"] = {"url": self.redis().url, "app": self.app()}
        return kit.Node(where, base)


def noop(name, every, path, **more):
    return {"name": name, "every": every, "singleton": path, "timeout": "30s", "noop": {}, **more}
