"""Judges what a group lived through by what sinks and commands saw and by the logs of all nodes, without `onced prove`;
then that `onced prove` comes to the same. Each function tests one promise and gives back what breaks it."""
import collections
import datetime
import re

import kit
import witness
from evidence import prove_all

NS_A_MS = 1000000
TOLERANCE_MS = 50        # a claim may be this early by the store's clock
LIVE_MS = 1400
# The end of a run, or a start, may be known to nobody.
INCONCLUSIVE = {"kill_worker", "kill_master", "redis_restart"}
NOT_RUN = ("dropped", "skipped", "recorded_missed", "failed_unstarted", "interrupted_unstarted", "unsure", "queued")


class Case:
    def __init__(self, rig):
        self.rig, self.plan = rig, rig.plan
        self.tasks = {t["name"]: t for t in rig.plan.tasks}
        self.requests, self.lives = list(rig.sink.requests), witness.lives_of(rig.lives)
        self.lines = [line for m in rig.members for line in witness.lines_of(m.node.logs)[0]]
        self.runs = [l for l in self.lines if l["e"] == "run"]
        self.run_of = {l["trig"]: l for l in self.runs}

    def prove(self):
        return prove_all([m.node for m in self.rig.members])

    def prove_since(self, ms):
        when = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        *logs, last = [m.node.logs for m in self.rig.members]
        return kit.prove(last, "--since", when, *logs)

    def facts(self):
        return {"refused": sum(len(refused) for _, refused in sinks(self)), "effects": len(self.requests) + len(self.lives)}


def unit_of(line):
    return line["task"], line.get("key", ""), line["shard"]


def by_unit(lines):
    units = collections.defaultdict(list)
    for line in lines:
        units[unit_of(line)].append(line)
    return units


def one_start(c):
    for what, seen in (("run lines", c.runs), ("requests", c.requests), ("commands", c.lives)):
        for occ, n in collections.Counter(one["occ"] for one in seen).items():
            if n > 1:
                one = next(o for o in seen if o["occ"] == occ)
                yield f"{n} {what} of {one['task']} planned {one['planned']}"
    for unit, runs in by_unit(c.runs).items():
        for planned, n in collections.Counter(l["planned"] for l in runs).items():
            if n > 1:
                yield f"{unit} planned {planned} was started {n} times"


def fences_rise(c):
    """The order of the plan is the order of the fences, whoever ran what."""
    for unit, runs in by_unit(c.runs).items():
        runs.sort(key=lambda l: l["planned"])
        for a, b in zip(runs, runs[1:]):
            if int(b["fence"]) <= int(a["fence"]):
                yield f"{unit} planned {b['planned']} has fence {b['fence']} after {a['fence']} of {a['planned']}"


def sinks(c):
    """What a sink that keeps the highest fence of each unit took, and refused, in the order of arrival."""
    arrivals = collections.defaultdict(list)
    for one, moment in [(q, q["seen"]) for q in c.requests] + [(l, l["began"]) for l in c.lives]:
        run = c.run_of.get(one["trig"])
        if run:
            arrivals[unit_of(run)].append((moment, one))
    for unit, seen in arrivals.items():
        taken, refused = [], []
        for _, one in sorted(seen, key=lambda s: s[0]):
            (refused if taken and one["fence"] <= taken[-1]["fence"] else taken).append(one)
        yield taken, refused


def none_stale(c):
    """What such a sink takes never goes back in the plan."""
    for taken, _ in sinks(c):
        for a, b in zip(taken, taken[1:]):
            if b["planned"] <= a["planned"]:
                yield f"a sink took {b['task']} {b['planned']} after {a['planned']} (fences {b['fence']}, {a['fence']})"


def line_first(c):
    for one, moment in [(q, q["seen"]) for q in c.requests] + [(l, l["began"]) for l in c.lives]:
        run = c.run_of.get(one["trig"])
        if not run or run["b"] > moment:
            yield f"{one['task']} {one['planned']} had an effect before its run line ({one['trig']})"
        elif run["occ"] != one["occ"] or int(run["fence"]) != one["fence"] or run["planned"] != one["planned"]:
            yield f"what {one['task']} {one['planned']} was told differs from its run line"


