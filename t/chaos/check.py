"""Judges a history by what the sink, the commands, the logs and the ledger say, without `onced prove`; each function
tests one promise and gives back what breaks it. The names I1 to I8:
  I1 one start per occurrence            I5 each due instant decided once, no gap in between
  I2 no overlap of runs of a unit        I6 what was cut is said to be; nothing vanishes
  I3 fences rise                         I7 no start before its instant
  I4 a cursor never goes back            I8 the run line stands before the effect
policies.py has those of queues and windows."""
import collections
import datetime
import random
import re
import shutil

import grid
import policies
import witness
from redis_wire import Wire

START_LESS = ("interrupted", "failed", "unknown", "missed")   # what a granted occurrence without a run line may end as
NS_A_MS = 1000000


class Case:
    """The evidence of one history, gathered after its end."""

    def __init__(self, rig):
        self.plan, self.rig = rig.plan, rig
        self.tasks = {t["name"]: t for t in rig.plan.tasks}
        self.requests, self.lives = list(rig.sink.requests), witness.lives_of(rig.lives)
        self.lines, self.torn = witness.lines_of(rig.folder / "node/log")
        self.node_id = next((l["node"] for l in self.lines if l["e"] == "start"), "")
        self.records, self.cursors = read_ledger(rig.ledger)
        if rig.redis:
            self.records += read_redis(rig.redis.port, [t["name"] for t in rig.plan.tasks if t["path"] == "redis"])
        self.runs = [l for l in self.lines if l["e"] == "run"]
        self.run_of = {l["trig"]: l for l in self.runs}
        self.own_finish = {l["trig"]: l for l in self.lines if l["e"] == "finish" and not l.get("of")}
        self.cut_finish = {l["of"]: l for l in self.lines if l["e"] == "finish" and l.get("of")}
        self.by_occ = collections.defaultdict(list)
        for r in self.records:
            if r["occ"]:
                self.by_occ[r["occ"]].append(r)

    def unit_of(self, line):
        return line["task"], line.get("key", ""), line["shard"]

    def runs_by_unit(self):
        units = collections.defaultdict(list)
        for line in self.runs:
            units[self.unit_of(line)].append(line)
        return units

    def intervals(self, runs):
        return intervals(self, runs)

    def may_lose_lease(self, task):
        """Runs of before a restart of Redis, or of a worker that stands still longer than its lease, may go on
        beside the next: there only a sink that compares fences is safe."""
        return task["path"] == "redis" and task["lease_ms"] < 10000


def read_ledger(path):
    with witness.open_ledger(path) as db:
        rows = db.execute("SELECT id, task, scope, shard, planned, last, count, occ, trig, owner, fence, state, cause FROM record "
                          "ORDER BY id")
        names = [c[0] for c in rows.description]
        records = [{**dict(zip(names, row)), "store": "local"} for row in rows]
        cursors = {(t, s, n): c for t, s, n, c in db.execute("SELECT task, scope, shard, cursor FROM unit")}
    return records, cursors


def read_redis(port, tasks):
    records = []
    with Wire(port) as redis:
        for task in tasks:
            for number, (_, flat) in enumerate(redis("XRANGE", f"onced:{{chaos:default}}:h:{task}", "-", "+")):
                f = dict(zip(flat[::2], flat[1::2]))
                planned = int(f["planned"])
                records.append({"id": number, "task": task, "scope": f["scope"], "shard": int(f["shard"]), "planned": planned,
                                "last": int(f.get("last", planned)), "count": int(f.get("count", 1)), "occ": f.get("occ"),
                                "trig": f.get("trig"), "owner": f.get("owner"), "state": f["state"], "cause": f["cause"],
                                "fence": int(f["fence"]) if f.get("fence") else None, "store": "redis"})
        for key in redis("KEYS", "onced:{chaos:default}:o:*"):
            h = redis.hash(key)
            if h.get("state") in ("running", "queued"):
                records.append({"id": 0, "task": h["task"], "scope": h["scope"], "shard": int(h["shard"]),
                                "planned": int(h["planned"]), "last": int(h["planned"]), "count": 1, "occ": key[-64:],
                                "trig": h["trig"], "owner": h["owner"], "state": h["state"], "cause": "",
                                "fence": int(h["fence"]) if h.get("fence") else None, "store": "redis"})
    # An occurrence that the store had to call unknown is told again by the owner that knows better.
    last = {r["occ"]: r for r in records if r["occ"]}
    return [r for r in records if not r["occ"] or r is last[r["occ"]] or (r["state"], r["cause"]) != ("unknown", "barrier")]


