"""From a seed to what one history is made of: tasks, workers, and faults with their moments. Drawing touches
nothing, so that a seed can be printed and means the same tomorrow."""
import dataclasses
import random

ACTIVE_SHORT, ACTIVE_LONG = (3.0, 4.5), (8.0, 24.0)
STARTS_A_SECOND, COMMANDS_A_SECOND = 90, 12
HANG_MS = 2000

# Kind of fault: how often it is drawn, and what it needs.
FAULTS = {
    "kill_worker": 4, "kill_timer": 3, "kill_all_workers": 1, "kill_console": 1, "kill_master": 1.5, "kill_keeper": 1.5,
    "stop_worker": 2.5, "stop_timer": 1.5, "hang_worker": 0.8, "stop_master": 1, "stop_console": 0.5, "stop_keeper": 0.7,
    "slow_disk": 2, "failing_disk": 1.2, "lock_held": 2, "full_log": 0.7, "full_state": 0.7, "skew": 1.5, "more_workers": 0.4,
    "reopen_logs": 0.6, "depose": 0.8,
}
REDIS_FAULTS = {"redis_restart": 0.6, "redis_stopped": 1, "redis_clients_killed": 1.5, "redis_scripts_flushed": 1}

# Points at which a process can be cut from inside, and what fits there.
POINTS = ("attempt-sent", "answered", "lock-taken", "turn-taken", "granted", "line-written", "started", "finished-not-recorded",
          "recorded", "claim-held", "commit-held", "turn-end", "led")


# Seconds of a minute, in words and as they are; none stays away for more than four.
CRONS = (("* * * * * *", range(60)), ("*/2 * * * * *", range(0, 60, 2)), ("*/3 * * * * *", range(0, 60, 3)),
         ("0-59/4,1,30 * * * * *", sorted({*range(0, 60, 4), 1, 30})), ("5-55,57,59,0-4/3 * * * * *", [0, 3, *range(5, 56), 57, 59]))
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia")


@dataclasses.dataclass
class Fault:
    at: float
    kind: str
    seconds: float
    which: float      # 0..1: which of those that could be meant

    def __str__(self):
        return f"{self.at:.2f}s {self.kind} ({self.seconds:.2f}s, {self.which:.2f})"


@dataclasses.dataclass
class Plan:
    seed: int
    workers: int
    active: float
    redis: bool
    tmpfs: bool
    env: dict
    tasks: list
    faults: list

    @property
    def kinds(self):
        return {f.kind for f in self.faults}

    def text(self):
        tasks = "\n".join(f"  {t['name']}: {t}" for t in self.tasks)
        return (f"seed {self.seed}: {self.workers} workers, {self.active:.1f} s, env {self.env}\n{tasks}\n  "
                + "\n  ".join(map(str, self.faults)))


def draw_task(r, number, redis):
    """A task with the words of the harness: run_ms is turned into a target by the rig."""
    runner = r.choices(("http", "exec", "noop"), (4, 3, 3))[0]
    every = r.choice((50, 100, 200, 250, 500, 1000, 2000))
    if runner == "exec":
        every = max(every, 200)
    path = r.choice(("dedicated", "flock", "redis") if redis else ("dedicated", "flock"))
    run_ms = 0 if runner == "noop" else min(1500, int(r.choice((0, 1, 5, 20, every * 0.5, every * 1.5, every * 3))))
    task = {"name": f"t{number}", "path": path, "runner": runner, "every_ms": every, "run_ms": run_ms,
            "overlap": r.choices(("drop", "concurrent"), (3, 1))[0], "max_running": r.randint(2, 3),
            "shards": r.choices((1, 2, 3), (8, 1, 1))[0], "timeout_ms": 5000,
            "manner": r.choice(("", "", "child", "deaf")), "scope_all": path != "redis" and r.random() < 0.2, "lease_ms": 30000}
    if run_ms > 200 and r.random() < 0.2:
        task["timeout_ms"] = run_ms // 2
    if r.random() < 0.2:
        task["grace_ms"] = r.choice((0, every * 3, 5000))
    return task


