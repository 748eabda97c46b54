"""Commands under their keeper: clean birth, whole end."""
import os
import signal
import time

import kit
import pytest


def run_one(node, argv, **more):
    n = node({"tasks": [{"name": "t", "every": "1s", "singleton": "flock", "timeout": "10s",
                         "exec": {"argv": argv, **more}}]})
    n.start()
    kit.wait_until(lambda: [l for l in n.lines() if l["e"] == "finish"], 15, "a finished run")
    return n


def test_no_descriptor_above_two_and_a_clean_environment(node, folder):
    out = folder / "seen"
    n = run_one(node, ["/bin/sh", "-c", f"ls -l /proc/self/fd > {out}.fd; env > {out}.env; cat /proc/locks > {out}.l"])
    assert n.stop() == 0
    fds = [line.split(" -> ")[0].split()[-1] for line in (folder / "seen.fd").read_text().splitlines()[1:]]
    # ls itself opens the folder it lists as 3.
    assert sorted(map(int, fds)) in ([0, 1, 2], [0, 1, 2, 3]), fds
    env = dict(line.split("=", 1) for line in (folder / "seen.env").read_text().splitlines())
    assert env["ONCED_TASK"] == "t" and env["ONCED_SHARD"] == "0" and env["ONCED_SHARDS"] == "1"
    assert env["ONCED_PLANNED"].isdigit() and env["ONCED_FENCE"].isdigit() and len(env["ONCED_OCCURRENCE"]) == 64
    for name in ("ONCED_TRIGGER", "ONCED_NODE", "ONCED_DEADLINE", "ONCED_WINDOW", "ONCED_ATTEMPT_LOG", "PATH", "HOME"):
        assert name in env, name
    assert "ONCED_SOCKET" not in env and "NOTIFY_SOCKET" not in env


def test_descendants_end_with_the_command_and_keep_no_lock(node, folder):
    pids = folder / "pids"
    n = run_one(node, ["/bin/sh", "-c", f"setsid sleep 300 & echo $! >> {pids}; (setsid sleep 301 & echo $! >> {pids}); exit 0"])
    time.sleep(1.5)
    assert len([l for l in n.lines() if l["e"] == "finish" and l["state"] == "succeeded"]) >= 2
    assert n.stop() == 0
    left = [int(p) for p in pids.read_text().split() if kit.alive(int(p))]
    assert not left


@pytest.mark.parametrize("leave_children", [False, True])
def test_what_a_killed_keeper_leaves_is_ended(node, folder, leave_children):
    """Unless the task may leave processes: which of them it would have left nobody knows."""
    pids = folder / "pids"
    n = node({"workers": 2, "tasks": [{"name": "t", "every": "20s", "singleton": "flock", "timeout": "60s",
                                       "exec": {"argv": ["/bin/sh", "-c", f"(sleep 300; :) & echo $! > {pids}; sleep 301"],
                                                "leave_children": leave_children}}]})
    n.start()
    child = kit.wait_until(lambda: next((l for l in n.lines() if l["e"] == "child"), None), 15, "it runs")
    kit.wait_until(lambda: pids.exists() and pids.read_text().strip(), 10, "it has started another")
    tree = kit.wait_until(lambda: kit.descendants_of(child["pid"]) if len(kit.descendants_of(child["pid"])) == 3 else None,
                          10, "all of it is there")
    os.kill(child["keeper"], signal.SIGKILL)
    end = kit.wait_until(lambda: next((l for l in n.lines() if l["e"] == "finish"), None), 10, "it is recorded")
    assert (end["state"], end["cause"]) == ("failed", "cleanup"), end
    kit.wait_until(lambda: not kit.alive(child["pid"]), 5, "the command goes with its keeper")
    if leave_children:
        time.sleep(0.3)
        assert all(kit.alive(p) for p in tree)
        for p in tree:
            os.kill(p, signal.SIGKILL)
    kit.wait_until(lambda: not any(kit.alive(p) for p in tree), 5, "nothing is left")
    assert n.stop(signal.SIGQUIT) in (0, 1)   # the next one may run by now


def test_output_without_end_does_not_block_or_grow(node):
    n = run_one(node, ["/bin/sh", "-c", "head -c 20000000 /dev/zero; echo >&2 end"])
    rss = [int(open(f"/proc/{p}/statm").read().split()[1]) * 4096 for p in n.workers().values()]
    assert max(rss) < (1 << 28 if kit.SANITIZED else 64 << 20)
    rows = n.api("/v1/occurrences?task=t&limit=5")
    assert n.stop() == 0
    assert rows["occurrences"]
    assert n.prove().is_clean


def test_outcomes_of_commands(node):
    def task(name, argv, **more):
        return {"name": name, "every": "500ms", "singleton": "flock", "timeout": more.pop("timeout", "5s"),
                "exec": {"argv": argv, "kill_after": "500ms", **more}}
    n = node({"tasks": [task("fine", ["/bin/true"]), task("bad", ["/bin/false"]),
                        task("noop", ["/bin/sh", "-c", "exit 3"], noop_exit=[3]),
                        task("absent", ["/nonexistent/command"]),
                        task("late", ["/bin/sleep", "20"], timeout="300ms"),
                        task("shot", ["/bin/sh", "-c", "kill -SEGV $$"])]})
    n.start()
    time.sleep(3)
    assert n.stop() == 0
    seen = {}
    for line in n.lines():
        if line["e"] == "finish":
            seen.setdefault(line["task"], set()).add((line["state"], line.get("cause", ""), line.get("result", "")))
    assert seen["fine"] == {("succeeded", "", "done")}
    assert seen["bad"] == {("failed", "status", "")}
    assert seen["noop"] == {("succeeded", "", "noop")}
    assert seen["absent"] == {("failed", "not_sent", "")}
    assert seen["late"] == {("failed", "timeout", "")}
    assert seen["shot"] == {("failed", "signal", "")}
    assert n.prove().is_clean
