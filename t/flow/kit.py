"""What flow tests share: a node of real processes, an independent HTTP sink, a Redis server of their own.
Everything lives in a folder of the test and ends with it; only processes that were started here are ended."""
import collections
import contextlib
import datetime
import glob
import http.server
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ONCED_BUILD", SOURCE / "build"))
ONCED = str(BUILD / "onced")
SANITIZED = b"__asan_init" in pathlib.Path(ONCED).read_bytes()   # needs more memory and time
PATHS_LOCAL = ("dedicated", "flock")


def free_port(host="127.0.0.1"):
    with socket.socket() as s:
        s.bind((host, 0))
        return s.getsockname()[1]


def wait_until(condition, seconds, what):
    """Polls until `condition` gives something true, and gives that back."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.01)


def stat_of(pid):
    """(state, parent, start ticks), or None when there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[19])


def children_of(pid):
    """Living children with their titles."""
    found = {}
    for entry in glob.glob("/proc/[0-9]*"):
        child = int(entry[6:])
        stat = stat_of(child)
        if stat and stat[1] == pid and stat[0] not in "ZX":
            with contextlib.suppress(OSError):
                found[child] = pathlib.Path(entry, "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return found


def descendants_of(pid):
    found = set()
    for child in children_of(pid):
        found |= {child} | descendants_of(child)
    return found


def alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


def holders(path):
    """Processes that have the file open."""
    found = set()
    for entry in glob.glob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry) == path:
                found.add(int(entry.split("/")[2]))
    return found


class PlainDumper(yaml.SafeDumper):
    """Writes what is used twice twice: configurations know no aliases."""

    def ignore_aliases(self, data):
        return True


