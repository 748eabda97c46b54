"""From a seed to what a group of nodes lives through: its tasks, and a fault every two seconds. Drawing touches
nothing, so that a seed can be printed and means the same tomorrow."""
import dataclasses
import random

NODES, WORKERS = 3, 4
FAULT_EVERY = 2.0
LEASE_MS = 1000
BEGIN_SECONDS = 3.0          # without a fault, so that every unit has begun
PERIODS_MS = (1000, 100)

# How often each kind is drawn, and how long it may last, in seconds.
FAULTS = {
    "kill_worker": (4, (0,)), "kill_master": (2, (0,)), "stop_node": (3, (1.5, 2.5, 3.5)),
    "stop_at_effect": (3, (1.5, 2.5)), "cut": (2, (0.2, 1, 3)),
    "half_open": (3, (0.3, 1, 3)), "lose_replies": (4, (0.2, 1)), "delay": (2, (1, 3)), "refuse": (1, (1, 3)),
    "sever": (1, (0,)), "redis_restart": (1, (0, 0.5, 1.5)), "scripts_flushed": (2, (0,)), "clients_killed": (2, (0,)),
    "clients_paused": (2, (0.3, 1, 2)), "clock": (3, (2, 4, 8)),
}
NET_FAULTS = {"unplug": (4, (0.5, 1.5, 3))}


@dataclasses.dataclass
class Fault:
    at: float
    kind: str
    node: int
    seconds: float
    which: float      # 0..1: which of those that could be meant, or how much

    def __str__(self):
        return f"{self.at:.2f}s {self.kind} on n{self.node} ({self.seconds}s, {self.which:.2f})"


@dataclasses.dataclass
class Plan:
    seed: int
    active: float
    scopes: tuple
    net: bool
    tasks: list
    faults: list

    @property
    def kinds(self):
        return {f.kind for f in self.faults}

    def text(self):
        where = "namespaces" if self.net else "loopback"
        return "\n".join([f"seed {self.seed}: {NODES} nodes, {self.active:.1f} s, {where}",
                          *(f"  {t['name']}: {t}" for t in self.tasks), *(f"  {f}" for f in self.faults)])


def draw_tasks(r, scopes):
    """Each scope has a slow task that is a command, and a quick one that asks a sink; of one seed in two, also one of
    the quick ones is a command."""
    tasks = [{"name": f"{scope}{period}", "scope": scope, "every_ms": period,
              "runner": "exec" if period == 1000 else "http", "run_ms": r.choice((0, 5, 30))}
             for scope in scopes for period in PERIODS_MS]
    if r.random() < 0.5:
        next(t for t in tasks if t["name"] == "auto100")["runner"] = "exec"
    return tasks


def draw(seed, active, scopes, net):
    r = random.Random(f"group {seed}")
    kinds = {**FAULTS, **(NET_FAULTS if net else {})}
    faults, at = [], BEGIN_SECONDS
    while at < active:
        kind = r.choices(list(kinds), [often for often, _ in kinds.values()])[0]
        faults.append(Fault(at + r.uniform(0, 0.5), kind, r.randrange(NODES), r.choice(kinds[kind][1]), r.random()))
        at += FAULT_EVERY
    return Plan(seed, active, tuple(scopes), net, draw_tasks(r, scopes), faults)