def millis(line):
    """A line's own wall time."""
    text = line["t"]
    whole = datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return whole.timestamp() * 1000 + int(text[20:26]) / 1000


def one_start(c):
    for what, seen in (("run lines", c.runs), ("requests", c.requests), ("commands", c.lives)):
        for occ, n in collections.Counter(one["occ"] for one in seen).items():
            if n > 1:
                one = next(o for o in seen if o["occ"] == occ)
                yield f"I1: {n} {what} of {one['task']} planned {one['planned']}"


def intervals(c, runs):
    """(start, end, what) of each run of a unit by the boot clock. The end of a run whose process died is known from
    below only: that process had written its last line by then."""
    lives = {l["trig"]: l for l in c.lives}
    last_line = collections.defaultdict(int)
    for line in c.lines:
        who = line["file"].split(".")[:4]
        last_line[tuple(who)] = max(last_line[tuple(who)], line["b"])
    for run in runs:
        keeper = next((l["keeper"] for l in c.lines if l["e"] == "child" and l["trig"] == run["trig"]), None)
        start, end = run["b"], run["b"]
        if run["trig"] in lives and keeper not in c.rig.keepers_killed:
            end = lives[run["trig"]]["last"]
        if run["trig"] in c.own_finish:
            end = max(end, c.own_finish[run["trig"]]["b"] - 50 * NS_A_MS if run["trig"] in lives else run["b"])
            end = max(end, run["b"] + c.own_finish[run["trig"]].get("run_us", 0) * 1000 - NS_A_MS)
        yield start, end, run


def no_overlap(c):
    for unit, runs in c.runs_by_unit().items():
        task = c.tasks[unit[0]]
        if c.may_lose_lease(task):
            continue
        most = task["max_running"] if task["overlap"] == "concurrent" else 1
        going = []
        for start, end, run in sorted(intervals(c, runs), key=lambda i: i[0]):
            going = [(e, r) for e, r in going if e > start]
            if len(going) >= most:
                e, other = going[0]
                yield (f"I2: {unit} planned {run['planned']} began {(e - start) / NS_A_MS:.3f} ms before the end of "
                       f"{other['planned']} (at most {most})")
            going.append((end, run))


def fences_rise(c):
    for store in ("local", "redis"):
        granted = [r for r in c.records if r["store"] == store and r["fence"]]
        for fence, n in collections.Counter(r["fence"] for r in granted).items():
            if n > 1:
                yield f"I3: fence {fence} was given {n} times by {store}"
    # A record is as old as its decision; what waited was given its fence when it was started.
    for a, b in pairs([r for r in c.records if r["store"] == "local" and r["fence"] and c.tasks[r["task"]]["overlap"] != "queue"]):
        if b["fence"] <= a["fence"]:
            yield f"I3: fence {b['fence']} of {b['task']} {b['planned']} after {a['fence']} of {a['task']} {a['planned']}"
    for unit, runs in c.runs_by_unit().items():
        for a, b in pairs(sorted(runs, key=lambda l: l["planned"])):
            if int(b["fence"]) <= int(a["fence"]) and a["occ"] != b["occ"]:
                yield f"I3: {unit} planned {b['planned']} has fence {b['fence']} after {a['fence']} of {a['planned']}"
    for r in c.runs:
        for record in c.by_occ[r["occ"]]:
            if record["fence"] != int(r["fence"]):
                yield f"I3: {r['task']} {r['planned']} ran under {r['fence']}, its record says {record['fence']}"


def pairs(items):
    return zip(items, items[1:])


def cursors_rise(c):
    for text in c.rig.eye.back:
        yield "I4: " + text


def on_grid(record, task):
    first, last = record["planned"], record["last"]
    return grid.is_due(task, first) and grid.is_due(task, last) and grid.count(task, first, last) == record["count"]


