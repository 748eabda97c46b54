"""prove: lines per second on one core with the hash chain checked, and its memory at one and at ten million lines.
Floor: the bare chain, one SHA-256 a line over the same files."""
import os
import subprocess
import time

from measure import PROGRAMS, folder, in_turn, kit, program


def on_one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def timed(*command):
    """(CPU seconds, wall seconds, largest resident set in KiB)"""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, preexec_fn=on_one_core)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command}: exit {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss


def measure(context, lines, words, case):
    """Speed against the bare chain; gives the largest resident set back."""
    with folder() as where:
        lines = int(program("synthesize", where, lines, *words))
        timed(PROGRAMS / "floor_chain", where)          # all of it in the page cache
        floor, ours = in_turn(context.options.rounds, lambda: timed(PROGRAMS / "floor_chain", where),
                              lambda: timed(kit.ONCED, "prove", where))
    context.report.row("prove", case, "lines", "/s", [lines / cpu for cpu, _, _ in ours],
                       [lines / cpu for cpu, _, _ in floor], at_least=500_000,
                       wall=[lines / wall for _, wall, _ in ours])
    return max(m for _, _, m in ours)


def run(context):
    memory = {}
    for millions in context.options.millions:
        case = f"{millions:g} million lines"
        memory[millions] = measure(context, int(millions * 1_000_000), [], case)
        context.report.row("prove", case, "memory", "MiB", memory[millions] / 1024)
    fewest = min(memory)
    measure(context, int(fewest * 1_000_000), ["cron * * * * * * tz Europe/Berlin"], f"{fewest:g} million lines of cron")
    if len(memory) > 1:
        context.report.row("prove", "most against fewest lines", "memory", "x",
                           memory[max(memory)] / memory[min(memory)], at_most=1.1)
