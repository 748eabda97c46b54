"""Those who see from outside what really happens: the sink that tasks call, commands that write down their own
lives, and an eye on the cursors. None of it asks onced anything."""
import glob
import http.server
import json
import os
import pathlib
import sqlite3
import threading
import time
import urllib.parse

TAIL = 65536


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Sink:
    """Answers after the time its path says, and looks, before anything else, whether the run line was there."""

    def __init__(self, logs, host="127.0.0.1"):
        self.logs, self.requests, self.lock = logs, [], threading.Lock()
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                sink.take(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass

        self.server = Server((host, 0), Handler)
        self.url = f"http://{host}:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, handler):
        seen, wall = boottime_ns(), time.time_ns()
        h = handler.headers
        one = {"task": h["X-Onced-Task"], "occ": h["X-Onced-Occurrence"], "trig": h["X-Onced-Trigger"],
               "planned": int(h["X-Onced-Planned"]), "fence": int(h["X-Onced-Fence"]), "shard": int(h["X-Onced-Shard"]),
               "shards": int(h["X-Onced-Shards"]), "seen": seen, "wall": wall, "line": self.line_is_there(h["X-Onced-Trigger"])}
        with self.lock:
            self.requests.append(one)
        query = urllib.parse.parse_qs(urllib.parse.urlparse(handler.path).query)
        time.sleep(int(query["ms"][0]) / 1000)
        handler.send_response(200)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"ok")

    def line_is_there(self, trig):
        node, slot, pid, start, _ = trig.rsplit(".", 4)
        wanted = b'"trig":"%s"' % trig.encode()
        for path in glob.glob(f"{self.logs}/triggers/{node}.{slot}.{pid}.{start}.*"):
            with open(path, "rb") as f:
                f.seek(max(0, os.fstat(f.fileno()).st_size - TAIL))
                if any(line.startswith(b'{"e":"run"') and wanted in line for line in f.read().split(b"\n")):
                    return True
        return False

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Eye(threading.Thread):
    """Reads the cursors of the local ledger again and again; one that goes back is remembered."""

    def __init__(self, ledger, every=0.25):
        super().__init__(daemon=True)
        self.ledger, self.every, self.first, self.newest, self.back = ledger, every, {}, {}, []
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.every):
            try:
                self.look()
            except (sqlite3.Error, OSError):
                pass   # not there yet, or its disk is full: seen at the next look

    def look(self):
        with open_ledger(self.ledger) as db:
            for task, scope, shard, cursor in db.execute("SELECT task, scope, shard, cursor FROM unit"):
                unit = (task, scope, shard)
                self.first.setdefault(unit, cursor)
                if cursor < self.newest.get(unit, cursor):
                    self.back.append(f"{unit}: the cursor went back from {self.newest[unit]} to {cursor}")
                self.newest[unit] = cursor

    def end(self):
        self.over.set()
        self.join()


class open_ledger:
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        if not os.path.exists(self.path):
            raise OSError("no ledger")
        self.db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=2)
        return self.db

    def __exit__(self, *_):
        self.db.close()


def lives_of(folder):
    """What commands wrote down: one dict a command that lived."""
    lives = []
    for path in pathlib.Path(folder).glob("*.*"):
        words = path.read_text().split("\n")[0].split()
        if len(words) != 6:
            continue   # killed before its first word was written: it had no effect
        fence, planned, task, trig, began, last = words
        lives.append({"occ": path.name.split(".")[0], "fence": int(fence), "planned": int(planned), "task": task, "trig": trig,
                      "began": int(began), "last": int(last)})
    return lives


def lines_of(logs):
    """All trigger lines, each with its file; what cannot be read as a line is counted."""
    lines, torn = [], 0
    for path in sorted(glob.glob(f"{logs}/triggers/*.jsonl")):
        with open(path, "rb") as f:
            for raw in f.read().split(b"\n"):
                if not raw:
                    continue
                try:
                    line = json.loads(raw)
                except ValueError:
                    torn += 1
                    continue
                line["file"] = os.path.basename(path)
                lines.append(line)
    return lines, torn
