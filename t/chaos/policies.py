"""What the policies of time promise: who waits is started, the oldest first, and nothing that waits is lost; what is
given up lay outside of its window. B1 to B4 in what is found:
  B1 the oldest first              B3 a queue is full when as many wait as may
  B2 nothing that waits is lost    B4 only what lies outside of limit and window is given up"""
import grid

NS_A_MS = 1000000
STANDSTILL_MS = 3000        # a look at the queues each second, and a process that must come back for it
SKEW_MS = 701
GIVEN_UP = ("misfire", "late", "nobody")


def skew(c):
    return SKEW_MS if "skew" in c.plan.kinds else 0


def wall_ms(c, line):
    """A line's moment by the clock of the harness, which nobody sets."""
    return (line["b"] + c.rig.boot_to_wall_ns) / NS_A_MS


def queue_units(c):
    for unit, runs in c.runs_by_unit().items():
        if c.tasks[unit[0]]["overlap"] == "queue":
            yield unit, sorted(runs, key=lambda l: l["b"])


def oldest_first(c):
    for unit, runs in queue_units(c):
        if c.may_lose_lease(c.tasks[unit[0]]):
            continue
        for a, b in zip(runs, runs[1:]):
            if b["planned"] <= a["planned"]:
                yield f"B1: {unit} planned {b['planned']} was started after {a['planned']}"
    for r in c.records:
        queues = c.tasks[r["task"]]["overlap"] == "queue"
        if r["cause"] == ("overlap" if queues else "queue_full") or (r["state"] == "queued" and not queues):
            yield f"B1: {r['task']} {r['planned']} is {r['state']} ({r['cause']}), its task says {c.tasks[r['task']]['overlap']}"


def nothing_is_lost(c):
    """What was queued has a record; what still waits is newer than all that was started, and was being worked off."""
    for l in c.lines:
        if l["e"] == "attempt" and l["out"] == "queued" and not c.by_occ[l["occ"]]:
            yield f"B2: {l['task']} {l['planned']} was queued and has no record"
    waits = {}
    for r in c.records:
        if r["state"] == "queued":
            waits.setdefault((r["task"], r["scope"], r["shard"]), []).append(r["planned"])
    units = c.runs_by_unit()
    for unit, planned in waits.items():
        newest = max((l["planned"] for l in units[unit]), default=0)
        if min(planned) <= newest:
            yield f"B2: {unit} {min(planned)} waits although {newest} was started"
        if c.rig.goes_on_killing():
            continue
        ends = [end for _, end, _ in c.intervals(units[unit])]
        idle = (c.rig.stopped_b - max(ends, default=0)) / NS_A_MS
        if idle > STANDSTILL_MS:
            yield f"B2: {unit}: {len(planned)} waited, and nothing was started for {idle:.0f} ms"


def full_when_full(c):
    """Whoever is turned away found as many waiting: planned before it, and not started when it was due."""
    by_unit = {}
    for r in c.records:
        by_unit.setdefault((r["task"], r["scope"], r["shard"]), []).append(r)
    for unit, records in by_unit.items():
        limit = c.tasks[unit[0]].get("queue_limit")
        full = [r["planned"] for r in records if r["cause"] == "queue_full"]
        if not limit or not full:
            continue
        runs = {l["occ"]: wall_ms(c, l) for l in c.runs_by_unit()[unit]}
        may_wait = [(r["planned"], runs.get(r["occ"], float("inf"))) for r in records if r["occ"] and r["cause"] != "queue_full"]
        for planned in full:
            waiting = sum(p < planned and start > planned - skew(c) for p, start in may_wait)
            if waiting < limit:
                yield f"B3: {unit} {planned} found a full queue, of {limit} only {waiting} can have waited"


def window(task, planned):
    """(how many of the newest, how old at most) are to be run."""
    if "limit" in task:
        return task["limit"], task["lookback_ms"]
    return 1, task.get("grace_ms", min(59000, grid.after(task, planned) - planned))


def given_up_outside(c):
    for l in c.lines:
        if l["e"] not in ("skip", "miss") or l["cause"] not in GIVEN_UP or l.get("of"):
            continue
        task, now = c.tasks[l["task"]], wall_ms(c, l) + skew(c)
        limit, age_ms = window(task, l["last"])
        newer = grid.count(task, l["last"] + 1, int(now))
        if l["last"] > now - age_ms and newer < limit:
            yield (f"B4: {c.unit_of(l)} {l['last']} was given up ({l['cause']}) {now - l['last']:.0f} ms after it was due, "
                   f"with {newer} newer: its window is the newest {limit} of {age_ms} ms")


PROMISES = (oldest_first, nothing_is_lost, full_when_full, given_up_outside)
