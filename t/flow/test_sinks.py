"""doc/sinks.md: every sink it shows takes the runs of a real instance, and refuses a repeat and a stale holder."""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import kit

sys.path.append(str(kit.SOURCE / "t/chaos"))
from redis_wire import Wire  # noqa: E402

TASK = "report"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (kit.SOURCE / "doc/sinks.md").read_text(), re.M | re.S)


def block(kind, holds=""):
    """The only block of a kind that holds a text."""
    found = [text for k, text in BLOCKS if k == kind and holds in text]
    assert len(found) == 1, (kind, holds)
    return found[0]


def needed(program):
    path = shutil.which(program)
    assert path, f"{program} is missing: scripts/needs test"
    return path


def variables(run):
    return {"ONCED_TASK": TASK, "ONCED_SHARD": "0", "ONCED_FENCE": str(run["fence"]), "ONCED_OCCURRENCE": run["occ"],
            "ONCED_PLANNED": str(run["planned"])}


class Table:
    """A sink in SQLite, with the tables that the document gives."""

    def __init__(self, folder):
        self.db = folder / "shop.db"
        done = subprocess.run([needed("sqlite3"), str(self.db)], input=block("sql"), text=True, capture_output=True)
        assert done.returncode == 0 and not done.stderr, done.stderr

    def place(self, text):
        assert "/var/lib/shop/shop.db" in text
        return text.replace("/var/lib/shop/shop.db", str(self.db))

    def written(self):
        with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True) as db:
            return [(occ, int(planned)) for occ, planned in db.execute("SELECT occurrence, planned FROM report ORDER BY planned")]


class Command(Table):
    """A sink that is a command; `refused` is what it ends with when it takes nothing."""

    def __init__(self, folder, kind, refused):
        super().__init__(folder)
        self.refused = refused
        self.program = folder / f"report.{kind}"
        self.program.write_text(self.place(block(kind)))
        self.program.chmod(0o755)
        self.target = {"exec": {"argv": [str(self.program)], "noop_exit": [3]}}

    def send(self, run):
        """Whether it says that it took it."""
        done = subprocess.run([str(self.program)], env={**os.environ, **variables(run)}, capture_output=True, text=True)
        assert not done.stderr, done.stderr
        return done.returncode

    def end(self):
        pass


