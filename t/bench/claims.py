"""Claims per second through the ledger's interface, each with its finish. Floor: a bare SQLite program with the same
rows and durability, or the same scripts by bare pipelined EVALSHA."""
import json

from measure import folder, in_turn, program


def rate(context, name, store, durability, batch, processes, seconds):
    if store == "redis":
        out = program(name, "redis", context.redis().url, context.app(), batch, processes, seconds)
    else:
        with folder() as where:
            out = program(name, "sqlite", where, durability, batch, processes, seconds)
    return json.loads(out)


def run(context):
    seconds = max(context.options.seconds // 2, 1)
    for store, durability, goal in (("sqlite", "full", 0.7), ("sqlite", "process", 0.7), ("redis", "", 0.8)):
        for processes in (1, 4):
            for batch in (1, 8, 64):
                floor, ours = in_turn(
                    context.options.rounds,
                    lambda: rate(context, "floor_claims", store, durability, batch, processes, seconds),
                    lambda: rate(context, "claims", store, durability, batch, processes, seconds))
                context.report.row("claims", f"{store} {durability} batch {batch}, {processes} proc".replace("  ", " "),
                                   "claims", "/s", [r["per_second"] for r in ours], [r["per_second"] for r in floor],
                                   ratio_min=goal, cpu_us=[r["cpu_us"] for r in ours],
                                   floor_cpu_us=[r["cpu_us"] for r in floor])
