"""Faults of a node's surroundings that a test switches on and off: a small file system of its own, and a preload
library for what the system does not fail at by itself."""
import contextlib
import os
import pathlib
import sqlite3
import subprocess

import kit

CURE = "onced recover --ledger -c FILE"


class Faults:
    """Failing system calls of a node, by t/flow/shim.c; see there for the words."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "faults"
        self.path.write_text("")
        library = kit.BUILD / "t/flow/flow-shim.so"
        assert library.exists(), f"{library} is missing: ninja -C {kit.BUILD}"
        self.env = {"LD_PRELOAD": str(library), "ONCED_FLOW_FAULTS": str(self.path),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def set(self, *lines):
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(self.path)

    def clear(self):
        self.set()


@contextlib.contextmanager
def small_disk(path, kib):
    """A file system of `kib` KiB mounted at `path`."""
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=0700", "tmpfs", str(path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, f"this test needs the right to mount a tmpfs: {done.stderr.strip()}"
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def remount(path, how):
    subprocess.run(["mount", "-o", f"remount,{how}", str(path)], check=True)


def fill(path):
    """Takes all the room that is left on the file system of `path`; gives back the file that holds it."""
    filler = pathlib.Path(path) / "filler"
    with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
        for size in (65536, 4096, 512):
            with contextlib.suppress(OSError):
                while f.write(b"\0" * size) == size:
                    pass
    return filler


def sql(n, text, *values):
    """By another connection, as a person would; n is stopped or only read from."""
    with contextlib.closing(sqlite3.connect(f"{n.config['state_dir']}/ledger.db", timeout=5)) as db:
        rows = db.execute(text, values).fetchall()
        db.commit()
    return rows


def recover(n, *arguments):
    """onced recover; gives the finished process back."""
    return subprocess.run([kit.ONCED, "recover", *arguments, "-c", str(n.config_path)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=30, env=n.env)