class Node:
    """One running onced with its own folders."""

    def __init__(self, folder, config, env=None, name="node", wrap=()):
        self.wrap = list(wrap)   # a program that ends in exec, put in front of onced
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config_path = self.folder / "onced.yaml"
        self.env = dict(os.environ, **(env or {}))
        self.output = self.folder / "output.txt"
        self.configure(config)
        self.process = None

    def configure(self, config):
        base = {"state_dir": str(self.folder / "state"), "run_dir": str(self.folder / "run"),
                "log": {"dir": str(self.folder / "log")}, "workers": 4}
        self.config = {**base, **config}
        self.config_path.write_text(yaml.dump(self.config, Dumper=PlainDumper, sort_keys=False))

    @property
    def socket(self):
        return str(pathlib.Path(self.config["run_dir"]) / "onced.sock")

    @property
    def logs(self):
        return self.config["log"]["dir"]

    def start(self, ready=True, seconds=30):
        reader, writer = os.pipe()
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen([*self.wrap, ONCED, "run", "--notify-fd", str(writer), str(self.config_path)],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            pass_fds=(writer,), env=self.env, start_new_session=True)
        os.close(writer)
        try:
            if ready:
                readable, _, _ = select.select([reader], [], [], seconds)
                if not readable or os.read(reader, 1) != b"\n":
                    raise AssertionError(f"not ready: {self.text()}")
        finally:
            os.close(reader)
        return self

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        return self.output.read_text(errors="replace")

    def titles(self):
        return children_of(self.pid)

    def workers(self):
        """slot -> pid"""
        found = {}
        for pid, title in self.titles().items():
            if "worker" in title:
                found[int(title.split("worker")[1].split()[0])] = pid
        return found

    def timer_worker(self, seconds=5):
        return wait_until(lambda: next((p for p, t in self.titles().items() if "(timer)" in t), None), seconds,
                          "a timer worker")

    def console(self):
        return next(p for p, t in self.titles().items() if "console" in t)

    def send(self, number):
        os.kill(self.pid, number)

    def stop(self, number=signal.SIGTERM, seconds=40):
        """Stops and gives the exit code back."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    def end(self):
        """Whatever is left of the node is ended by process id."""
        if self.process is None:
            return
        left = descendants_of(self.pid) if self.process.poll() is None else set()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def api(self, path):
        return json.loads(self.cli_raw("GET", path))

    def cli_raw(self, method, path, seconds=5):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(seconds)
            s.connect(self.socket)
            s.sendall(f"{method} {path} HTTP/1.1\r\nHost: onced\r\nConnection: close\r\n\r\n".encode())
            data = b""
            while chunk := s.recv(65536):
                data += chunk
        head, _, body = data.partition(b"\r\n\r\n")
        if b"chunked" in head.lower():
            whole = b""
            while body:
                size, _, rest = body.partition(b"\r\n")
                count = int(size, 16)
                if count == 0:
                    break
                whole, body = whole + rest[:count], rest[count + 2:]
            body = whole
        self.status = int(head.split()[1])
        return body.decode()

    def cli(self, *arguments, seconds=20):
        return subprocess.run([ONCED, *arguments], capture_output=True, text=True, timeout=seconds,
                              env=dict(self.env, ONCED_SOCKET=self.socket))

    def prove(self, *arguments):
        return prove(self.logs, *arguments)

    def lines(self):
        return lines_of(self.logs)

    def runs(self, task):
        """In the order of their starts, whoever started them."""
        return sorted((l for l in self.lines() if l["e"] == "run" and l["task"] == task), key=lambda l: l["b"])


def lines_of(logs):
    """All trigger lines of a node, each with the name of its file."""
    found = []
    for path in sorted(glob.glob(f"{logs}/triggers/*.jsonl")):
        with open(path, errors="replace") as f:
            for line in f:
                with contextlib.suppress(ValueError):
                    found.append({**json.loads(line), "file": path})
    return found


class Proof:
    def __init__(self, done):
        self.code, self.error, self.raw = done.returncode, done.stderr, done.stdout
        self.report = json.loads(done.stdout) if done.stdout.strip() else {}

    def task(self, name):
        return next(t for t in self.report["tasks"] if t["task"] == name)

    @property
    def is_clean(self):
        """Nothing is wrong; a few runs at the edge of the logs may all lie outside what is judged."""
        return self.code == 0 or (self.report["verdict"] == "NOTHING" and not self.report["notes"]
                                  and not self.report["troubles"])

    @property
    def lacks_ends_only(self):
        """Fine, but that a kill may have come between the record of an end and its line: then only the ledger knows."""
        unknown = sum(t["verdicts"].get("UNKNOWN", 0) + t["beside"].get("UNKNOWN", 0) for t in self.report["tasks"])
        ends = sum(t["findings"].get("UNFINISHED", 0) for t in self.report["tasks"])
        return self.code == (3 if ends else 0) and unknown == ends and not self.report["troubles"]


def prove(logs, *arguments):
    done = subprocess.run([ONCED, "prove", "--json", *arguments, logs], capture_output=True, text=True, timeout=120)
    return Proof(done)


class Sink:
    """An HTTP server that writes down every request it has read."""

    def __init__(self, close_every_second=False):
        self.requests = []
        self.unread = 0
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle(self):
                self.close_connection = False
                self.count = 0
                while not self.close_connection:
                    self.count += 1
                    if close_every_second and self.count == 2:
                        # Wait for the second request of this connection and close without reading it.
                        with contextlib.suppress(OSError):
                            if self.connection.recv(1, socket.MSG_PEEK):
                                sink.unread += 1
                        return
                    try:
                        self.handle_one_request()
                    except OSError:
                        return

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                sink.requests.append((self.path, dict(self.headers), body, time.time()))
                sink.respond(self)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def respond(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"ok")

    def by_instant(self, task):
        """planned ms -> how many requests"""
        return collections.Counter(int(h["X-Onced-Planned"]) for _, h, _, _ in list(self.requests)
                                   if h.get("X-Onced-Task") == task)

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Redis:
    """A redis-server of the test's own; append-only file on, so that a restart keeps its data."""

    def __init__(self, folder, *options, host="127.0.0.1"):
        self.folder, self.host = pathlib.Path(folder), host
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port(host)
        self.options = options
        self.url = f"redis://{host}:{self.port}/0"
        self.start()

    def start(self):
        program = shutil.which("redis-server")
        assert program, "redis-server is missing: scripts/needs test"
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", self.host, "--protected-mode", "no", "--dir", str(self.folder),
             "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, 10, "redis-server answers")

    def answers(self):
        try:
            return self.command("PING") == "PONG"
        except OSError:
            return False

    def command(self, *words):
        """A simple command by hand; gives back the first line or bulk."""
        with socket.create_connection((self.host, self.port), timeout=2) as s:
            s.sendall(f"*{len(words)}\r\n".encode() + b"".join(
                f"${len(w.encode())}\r\n{w}\r\n".encode() for w in words))
            return s.recv(65536).decode(errors="replace").split("\r\n")[0].lstrip("+")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)


def seconds_of(text):
    """A line's wall time as seconds since the epoch."""
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(
        tzinfo=datetime.timezone.utc).timestamp()


def gaps(instants, every_ms):
    """Planned instants missing between the first and the last."""
    seen = sorted(instants)
    return [t for t in range(seen[0], seen[-1] + every_ms, every_ms) if t not in instants] if seen else []