def draw_time(r, task):
    """Cron, queues and catching up are drawn beside the rest, so that a seed of before still means its faults."""
    if r.random() < 0.25:
        text, seconds = r.choice(CRONS)
        gap = max(b - a for a, b in zip(seconds, [*seconds[1:], seconds[0] + 60]))
        task |= {"cron": text, "seconds": tuple(seconds), "tz": r.choice(ZONES), "every_ms": gap * 1000}
    if task["overlap"] == "drop" and r.random() < 0.3:
        task |= {"overlap": "queue", "queue_limit": r.choice((1, 2, 3, 10, 100))}
    if r.random() < 0.25:
        task |= {"limit": r.choice((1, 3, 10) if task["runner"] == "exec" else (1, 3, 20, 200)),
                 "lookback_ms": r.choice((1000, 5000, 3600000)), "first": r.choice(("window", "next"))}
        if task["overlap"] == "drop" and r.random() < 0.7:
            task |= {"overlap": "queue", "queue_limit": r.choice((2, task["limit"]))}
    return task


def draw_held_take(r, tasks, env):
    if r.random() < 0.15 and any(t["overlap"] == "queue" and t["path"] != "redis" for t in tasks):
        more = f"take-held:{r.choice(('kill', 'stop', 'sleep=50'))}@{r.randint(2, 20)}"
        env["ONCED_FAULT"] = f"{env['ONCED_FAULT']},{more}" if "ONCED_FAULT" in env else more
    return env


def thin_out(tasks):
    """Two cores of a machine that others use too: what would only make everything late is left out."""
    kept, starts, commands = [], 0, 0
    for t in tasks:
        rate = 1000 / t["every_ms"] * t["shards"]
        own_commands = rate if t["runner"] == "exec" else 0
        if kept and (starts + rate > STARTS_A_SECOND or commands + own_commands > COMMANDS_A_SECOND):
            continue
        kept.append(t)
        starts, commands = starts + rate, commands + own_commands
    return kept


def draw_fault(r, kinds, active):
    kind = r.choices(list(kinds), list(kinds.values()))[0]
    seconds = r.choice((0.02, 0.1, 0.3, 0.8, 1.5))
    if kind == "hang_worker":
        seconds = HANG_MS / 1000 + 3
    if kind in ("kill_master", "redis_restart"):
        seconds = r.choice((0, 0.2, 0.8))
    return Fault(r.uniform(0.4, active), kind, seconds, r.random())


def draw_env(r):
    env = {}
    if r.random() < 0.45:
        cuts = []
        for _ in range(r.randint(1, 2)):
            point = r.choice(POINTS)
            action = "sleep=%d" % r.choice((5, 50, 400)) if point in ("claim-held", "commit-held", "lock-taken") else "kill"
            passage = 1 if point == "led" else r.randint(8, 60)
            cuts.append(f"{point}:{r.choice((action, action, 'kill', 'stop'))}@{passage}")
        env["ONCED_FAULT"] = ",".join(cuts)
    if r.random() < 0.25:
        env["ONCED_TEST_TIMER_DELAY_MS"] = ",".join(str(r.choice((0, 1, 10, 40))) for _ in range(4))
    return env


def draw(seed, short=False):
    r = random.Random(seed)
    active = r.uniform(*(ACTIVE_SHORT if short else ACTIVE_LONG))
    redis = r.random() < 0.4
    tasks = thin_out([draw_task(r, n, redis) for n in range(r.randint(2, 6))])
    redis = any(t["path"] == "redis" for t in tasks)
    kinds = {**FAULTS, **(REDIS_FAULTS if redis else {})}
    faults = sorted((draw_fault(r, kinds, active) for _ in range(r.randint(2, 5) if short else r.randint(4, 14))),
                    key=lambda f: f.at)
    workers, env, beside = r.randint(2, 6), draw_env(r), random.Random(f"time {seed}")
    tasks = [draw_time(beside, t) for t in tasks]
    plan = Plan(seed, workers, active, redis, any(f.kind.startswith("full_") for f in faults),
                draw_held_take(beside, tasks, env), tasks, faults)
    if "redis_restart" in plan.kinds:
        # After a restart nothing is granted for as long as a lease of before could live.
        for t in tasks:
            t["lease_ms"] = 1000
    return plan