def covered(c):
    units = collections.defaultdict(list)
    for r in c.records:
        units[r["task"], r["scope"], r["shard"]].append(r)
    for unit, cursor in c.cursors.items():
        if c.tasks[unit[0]]["path"] != "redis" and unit not in units and cursor > c.rig.eye.first.get(unit, cursor):
            yield f"I5: {unit} has a cursor that moved and no record"
    for unit, records in units.items():
        task = c.tasks[unit[0]]
        records.sort(key=lambda r: (r["planned"], r["last"]))
        for r in records:
            if not on_grid(r, task):
                yield f"I5: {unit} has a record off the grid: {r['planned']}..{r['last']} x{r['count']}"
        for a, b in pairs(records):
            if b["planned"] <= a["last"]:
                yield f"I5: {unit} decided {b['planned']} twice: {a['state']} {a['cause']}, {b['state']} {b['cause']}"
            elif b["planned"] != grid.after(task, a["last"]):
                yield f"I5: {unit} has nothing between {a['last']} and {b['planned']}"
        cursor = c.cursors.get(unit)
        if cursor is not None and records[0]["store"] == "local" and cursor != records[-1]["last"]:
            yield f"I5: {unit} has its cursor at {cursor}, its newest record at {records[-1]['last']}"


def alive(c):
    """What nothing hinders goes on: every unit was decided until shortly before the end."""
    if c.rig.goes_on_killing():
        return
    newest = collections.defaultdict(int)
    for r in c.records:
        unit = r["task"], r["scope"], r["shard"]
        newest[unit] = max(newest[unit], r["last"])
    for t in c.tasks.values():
        for shard in range(t["shards"]):
            unit = t["name"], c.node_id if t["scope_all"] else "", shard
            behind = c.rig.stopped_at - newest[unit]
            if behind > t["every_ms"] + 1400:
                yield f"L: {unit} was decided last {behind} ms before the end"


def cut_is_said(c):
    for r in c.records:
        if r["state"] == "running":
            yield f"I6: {r['task']} {r['planned']} is {r['state']} after the end ({r['trig']})"
    for run in c.runs:
        records = c.by_occ[run["occ"]]
        if len(records) != 1:
            yield f"I6: {run['task']} {run['planned']} ran and has {len(records)} records"
            continue
        state = records[0]["state"]
        if state in ("skipped", "missed", "queued"):
            yield f"I6: {run['task']} {run['planned']} ran, its record says {state}"
        own = c.own_finish.get(run["trig"])
        if own and own["state"] != state and state not in ("interrupted", "unknown"):
            yield f"I6: {run['task']} {run['planned']} ended as {own['state']}, its record says {state}"
    for r in c.records:
        ran = any(l["occ"] == r["occ"] for l in c.runs) if r["occ"] and r["fence"] else True
        if not ran and r["state"] not in START_LESS:
            yield f"I6: {r['task']} {r['planned']} is {r['state']} without a run line"


def said_in_logs(c):
    """What was decided without a start, or ended by another, has its line."""
    if c.plan.kinds & {"full_log"}:
        return
    told = collections.defaultdict(list)
    for l in c.lines:
        if l["e"] in ("skip", "miss"):
            told[c.unit_of(l)].append((l["first"], l["last"], l["state"]))
    ended = {l["occ"] for l in c.lines if l["e"] == "finish"}
    ran = {l["occ"] for l in c.runs}
    for r in c.records:
        unit = r["task"], r["scope"], r["shard"]
        if r["state"] == "queued":
            continue   # who starts it will say so
        # A claim whose answer was lost is made void: it has a fence, and a line as what was never granted.
        if r["occ"] and r["fence"] and r["state"] != "missed":
            unheard = r["state"] == "interrupted" or r["occ"] not in ran
            if unheard and r["occ"] not in ended:
                yield f"I6: no line says that {unit} {r['planned']} was {r['state']} ({r['cause']})"
        elif r["state"] != "unknown" and (r["planned"], r["last"], r["state"]) not in told[unit]:
            yield f"I6: no line says that {unit} {r['planned']}..{r['last']} was {r['state']} ({r['cause']})"


def not_early(c):
    skew = 701 if "skew" in c.plan.kinds else 0   # the clock may be set back between the look at it and the line
    for run in c.runs:
        if millis(run) < run["planned"] - skew:
            yield f"I7: {run['task']} {run['planned']} began {run['planned'] - millis(run):.3f} ms early by its own clock"
    for q in c.requests:
        if q["wall"] < (q["planned"] - skew) * NS_A_MS:
            yield f"I7: a request of {q['task']} {q['planned']} came {q['planned'] - q['wall'] / NS_A_MS:.3f} ms early"


