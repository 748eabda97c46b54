#!/usr/bin/python3
"""Benchmarks of onced against their floors, in the same run and in turn: JSON lines, then a table. README.md says
what each measures. ONCED_BUILD names the build folder."""
import argparse
import contextlib
import sys
import traceback

import burst
import claims
import cpu
import death
import group
import http_rate
import idle
import lateness
import proving
import schedule
import table
from measure import Context, Report, load

BENCHES = {"lateness": lateness, "cpu": cpu, "burst": burst, "claims": claims, "death": death, "idle": idle,
           "prove": proving, "http": http_rate, "schedule": schedule, "table": table, "group": group}


def options_read():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(BENCHES)}; none: all")
    parser.add_argument("--rounds", type=int, default=3, help="each measure so often; medians are reported")
    parser.add_argument("--seconds", type=int, default=10, help="length of one measure, more or less")
    parser.add_argument("--burst-seconds", type=int, default=60)
    parser.add_argument("--tasks", type=int, nargs="+", default=[1000, 10000], help="burst: how many tasks")
    parser.add_argument("--table", type=int, default=100000, help="table: how many tasks")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10], help="prove: million lines")
    parser.add_argument("--quick", action="store_true", help="short and rough: does it still work?")
    parser.add_argument("--out", help="file for the JSON lines; default stdout")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHES):
        parser.error(f"there is no bench {' '.join(sorted(unknown))}; there are {' '.join(BENCHES)}")
    if options.quick:
        options.rounds, options.seconds, options.burst_seconds = 1, 2, 5
        options.tasks, options.kills, options.millions, options.table = [1000], 2, [0.1, 0.5], 10000
    return options


def main():
    options = options_read()
    failed = []
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(options.out, "a")) if options.out else sys.stdout
        report = Report(out)
        context = Context(options, report, stack)
        if load() > 0.5:
            print(f"load is {load()}: a quiet machine gives truer figures", file=sys.stderr)
        for name in options.names or BENCHES:
            try:
                BENCHES[name].run(context)
            except Exception:   # one bench that cannot run must not take the others' figures with it
                traceback.print_exc()
                failed.append(name)
        print()
        report.table()
    if failed:
        print(f"did not run to the end: {' '.join(failed)}", file=sys.stderr)
    return 70 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
