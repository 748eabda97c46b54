"""Faults that other schedulers met in the field, each as a short test of its whole kind: what is run.
The number in a docstring is that of the report."""
import contextlib
import gzip
import json
import os
import socket
import time

import pytest

import faults
import kit
from evidence import task, finishes, waits_for_runs, rss_of


# HTTP.

def drip(handler):
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b"x")
            time.sleep(0.2)


def flood(handler):
    handler.send_response(200)
    handler.end_headers()
    chunk = b"y" * (1 << 20)
    with contextlib.suppress(OSError):
        for _ in range(5 * 1024):
            handler.wfile.write(chunk)


def bomb(handler):
    body = gzip.compress(b"\0" * (200 << 20))
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    with contextlib.suppress(OSError):
        handler.wfile.write(body)


def headers_without_end(handler):
    handler.send_response(200)
    handler.flush_headers()
    with contextlib.suppress(OSError):
        for i in range(10**7):
            handler.wfile.write(b"X-%d: %s\r\n" % (i, b"z" * 1000))


@pytest.mark.parametrize("answer", [drip, flood, bomb, headers_without_end], ids=lambda f: f.__name__)
def test_an_answer_without_end_ends_at_the_timeout_or_before(node, sink, answer):
    """Case 32: the timeout covered the headers alone; a body that trickles never ended, a large one filled memory."""
    sink.respond = answer
    n = node({"workers": 1, "tasks": [task("t", every="3s", timeout="1500ms", http={"url": sink.url}),
                                      task("quick", every="50ms")]})
    n.start()
    waits_for_runs(n, "quick")
    worker = n.workers()[0]
    before = rss_of(worker)
    kit.wait_until(lambda: len(finishes(n, "t")) >= 2, 12, "two runs have ended")
    grown = rss_of(worker) - before
    assert n.workers()[0] == worker and n.stop() == 0
    assert grown < (64 if kit.SANITIZED else 6) << 20, grown
    for line in finishes(n, "t"):
        assert line["run_us"] < 2000000, line
        assert line["state"] in ("unknown", "failed", "succeeded"), line
        if answer is drip:
            assert (line["state"], line["cause"]) == ("unknown", "timeout"), line
    kept = faults.sql(n, "SELECT length(text), text_cut FROM record WHERE task = 't' AND state <> 'skipped'")
    assert all((length or 0) <= 65536 for length, _ in kept), kept
    proof = n.prove()
    assert proof.code == 0 and proof.task("quick")["missed"] == 0, proof.raw


@contextlib.contextmanager
def silent_nameserver():
    """Takes every question and answers none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.77", 53))
        yield "127.0.0.77", s


def test_a_resolver_that_never_answers_stops_nobody_else(node, folder):
    """Case 35: removing a transfer waited for its resolver's thread: the whole loop stood still."""
    (folder / "resolv.conf").write_text("nameserver 127.0.0.77\noptions timeout:5 attempts:3\n")
    (folder / "nsswitch.conf").write_text("hosts: dns\n")
    inside = (f"mount --bind {folder}/resolv.conf /etc/resolv.conf && "
              f"mount --bind {folder}/nsswitch.conf /etc/nsswitch.conf && exec \"$@\"")
    with silent_nameserver() as (_, asked):
        ask_a_silent_resolver(node, ["unshare", "--mount", "/bin/sh", "-c", inside, "sh"])
        asked.setblocking(False)
        assert b"host" in asked.recv(512), "it was asked"