def line_first(c):
    for q in c.requests:
        if not q["line"]:
            yield f"I8: a request of {q['task']} {q['planned']} came before its run line ({q['trig']})"
    for one, moment in [(q, q["seen"]) for q in c.requests] + [(l, l["began"]) for l in c.lives]:
        run = c.run_of.get(one["trig"])
        if not run:
            yield f"I8: {one['task']} {one['planned']} had an effect and no run line ({one['trig']})"
        elif run["b"] > moment:
            yield f"I8: the run line of {one['task']} {one['planned']} is {(run['b'] - moment) / NS_A_MS:.3f} ms late"
        elif run["occ"] != one["occ"] or int(run["fence"]) != one["fence"] or run["planned"] != one["planned"]:
            yield f"I8: what {one['task']} {one['planned']} was told differs from its run line"


def proof_agrees(c, proof):
    """`onced prove` must come to the same view of the same logs."""
    allowed = {0}
    if c.plan.kinds & {"full_log", "redis_restart"}:
        allowed.add(3)   # lines were really lost, or the store had to call what it may have forgotten unknown
    if proof.code not in allowed and not proof.lacks_ends_only:
        verdicts = {t["task"]: t.get("verdict") for t in proof.report.get("tasks", [])}
        yield f"prove: exit {proof.code} ({proof.report.get('verdict')}; {verdicts}) {proof.error.strip()[:300]}"
        return
    seen, told = collections.Counter(l["task"] for l in c.runs), collections.Counter()
    for t in proof.report.get("tasks", []):
        told[t["task"]] += t["executions"]
    for task in set(seen) | set(told):
        if told[task] != seen[task]:
            yield f"prove: counts {told[task]} executions of {task}, there are {seen[task]} run lines"


def old_leaders_are_refused(c):
    """After a newer term nothing is granted to the leader of before, whatever it believes."""
    for pid, fence in c.rig.deposed:
        for r in c.records:
            if r["store"] == "local" and r["fence"] and r["fence"] > fence and f".{pid}." in r["owner"] and \
                    c.tasks[r["task"]]["path"] == "dedicated":
                yield f"I2: {r['task']} {r['planned']} was granted to a leader whose term was over ({r['owner']})"


def clean_words(c):
    """Nothing of a sanitizer, an assertion or a name of a bug in what the processes said."""
    for found in re.findall(r".*(?:Sanitizer|runtime error:|Assertion|went back|no child of ours).*", c.rig.node.text()):
        yield "output: " + found[:200]


PROMISES = (one_start, no_overlap, fences_rise, cursors_rise, covered, alive, cut_is_said, said_in_logs, not_early, line_first,
            old_leaders_are_refused, *policies.PROMISES, clean_words)


def judge(case, proof):
    found = [*case.rig.wrong]
    for promise in PROMISES:
        found += promise(case)
    return found + list(proof_agrees(case, proof))


def tampering_shows(case, folder, prove):
    """The same logs with one line torn, taken away or doubled must not be called clean: neither a run line, nor one
    that no count would miss."""
    r = random.Random(case.plan.seed)
    places = {True: [], False: []}
    for path in sorted((case.rig.folder / "node/log/triggers").glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True) if path.stat().st_size < 4 << 20 else []
        for i, line in enumerate(lines[1:-2], 1):
            if line.startswith((b'{"e":"run"', b'{"e":"attempt"')):
                places[line.startswith(b'{"e":"run"')].append((path, i))
    for where in places.values():
        if not where:
            continue
        victim, i = r.choice(where)
        lines = victim.read_bytes().splitlines(keepends=True)
        ways = {"torn": [lines[i][:len(lines[i]) // 2] + b"\n"], "taken away": [], "doubled": [lines[i], lines[i]]}
        for way, instead in ways.items():
            copy = folder / "tampered"
            shutil.copytree(case.rig.folder / "node/log", copy)
            (copy / "triggers" / victim.name).write_bytes(b"".join(lines[:i] + instead + lines[i + 1:]))
            if prove(copy).code == 0:
                yield f"prove: a line {way} in {victim.name} (line {i + 1}) was accepted"
            shutil.rmtree(copy)
