"""Another time for the processes of a node, by t/flow/clock_shim.c: where it begins, and steps while they run."""
import datetime
import mmap
import os
import struct
import time

import kit

LAYOUT = struct.Struct("=qqQ")   # as in clock_shim.c: wall ns ahead, suspend ns, steps
HOUR = 3600


def utc_ms(text):
    """2027-03-28T00:59:30 -> milliseconds since 1970"""
    return int(datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


class Clock:
    """Nodes that are given `env` live by it, and so does what runs with the same environment."""

    def __init__(self, folder, begins=None):
        path = folder / "clock"
        path.write_bytes(b"\0" * LAYOUT.size)
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), LAYOUT.size)
        self.wall = self.boot = self.steps = 0   # ns, ns
        if begins:
            self.wall = utc_ms(begins) * 1000000 - time.time_ns()
        self.write()
        library = kit.BUILD / "t/flow/clock-shim.so"
        assert library.exists(), f"{library} is missing: ninja -C {kit.BUILD}"
        self.env = {"LD_PRELOAD": str(library), "ONCED_FLOW_CLOCK": str(path),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def write(self):
        self.map[:] = LAYOUT.pack(self.wall, self.boot, self.steps)

    def now(self):
        """Milliseconds, as the nodes see them."""
        return (time.time_ns() + self.wall) // 1000000

    def step(self, seconds):
        """Sets the clock; gives back what it showed right before, in ms."""
        before = self.now()
        self.wall += int(seconds * 1e9)
        self.steps += 1
        self.write()
        return before

    def suspend(self, seconds):
        """What a machine sees that was asleep: its wall clock is right again, and processes have not run."""
        before = self.now()
        self.wall += int(seconds * 1e9)
        self.boot += int(seconds * 1e9)
        self.steps += 1
        self.write()
        return before