def ask_a_silent_resolver(node, wrap):
    tasks = [task(f"h{i}", "dedicated", "2s", timeout="1s", http={"url": f"http://host{i}.test/"}) for i in range(50)]
    n = node({"workers": 2, "max_handles": 100, "tasks": [*tasks, task("quick", every="100ms")]},
             wrap=wrap)
    n.start()
    time.sleep(5)
    threads = max(len(os.listdir(f"/proc/{p}/task")) for p in n.workers().values())
    began = time.monotonic()
    assert n.stop() == 0, n.text()
    assert time.monotonic() - began < 5
    ended = [l for i in range(50) for l in finishes(n, f"h{i}")]
    assert len(ended) >= 100, n.text()
    granted = {l["occ"]: l["b"] for l in n.lines() if l["e"] == "attempt" and l["out"] == "granted"}
    for line in ended:
        assert line["state"] == "failed" and line["cause"] in ("timeout", "not_sent"), line
        assert 0.9e9 < line["b"] - granted[line["occ"]] < 1.5e9, line
    assert threads < 20, threads
    late = sorted(l["late_us"] for l in n.lines()
                  if l["e"] == "attempt" and l["task"] == "quick" and l["out"] == "granted")
    assert late[int(len(late) * 0.9)] < 100000, late
    assert n.prove().task("quick")["missed"] == 0


# exec.

LEAVERS = {"background": "sleep 60 & echo x", "disowned": "sleep 60 & disown; echo x; exit 0",
           "pipeline": "sleep 60 | cat & echo x", "double fork": "(setsid sh -c 'sleep 60 & sleep 60' &); echo x"}


def test_a_command_is_over_when_it_ends_whoever_holds_its_output(node):
    """Case 37: the command had ended, its daemon kept stdout, and the caller waited for the end of it."""
    n = node({"workers": 2, "tasks": [task(name.replace(" ", "-"), every="1500ms", timeout="20s",
                                           exec=["/bin/bash", "-c", script]) for name, script in LEAVERS.items()]})
    n.start()
    time.sleep(5.5)
    rows = {name: n.api(f"/v1/occurrences?task={name.replace(' ', '-')}&state=succeeded")["occurrences"]
            for name in LEAVERS}
    fds = {p: len(os.listdir(f"/proc/{p}/fd")) for p in n.workers().values()}
    time.sleep(3)
    assert all(abs(len(os.listdir(f"/proc/{p}/fd")) - before) < 12 for p, before in fds.items())
    assert n.stop() == 0
    for name in LEAVERS:
        done = finishes(n, name.replace(" ", "-"), "succeeded")
        assert len(done) >= 3, (name, finishes(n, name.replace(" ", "-")))
        assert all(l["run_us"] < 1400000 for l in done), (name, done)
        assert rows[name] and rows[name][0]["text"].strip() == "x", rows[name]
    assert n.prove().is_clean


OUTPUTS = {"endless": "timeout 1 yes; true", "both": "head -c 300000000 /dev/zero; head -c 300000000 /dev/zero >&2",
           "one-line": "head -c 1000000 /dev/zero | tr '\\0' a", "zeros": "head -c 1000 /dev/zero",
           "no-utf8": "printf '\\377\\376\\300\\200 \\355\\240\\200 end'"}


def test_output_of_any_kind_and_amount_blocks_nobody(node):
    """Case 39: output without limit filled memory, and output that nobody read blocked the job."""
    n = node({"workers": 2, "tasks": [task(name, every="4s", timeout="20s", exec=["/bin/sh", "-c", script])
                                      for name, script in OUTPUTS.items()]})
    n.start()
    before = {p: rss_of(p) for p in n.workers().values()}
    kit.wait_until(lambda: all(finishes(n, name) for name in OUTPUTS), 15, "all have ended")
    grown = {p: rss_of(p) - b for p, b in before.items()}
    rows = json.loads(n.cli_raw("GET", "/v1/occurrences?limit=100"))["occurrences"]
    assert n.stop() == 0
    assert max(grown.values()) < (100 if kit.SANITIZED else 4 * len(OUTPUTS)) << 20, grown
    for name in OUTPUTS:
        assert {l["state"] for l in finishes(n, name)} == {"succeeded"}, name
    drained = dict(faults.sql(n, "SELECT task, max(coalesce(length(CAST(text AS BLOB)), 0) + text_cut) FROM record "
                                 "WHERE state = 'succeeded' GROUP BY task"))
    assert drained["both"] == 600000000 and drained["one-line"] == 1000000 and drained["zeros"] == 1000, drained
    assert all(len(r["text"] or "") <= 65536 * 6 for r in rows)
    assert n.prove().is_clean