class Page(Table):
    """The PHP page, in PHP's own server."""
    refused = 409

    def __init__(self, folder):
        super().__init__(folder)
        (folder / "report.php").write_text(self.place(block("php")))
        self.port = kit.free_port()
        self.url = f"http://127.0.0.1:{self.port}/report.php"
        with open(folder / "php.txt", "ab") as out:
            self.process = subprocess.Popen([needed("php"), "-S", f"127.0.0.1:{self.port}", "-t", str(folder)],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.target = {"http": {"url": self.url, "method": "POST"}}
        kit.wait_until(self.answers, 10, "PHP answers")

    def answers(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/nothing", timeout=5)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def send(self, run):
        headers = {name.replace("ONCED_", "X-Onced-").title(): value for name, value in variables(run).items()}
        try:
            return urllib.request.urlopen(urllib.request.Request(self.url, b"", headers), timeout=5).status
        except urllib.error.HTTPError as answer:
            return answer.code

    def end(self):
        self.process.kill()
        self.process.wait(10)


class Store:
    """The Lua sink on a Redis that onced knows nothing of, called from a command."""
    refused = 0

    def __init__(self, folder):
        self.server = kit.Redis(folder / "sink")
        self.script = folder / "sink.lua"
        self.script.write_text(block("lua", "HGET"))
        call = re.search(r"`redis-cli (--eval sink.lua [^`]*)`", (kit.SOURCE / "doc/sinks.md").read_text()).group(1)
        self.program = folder / "report"
        self.program.write_text(f"#!/bin/sh\nredis-cli -p {self.server.port} {call.replace('sink.lua', str(self.script))} "
                                f"&& echo \"$ONCED_PLANNED\" >>{folder}/planned\n")
        self.program.chmod(0o755)
        self.planned = folder / "planned"
        self.target = {"exec": [str(self.program)]}

    def send(self, run):
        done = subprocess.run([str(self.program)], env={**os.environ, **variables(run)}, capture_output=True, text=True)
        assert done.stdout.strip() in ("written", "stale"), done
        return done.returncode

    def written(self):
        with Wire(self.server.port) as redis:
            return [(occ, None) for occ in redis("LRANGE", "reports", 0, -1)]

    def end(self):
        self.server.end()


SINKS = {"shell": lambda folder: Command(folder, "sh", 0), "python": lambda folder: Command(folder, "python", 3),
         "php": Page, "redis": Store}


@pytest.mark.parametrize("kind", SINKS)
def test_a_documented_sink_takes_each_run_once_and_nothing_stale(node, folder, kind):
    sink = SINKS[kind](folder)
    try:
        n = node({"workers": 3, "tasks": [{"name": TASK, "every": "300ms", "singleton": "flock", "timeout": "10s",
                                           "overlap": "queue", "misfire": {"policy": "skip", "grace": "10s"}, **sink.target}]})
        n.start()
        kit.wait_until(lambda: len(sink.written()) >= 4, 20, "four runs")
        assert n.stop() == 0, n.text()
        runs = n.runs(TASK)
        whole = sink.written()
        assert sorted(occ for occ, _ in whole) == sorted(r["occ"] for r in runs)
        assert all(planned in (None, next(r["planned"] for r in runs if r["occ"] == occ)) for occ, planned in whole)
        ended = [l for l in n.lines() if l["e"] == "finish"]
        assert len(ended) == len(runs) and all(l["state"] == "succeeded" and l["result"] == "done" for l in ended), ended

        last, before = runs[-1], runs[-2]
        assert int(before["fence"]) < int(last["fence"])
        # The same again, and the one before once more: a repeat is no second effect.
        for repeat in (last, before):
            assert sink.send(repeat) in (sink.refused, 200)
        # A holder that was overtaken, with what was never written.
        stale = {**before, "occ": "0" * 64, "planned": 1}
        assert sink.send(stale) == sink.refused
        assert sink.send({**stale, "fence": "9"}) == sink.refused
        assert sink.written() == whole
        # Its successor, by one more.
        sink.send({**stale, "fence": str(int(last["fence"]) + 1)})
        assert ("0" * 64) in [occ for occ, _ in sink.written()]
    finally:
        sink.end()


def test_the_documented_stream_and_script_run(node, folder, redis):
    script = folder / "close-day.lua"
    script.write_text(block("lua", "onced.planned"))
    # Seconds instead of minutes and days; everything else as it stands.
    text = block("yaml")
    for old, new in (("redis://127.0.0.1:6379/0", redis.url), ("every: 1m", "every: 1s"), ('cron: "5 0 * * *"', "every: 1s"),
                     ("/etc/onced/close-day.lua", str(script))):
        assert text.count(old) == 1
        text = text.replace(old, new)
    n = node({"workers": 2})
    n.config_path.write_text(n.config_path.read_text() + text)

    def finishes(task):
        return [l for l in n.lines() if l["e"] == "finish" and l["task"] == task]

    with Wire(redis.port) as server:
        server("SADD", "orders:open", "eu:1", "eu:2")
        n.start()
        first = kit.wait_until(lambda: finishes("close-day"), 10, "a day is closed")[0]
        assert (first["state"], first["result"]) == ("succeeded", "done")
        assert server.hash("orders:closed") == {str(first["planned"]): "2"}
        kit.wait_until(lambda: finishes("close-day")[-1]["result"] == "noop", 10, "nothing is to do")
        server("SADD", "orders:open", "us:1")
        failed = kit.wait_until(lambda: [l for l in finishes("close-day") if l["state"] == "failed"], 10, "it is refused")[0]
        assert failed["cause"] == "status" and failed["error"].endswith("not an order of eu: us:1"), failed
        assert server("SMEMBERS", "orders:open") == ["us:1"]
        server("DEL", "orders:open")
        kit.wait_until(lambda: len(finishes("tick")) >= 3, 10, "three ticks")
        assert n.stop() == 0
        entries = [dict(zip(flat[::2], flat[1::2])) for _, flat in server("XRANGE", "ticks", "-", "+")]
    assert [e["occurrence"] for e in entries] == [l["occ"] for l in sorted(n.runs("tick"), key=lambda l: l["planned"])]
    listed = re.search(r"An entry has the fields ([^,]*(?:, `\w+`[^,]*)*), then those", (kit.SOURCE / "doc/sinks.md").read_text())
    assert list(entries[0]) == [*re.findall(r"`(\w+)`", listed.group(1)), "kind"]


def test_no_block_of_the_page_is_new_to_these_tests():
    """All are run but the one for PostgreSQL, as the page says."""
    assert sorted(kind for kind, _ in BLOCKS) == sorted(["sql", "sh", "postgresql", "python", "php", "lua", "yaml", "lua"])
