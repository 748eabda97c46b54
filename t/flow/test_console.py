"""The API and its clients, also while workers do not answer."""
import os
import signal
import time

import kit

CONFIG = {"tasks": [{"name": "t", "every": "100ms", "singleton": "flock", "timeout": "1s", "noop": {}},
                    {"name": "d", "every": "100ms", "singleton": "dedicated", "timeout": "1s", "exec": ["/bin/true"]}]}


def test_every_endpoint_and_command_answers(node):
    n = node(CONFIG)
    n.start()
    time.sleep(1.5)
    assert [w["role"] for w in n.api("/v1/workers")["workers"]].count("worker") == 4
    assert {t["name"] for t in n.api("/v1/tasks")["tasks"]} == {"t", "d"}
    rows = n.api("/v1/occurrences?task=t&state=succeeded&limit=3")["occurrences"]
    assert len(rows) == 3 and all(r["task"] == "t" for r in rows)
    n.cli_raw("GET", "/healthz")
    assert n.status == 200
    n.cli_raw("GET", "/readyz")
    assert n.status == 200
    metrics = n.cli_raw("GET", "/metrics")
    assert metrics.endswith("# EOF\n") and "onced_" in metrics
    assert n.cli_raw("GET", "/nothing") and n.status == 404
    assert n.cli_raw("DELETE", "/v1/status") and n.status == 405
    for command in ("status", "workers", "tasks", "history", "metrics"):
        done = n.cli(command)
        assert done.returncode == 0 and done.stdout, (command, done.stderr)
        if command != "metrics":
            done = n.cli(command, "--json")
            assert done.returncode == 0 and done.stdout.lstrip()[0] in "{[", command
    assert n.stop() == 0
    done = n.cli("status")
    assert done.returncode == 70 and n.socket in done.stderr
    done = n.cli("history", "-c", str(n.config_path))
    assert done.returncode == 0 and "succeeded" in done.stdout, done.stderr


def worker_rows(n):
    return [w for w in n.api("/v1/workers")["workers"] if w["role"] == "worker"]


def test_it_answers_while_all_workers_are_stopped(node):
    n = node(CONFIG)
    n.start()
    workers = list(n.workers().values())
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        kit.wait_until(lambda: [w["stale"] for w in worker_rows(n)] == [True] * 4, 9, "all slots stale")
        assert n.api("/v1/status")
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
    kit.wait_until(lambda: not any(w["stale"] for w in worker_rows(n)), 9, "fresh again")
    assert n.stop() == 0