def not_early(c):
    """By the clock of the machine, which is Redis's and which nobody sets."""
    for q in c.requests:
        if q["wall"] < (q["planned"] - TOLERANCE_MS) * NS_A_MS:
            yield f"a request of {q['task']} {q['planned']} came {q['planned'] - q['wall'] / NS_A_MS:.3f} ms early"


def not_run(c):
    """unit -> (instants that did not run although they lie between the first and the last decision, those of them that
    lines name). A node that is down decides nothing of its own units; its next life says so."""
    decisions = [l for l in c.lines if l["e"] in ("run", "skip", "miss", "finish") and "task" in l]
    for unit, lines in by_unit(decisions).items():
        ran = {l["planned"] for l in lines if l["e"] == "run"}
        named = {l["planned"] for l in lines if l["e"] == "finish"}
        step = c.tasks[unit[0]]["every_ms"]
        for l in lines:
            if l["e"] in ("skip", "miss"):
                named.update(range(l["first"], l["last"] + 1, step))
        decided = ran | named
        yield unit, set(range(min(decided), max(decided) + 1, step)) - ran, named


def all_named(c):
    for unit, left, named in not_run(c):
        for planned in sorted(left - named)[:5]:
            yield f"{unit}: nothing says why {planned} did not run"


def decided_once(c):
    """What one process ran, no other gave up. A store that had to call a run unknown hears of its end later."""
    for unit, lines in by_unit(l for l in c.lines if l["e"] in ("run", "skip", "miss")).items():
        ran = {l["planned"] for l in lines if l["e"] == "run"}
        for l in lines:
            if l["e"] != "run" and l["state"] != "unknown":
                for planned in sorted(ran & set(range(l["first"], l["last"] + 1, c.tasks[unit[0]]["every_ms"])))[:5]:
                    yield f"{unit} planned {planned} ran and is {l['state']} ({l['cause']})"


def alive(c):
    """What nothing hinders goes on: every unit was decided until shortly before the end."""
    newest = collections.defaultdict(int)
    for l in c.lines:
        if l["e"] in ("run", "skip", "miss"):
            newest[unit_of(l)] = max(newest[unit_of(l)], l.get("last", l.get("planned")))
    for t in c.plan.tasks:
        units = [u for u in newest if u[0] == t["name"]]
        wanted = len(c.rig.members) if t["scope"] == "all" else 1
        if len(units) != wanted:
            yield f"{t['name']} has {len(units)} units, not {wanted}"
        for unit in units:
            behind = c.rig.stopped_at - newest[unit]
            if behind > t["every_ms"] + LIVE_MS:
                yield f"{unit} was decided last {behind} ms before the end"


def clean_words(c):
    for m in c.rig.members:
        for found in re.findall(r".*(?:Sanitizer|runtime error:|Assertion|no child of ours).*", m.node.text()):
            yield f"n{m.i} said: {found[:200]}"


def proof_agrees(c, proof):
    """`onced prove` over the logs of all nodes must come to the same."""
    allowed = (0, 3) if c.plan.kinds & INCONCLUSIVE else (0,)
    if proof.code not in allowed or proof.report["troubles"]:
        yield (f"prove: exit {proof.code} ({proof.report.get('verdict')}) {proof.report.get('troubles')} "
               f"{proof.error.strip()[:300]}")
        return
    # A unit is judged from where its first process was ready; by the next whole second all are.
    since = (int(c.rig.all_began) + 2) * 1000
    judged = c.prove_since(since)
    ran = collections.Counter(l["task"] for l in c.runs)
    absent = collections.Counter()
    for unit, left, _ in not_run(c):
        absent[unit[0]] += sum(planned >= since for planned in left)
    for name in c.tasks:
        t = proof.task(name)
        if t["executions"] != ran[name]:
            yield f"prove: {t['executions']} executions of {name}, there are {ran[name]} run lines"
        told = sum(judged.task(name)[way] for way in NOT_RUN)
        if t["duplicates"] or t["missed"] or not t["fences_in_order"]:
            yield f"prove: {name} is {t['verdict']}, the lines say otherwise"
        if told != absent[name]:
            yield f"prove: {told} instants of {name} did not run, by the lines {absent[name]}"


PROMISES = (one_start, fences_rise, none_stale, line_first, not_early, all_named, decided_once, alive, clean_words)


def judge(case, proof):
    for promise in PROMISES:
        yield from promise(case)
    yield from proof_agrees(case, proof)
