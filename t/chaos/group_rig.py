"""Three nodes on one Redis under a plan, each behind a proxy of its own: their processes, and the faults, each done at
its moment and undone. With namespaces each node has its own address, and its link can be unplugged."""
import contextlib
import os
import pathlib
import signal
import time

import clockwork
import course
import kit
import wire
import witness
from group_plan import LEASE_MS, NODES, WORKERS
from redis_wire import Wire

SETTLE_SECONDS = 20
CALM_SECONDS = 4          # a restarted Redis grants nothing for as long as a lease of before could live
CLOCK_STEPS = (-5, 5)


class Member:
    """One node of the group, and what stands between it and the others."""

    def __init__(self, rig, i):
        self.i = i
        self.wire = wire.Wire(rig.redis.port, rig.host)
        (rig.folder / f"n{i}").mkdir()
        self.clock = clockwork.Clock(rig.folder / f"n{i}")
        # A process stops between its run line and the effect when this file is not there, and makes it.
        self.gate = rig.folder / f"n{i}/gate.line-written"
        self.gate.touch()
        env = {**self.clock.env, "ONCED_FAULT": "line-written:stop", "ONCED_FAULT_ONCE": str(self.gate.with_suffix(""))}
        self.node = kit.Node(rig.folder, rig.config(self), env, f"n{i}", rig.net.wrap(i) if rig.net else ())
        self.stopped = {}     # pid -> start ticks
        self.down = False

    def stop(self):
        """All but keepers and commands stand still."""
        for pid in [self.node.pid, *(pid for pid, title in self.node.titles().items() if "onced:" in title)]:
            stat = kit.stat_of(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                self.stopped[pid] = stat and stat[2]

    def go_on(self):
        for pid, ticks in self.stopped.items():
            stat = kit.stat_of(pid)
            if stat and stat[2] == ticks:
                os.kill(pid, signal.SIGCONT)
        self.stopped = {}


class Rig(course.Course):
    def __init__(self, plan, folder, build, net=None):
        super().__init__()
        self.plan, self.folder, self.build, self.net = plan, pathlib.Path(folder), pathlib.Path(build), net
        self.host = net.host if net else "127.0.0.1"
        self.redis_down = False
        self.lives = self.folder / "lives"
        self.lives.mkdir()
        self.redis = kit.Redis(self.folder / "redis", host=self.host)
        self.sink = witness.Sink(f"{self.folder}/n*/log", self.host)
        self.members = [Member(self, i) for i in range(NODES)]

    def config(self, member):
        return {"workers": WORKERS, "redis": {"url": member.wire.url, "app": "chaos"},
                "defaults": {"history": 100000}, "tasks": [self.task(t) for t in self.plan.tasks]}

    def task(self, t):
        one = {"name": t["name"], "every": f"{t['every_ms']}ms", "scope": t["scope"], "singleton": "redis",
               "lease": f"{LEASE_MS}ms", "timeout": "5s"}
        if t["runner"] == "http":
            return {**one, "http": {"url": f"{self.sink.url}/{t['name']}?ms={t['run_ms']}"}}
        argv = [str(self.build / "t/chaos/chaos-task"), str(self.lives), str(t["run_ms"])]
        return {**one, "exec": {"argv": argv, "kill_after": "500ms"}}

    # The course of it.

    def live(self):
        for m in self.members:
            m.node.start()
        self.all_began = time.time()
        self.run(self.plan, self.mind_masters)
        self.settle()
        self.stopped_at = time.time_ns() // 1000000
        for m in self.members:
            m.node.send(signal.SIGTERM)
        for m in self.members:
            code = m.node.stop(seconds=60)
            if code not in (0, 1):
                self.wrong.append(f"n{m.i}: the master ended with {code} after TERM")

    def mind_masters(self):
        for m in self.members:
            code = m.node.process.poll()
            if code is not None and not m.down:
                self.wrong.append(f"n{m.i}: the master ended by itself: {code}")
                self.say(f"n{m.i}: the master ended with {code}, started again")
                m.node.start(ready=False)

    def settle(self):
        """All faults are over; what they left must mend by itself."""
        for m in self.members:
            m.wire.heal()
        end = time.monotonic() + SETTLE_SECONDS
        while any(len(m.node.workers()) < WORKERS for m in self.members):
            self.mind_masters()
            if time.monotonic() > end:
                self.wrong.append(f"{SETTLE_SECONDS} s after the last fault workers are missing")
                break
            time.sleep(0.05)
        time.sleep(CALM_SECONDS)

    def end(self):
        """Whatever happened: nothing of it stays."""
        for m in self.members:
            m.go_on()
            m.node.end()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for m in self.members:
            m.wire.end()
        self.redis.end()
        self.sink.end()

    def processes(self):
        """All of this group, also those that lost their master, known by the clock file in their environment."""
        wanted = f"ONCED_FLOW_CLOCK={self.folder}/".encode()
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if wanted in path.read_bytes() and int(path.parent.name) != os.getpid():
                    yield int(path.parent.name)

    # Faults.

    def do(self, f):
        try:
            told = getattr(self, "do_" + f.kind)(f, self.members[f.node])
        except (ProcessLookupError, OSError, ValueError, IndexError) as e:
            told = f"found nothing to do it to ({e.__class__.__name__} {e})"
        self.say(f"{f}: {told}")

    def do_kill_worker(self, f, m):
        pids = sorted(m.node.workers().values())
        os.kill(pids[int(f.which * len(pids))], signal.SIGKILL)
        return f"killed {pids[int(f.which * len(pids))]}"

    def do_kill_master(self, f, m):
        pid = m.node.pid
        m.down = True
        m.node.process.kill()
        m.node.process.wait()
        m.node.start(ready=False)
        m.down = False
        return f"killed {pid}, {m.node.pid} comes"

    def do_stop_node(self, f, m):
        m.stop()
        self.after(f.seconds, m.go_on)
        return f"{len(m.stopped)} processes stand still"

    def do_stop_at_effect(self, f, m):
        """For debug builds, which have the points."""
        m.gate.unlink()

        def look(tries=20):
            pid = m.gate.read_text().strip() if m.gate.exists() else ""
            if pid:
                self.say(f"{pid} stands still before its effect")
                self.after(f.seconds, lambda: int(pid) in self.processes() and os.kill(int(pid), signal.SIGCONT))
            elif tries:
                self.after(0.1, lambda: look(tries - 1))
            else:
                m.gate.touch()
        look()

    def healed(self, f, m):
        self.after(f.seconds, m.wire.heal)

    def do_cut(self, f, m):
        m.wire.cut()
        self.healed(f, m)

    def do_half_open(self, f, m):
        m.wire.stalled = True
        self.healed(f, m)

    def do_lose_replies(self, f, m):
        m.wire.lose_replies = True
        self.healed(f, m)

    def do_delay(self, f, m):
        m.wire.delay = 0.01 + 0.2 * f.which
        self.healed(f, m)
        return f"{m.wire.delay * 1000:.0f} ms each way"

    def do_refuse(self, f, m):
        m.wire.refuses = True
        m.wire.sever()
        self.healed(f, m)

    def do_sever(self, f, m):
        m.wire.sever()

    def do_unplug(self, f, m):
        self.net.unplug(m.i)
        self.after(f.seconds, lambda: self.net.plug(m.i))

    def do_clock(self, f, m):
        step = CLOCK_STEPS[int(f.which * len(CLOCK_STEPS))]
        m.clock.step(step)
        self.after(f.seconds, lambda: m.clock.step(-step))
        return f"{step} s"

    def do_redis_restart(self, f, m):
        if self.redis_down:
            return "is down already"
        self.redis_down = True
        self.redis.process.kill()
        self.redis.process.wait()

        def again():
            self.redis.start()
            self.redis_down = False
        self.after(f.seconds, again)
        return "redis is killed"

    def redis_told(self, *words):
        with Wire(self.redis.port, host=self.host) as redis:
            return redis(*words)

    def do_scripts_flushed(self, f, m):
        return self.redis_told("SCRIPT", "FLUSH")

    def do_clients_killed(self, f, m):
        return self.redis_told("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal")

    def do_clients_paused(self, f, m):
        return self.redis_told("CLIENT", "PAUSE", int(f.seconds * 1000), "ALL")
