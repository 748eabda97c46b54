"""Claims per second through the ledger's interface, each with its finish. Floor: a bare SQLite program with the same
rows and durability, or the same scripts by bare pipelined EVALSHA. Beside it: SET NX by redis-benchmark."""
import json
import subprocess

from measure import folder, in_turn, program

SETS_A_SECOND = 5000     # of each client, at least: how many make about so many seconds is not known before


def rate(context, name, store, durability, batch, processes, seconds):
    if store == "redis":
        out = program(name, "redis", context.redis().url, context.app(), batch, processes, seconds)
    else:
        with folder() as where:
            out = program(name, "sqlite", where, durability, batch, processes, seconds)
    return json.loads(out)


def sets(context, batch, processes, seconds):
    """What a bare lock by name costs: no cursor, no record, no fence, no end."""
    options = {"-p": context.redis().port, "-c": processes, "-P": batch, "-r": 1000000000,
               "-n": SETS_A_SECOND * processes * batch * seconds}
    done = subprocess.run(["redis-benchmark", *(str(word) for option in options.items() for word in option), "--csv",
                           "SET", "lock:__rand_int__", "token", "NX", "PX", "30000"],
                          capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1].split(",")[1].strip('"'))


def run(context):
    seconds = max(context.options.seconds // 2, 1)
    for store, durability, goal in (("sqlite", "full", 0.7), ("sqlite", "process", 0.7), ("redis", "", 0.8)):
        for processes in (1, 4):
            for batch in (1, 8, 64):
                bare = [lambda: sets(context, batch, processes, seconds)] if store == "redis" else []
                floor, ours, *locks = in_turn(
                    context.options.rounds,
                    lambda: rate(context, "floor_claims", store, durability, batch, processes, seconds),
                    lambda: rate(context, "claims", store, durability, batch, processes, seconds), *bare)
                context.report.row("claims", f"{store} {durability} batch {batch}, {processes} proc".replace("  ", " "),
                                   "claims", "/s", [r["per_second"] for r in ours], [r["per_second"] for r in floor],
                                   ratio_min=goal, cpu_us=[r["cpu_us"] for r in ours],
                                   floor_cpu_us=[r["cpu_us"] for r in floor])
                for rates in locks:
                    context.report.row("claims", f"redis batch {batch}, {processes} proc", "claims by SET NX", "/s",
                                       [r["per_second"] for r in ours], rates)
