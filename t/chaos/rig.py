"""One node under a plan: its processes, what they talk to, and the faults, each done at its moment and undone."""
import collections
import contextlib
import errno
import fcntl
import mmap
import os
import pathlib
import signal
import sqlite3
import struct
import subprocess
import time

import course
import draw
import kit
import policies
import witness
from redis_wire import Wire

SETTLE_SECONDS = 25
BALLOON = 24 << 20


class Control:
    """The shim's orders: layout of shim.h."""
    SKEWS = 16

    def __init__(self, path):
        self.path = path
        path.write_bytes(b"\0" * (8 + 16 * self.SKEWS))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)
        self.used = 0

    def sync(self, delay_ms=0, error=0):
        self.map[0:8] = struct.pack("ii", delay_ms, error)

    def skew(self, pid, ns):
        at = 8 + 16 * (self.used % self.SKEWS)
        self.used += 1
        self.map[at:at + 16] = struct.pack("iiq", pid, 0, ns)

    def clear(self):
        self.map[:] = b"\0" * len(self.map)


class Rig(course.Course):
    def __init__(self, plan, folder, build):
        super().__init__()
        self.plan, self.folder, self.build = plan, pathlib.Path(folder), pathlib.Path(build)
        self.keepers_killed = set()
        self.stopped = collections.Counter()   # pid -> how many stops of it are not over
        self.mounts, self.lock_fd, self.down = [], -1, False
        self.boot_to_wall_ns = time.time_ns() - witness.boottime_ns()
        self.deposed = []     # (owner's pid, fence at that moment)
        self.control = Control(self.folder / "control")
        for name in ("state", "log"):
            (self.folder / "node" / name).mkdir(parents=True, exist_ok=True)
            if plan.tmpfs and f"full_{name}" in plan.kinds:
                self.mount(self.folder / "node" / name)
        self.redis = kit.Redis(self.folder / "redis") if plan.redis else None
        self.lives = self.folder / "lives"
        self.lives.mkdir()
        self.sink = witness.Sink(self.folder / "node/log")
        self.node = kit.Node(self.folder, self.config(), self.environment())
        self.ledger = str(self.folder / "node/state/ledger.db")
        self.eye = witness.Eye(self.ledger)

    def mount(self, path):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m,mode=0700", "tmpfs", str(path)], capture_output=True)
        if done.returncode == 0:
            self.mounts.append(path)
        else:
            self.say(f"mount is not permitted: no full disk at {path.name}")

    def environment(self):
        env = {"LD_PRELOAD": str(self.build / "t/chaos/chaos-shim.so"), "ONCED_CHAOS_CONTROL": str(self.control.path),
               **self.plan.env}
        if self.plan.seed % 2:
            env["ONCED_FAULT_ONCE"] = str(self.folder / "once")
        return env

    def config(self):
        got = {"workers": self.plan.workers, "hang_timeout": f"{draw.HANG_MS}ms", "boot_timeout": "20s",
               "defaults": {"history": 100000}, "tasks": [self.task(t) for t in self.plan.tasks]}
        if self.redis:
            got["redis"] = {"url": self.redis.url, "app": "chaos"}
        return got

    def task(self, t):
        one = {"name": t["name"], "singleton": t["path"], "timeout": f"{t['timeout_ms']}ms", "shards": t["shards"],
               "overlap": "drop"}
        if "cron" in t:
            one |= {"cron": t["cron"], "tz": t["tz"]}
        else:
            one["every"] = f"{t['every_ms']}ms"
        if t["overlap"] == "concurrent":
            one["overlap"] = {"policy": "concurrent", "max_running": t["max_running"]}
        elif t["overlap"] == "queue":
            one["overlap"] = {"policy": "queue", "queue_limit": t["queue_limit"]}
        if "limit" in t:
            one["misfire"] = {"policy": "catch_up", "limit": t["limit"], "lookback": f"{t['lookback_ms']}ms"}
            one["first"] = t["first"]
        elif "grace_ms" in t:
            one["misfire"] = {"policy": "skip", "grace": f"{t['grace_ms']}ms"}
        if t["scope_all"]:
            one["scope"] = "all"
        if t["path"] == "redis":
            one["lease"] = f"{t['lease_ms']}ms"
        if t["runner"] == "http":
            one["http"] = {"url": f"{self.sink.url}/{t['name']}?ms={t['run_ms']}"}
        elif t["runner"] == "exec":
            argv = [str(self.build / "t/chaos/chaos-task"), str(self.lives), str(t["run_ms"])]
            one["exec"] = {"argv": argv + ([t["manner"]] if t["manner"] else []), "kill_after": "500ms"}
        else:
            one["noop"] = {}
        return one

    # The course of it.

    def live(self):
        self.node.start()
        self.eye.start()
        self.run(self.plan, self.mind_master)
        self.settle()
        self.stop()
        if self.goes_on_killing():
            self.live_again()
        self.eye.end()

    def live_again(self):
        """Where processes cut themselves to the very end, nobody could settle what they left: the next life does."""
        self.node.env.pop("ONCED_FAULT")
        self.node.start()
        time.sleep(1)
        self.stop()

    def mind_master(self):
        """A master that ended although nobody killed it is a fault, unless it could not begin on a full disk."""
        code = self.node.process.poll()
        if code is None or self.down:
            return
        if not self.plan.kinds & {"full_state", "full_log", "failing_disk"} or code not in (71, 73, 74, 75, 78):
            self.wrong.append(f"the master ended by itself: {code}")
        self.say(f"master ended with {code}, started again")
        self.node.start(ready=False)

    def settle(self):
        """All faults are over; what they left must mend by itself."""
        self.control.clear()
        self.mind_master()
        end = time.monotonic() + SETTLE_SECONDS
        while len(self.node.workers()) < self.plan.workers and time.monotonic() < end:
            self.mind_master()
            time.sleep(0.05)
        if len(self.node.workers()) < self.plan.workers and not self.goes_on_killing():
            self.wrong.append(f"{SETTLE_SECONDS} s after the last fault only {len(self.node.workers())} workers")
        calm = 1.5 + policies.STANDSTILL_MS / 1000 * any(t["overlap"] == "queue" for t in self.plan.tasks) + max(t["every_ms"] for t in self.plan.tasks) / 1000
        if "redis_restart" in self.plan.kinds:
            calm += 3
        time.sleep(calm)

    def goes_on_killing(self):
        cuts = self.plan.env.get("ONCED_FAULT", "")
        return "kill" in cuts or "stop" in cuts

    def stop(self):
        self.mind_master()
        self.stopped_at, self.stopped_b = time.time_ns() // 1000000, witness.boottime_ns()
        try:
            code = self.node.stop(seconds=60)
        except subprocess.TimeoutExpired:
            self.wrong.append("the master did not end within 60 s after TERM")
            return
        if code not in (0, 1):
            self.wrong.append(f"the master ended with {code} after TERM")

    def end(self):
        """Whatever happened: nothing of it stays."""
        for pid in +self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.node.end()
        for pid in self.of_this_node():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.redis:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.redis.process.pid, signal.SIGCONT)
            self.redis.end()
        self.sink.end()
        if self.lock_fd >= 0:
            os.close(self.lock_fd)
        for path in self.mounts:
            keep = path.with_name(path.name + ".kept")
            subprocess.run(["cp", "-a", str(path), str(keep)], check=False)
            subprocess.run(["umount", "-l", str(path)], check=False)

    def of_this_node(self):
        """Processes that this node left, known by the control file in their environment."""
        wanted = f"ONCED_CHAOS_CONTROL={self.control.path}".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if wanted in path.read_bytes():
                    found.append(int(path.parent.name))
        return [p for p in found if p != os.getpid()]

    # Faults.

    def do(self, f):
        try:
            told = getattr(self, "do_" + f.kind)(f)
        except (ProcessLookupError, StopIteration, AssertionError, OSError, IndexError, sqlite3.Error) as e:
            told = f"found nothing to do it to ({e.__class__.__name__} {e})"
        self.say(f"{f}: {told}")

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        return f"killed {pid}"

    def halt(self, pid, seconds):
        """Stopped and, if it still is the same process, continued: when the last of several stops is over, or one of
        them would not last as long as its fault relies on."""
        start = kit.stat_of(pid)
        os.kill(pid, signal.SIGSTOP)
        self.stopped[pid] += 1

        def go_on():
            now = kit.stat_of(pid)
            self.stopped[pid] -= 1
            if now and start and now[2] == start[2] and self.stopped[pid] == 0:
                os.kill(pid, signal.SIGCONT)
        self.after(seconds, go_on)
        return f"stopped {pid}"

    def one_of(self, pids, f):
        pids = sorted(pids)
        return pids[int(f.which * len(pids))]

    def a_worker(self, f):
        return self.one_of(self.node.workers().values(), f)

    def timer(self):
        return next(p for p, t in self.node.titles().items() if "(timer)" in t)

    def a_keeper(self, f):
        keepers = [c for w in self.node.workers().values() for c, t in kit.children_of(w).items() if "keeper" in t]
        return self.one_of(keepers, f)

    def do_kill_worker(self, f):
        return self.kill(self.a_worker(f))

    def do_kill_timer(self, f):
        return self.kill(self.timer())

    def do_kill_all_workers(self, f):
        return [self.kill(p) for p in self.node.workers().values()]

    def do_kill_console(self, f):
        return self.kill(self.node.console())

    def do_kill_keeper(self, f):
        pid = self.a_keeper(f)
        self.keepers_killed.add(pid)
        return self.kill(pid)

    def do_kill_master(self, f):
        if self.down:
            return "is down already"
        self.down = True
        self.node.process.kill()
        self.node.process.wait()

        def again():
            self.node.start(ready=False)
            self.down = False
        self.after(f.seconds, again)
        return f"killed {self.node.pid}"

    def do_stop_worker(self, f):
        return self.halt(self.a_worker(f), f.seconds)

    do_hang_worker = do_stop_worker

    def do_stop_timer(self, f):
        return self.halt(self.timer(), f.seconds)

    def do_stop_master(self, f):
        return self.halt(self.node.pid, f.seconds)

    def do_stop_console(self, f):
        return self.halt(self.node.console(), f.seconds)

    def do_stop_keeper(self, f):
        return self.halt(self.a_keeper(f), f.seconds)

    def do_slow_disk(self, f):
        ms = (5, 30, 120, 400)[int(f.which * 4)]
        self.control.sync(delay_ms=ms)
        self.after(f.seconds, self.control.sync)
        return f"{ms} ms a sync"

    def do_failing_disk(self, f):
        self.control.sync(error=errno.EIO if f.which < 0.8 else errno.ENOSPC)
        self.after(f.seconds, self.control.sync)
        return "each sync fails"

    def do_lock_held(self, f):
        if self.lock_fd >= 0:
            return "holds it already"
        fd = os.open(self.folder / "node/state/ledger.lock", os.O_RDWR | os.O_CLOEXEC)
        end = time.monotonic() + 0.5
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    os.close(fd)
                    return "another holds it"   # who stands still there
                time.sleep(0.0005)
        self.lock_fd = fd

        def let_go():
            os.close(self.lock_fd)
            self.lock_fd = -1
        self.after(f.seconds, let_go)
        return "holds ledger.lock"

    def do_depose(self, f):
        """What another leader's coming looks like to this one. The master stands still meanwhile, so that it cannot
        be made the leader again; then it dies, and a new one is elected."""
        pid = self.timer()
        self.halt(self.node.pid, 0.6)
        with contextlib.closing(sqlite3.connect(self.ledger, timeout=1, isolation_level=None)) as db:
            db.execute("PRAGMA wal_autocheckpoint = 0")
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE node SET term = term + 1")
            fence = db.execute("SELECT fence FROM meta").fetchone()[0]
            db.execute("COMMIT")
        self.deposed.append((pid, fence))
        start = kit.stat_of(pid)

        def end():
            if (now := kit.stat_of(pid)) and start and now[2] == start[2]:
                os.kill(pid, signal.SIGKILL)
        self.after(0.55, end)
        return f"term raised over {pid}"

    def fill(self, name, seconds):
        path = self.folder / "node" / name
        if path not in self.mounts:
            return "no file system of its own"
        balloon = path / "balloon"
        with open(balloon, "wb", buffering=0) as f, contextlib.suppress(OSError):
            block = b"\0" * 65536
            while True:
                if f.write(block) < len(block):
                    break
        self.after(seconds, lambda: balloon.unlink(missing_ok=True))
        return f"{name} is full"

    def do_full_log(self, f):
        return self.fill("log", f.seconds)

    def do_full_state(self, f):
        return self.fill("state", f.seconds)

    def do_skew(self, f):
        pid, ms = self.a_worker(f), (-700, -60, 35, 400)[int(f.which * 397) % 4]
        self.control.skew(pid, ms * 1000000)
        return f"{pid} is {ms} ms ahead"

    def do_more_workers(self, f):
        self.node.send(signal.SIGTTOU)
        self.after(max(f.seconds, 0.3), lambda: self.node.send(signal.SIGTTIN))
        return "one worker less for a while"

    def do_reopen_logs(self, f):
        self.node.send(signal.SIGUSR1)
        return "next files"

    def do_redis_restart(self, f):
        self.redis.process.kill()
        self.redis.process.wait()
        self.after(f.seconds, self.redis.start)
        return "redis is killed"

    def do_redis_stopped(self, f):
        pid = self.redis.process.pid
        self.halt(pid, f.seconds)   # it may be killed and started again meanwhile
        return "redis stands still"

    def do_redis_clients_killed(self, f):
        with Wire(self.redis.port) as redis:
            return redis("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal")

    def do_redis_scripts_flushed(self, f):
        with Wire(self.redis.port) as redis:
            return redis("SCRIPT", "FLUSH")
