"""A node that stands still: its commands end with their lease, and another node takes over soon after, whatever the
period of the task."""
import os
import signal
import time

import kit

LEASE = 1.0


def config(redis, every="20s"):
    return {"workers": 2, "redis": {"url": redis.url, "app": "t"},
            "tasks": [{"name": "long", "every": every, "singleton": "redis", "timeout": "60s", "lease": f"{LEASE:.0f}s",
                       "exec": ["/bin/sleep", "40"]}]}


def command_of(n):
    return next((pid for pid in kit.descendants_of(n.pid) if "sleep 40" in title(pid)), None)


def title(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def stop(n):
    """Master, workers and console stand still; keepers and commands go on."""
    pids = [n.pid, *(pid for pid, name in n.titles().items() if "onced:" in name)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


def test_the_command_of_a_stopped_node_ends_with_its_lease_and_another_node_takes_over(node, redis):
    one = node(config(redis, "2s"), name="one")
    one.start()
    pid = kit.wait_until(lambda: command_of(one), 10, "the command runs")
    two = node(config(redis, "2s"), name="two")
    two.start()
    stopped_at = time.time()
    stopped = stop(one)
    try:
        kit.wait_until(lambda: not kit.alive(pid), LEASE + 2, "the command ends with the lease")
        assert command_of(two) is None
        # The first instant behind 2.2 leases is run; a period more, and room for a busy machine.
        kit.wait_until(lambda: command_of(two), 2.2 * LEASE + 2 + 2, "the other node runs it")
        assert time.time() - stopped_at > LEASE
    finally:
        for p in stopped:
            os.kill(p, signal.SIGCONT)
    kit.wait_until(lambda: [l for l in one.lines() if l["e"] == "finish" and l.get("cause") == "lease_lost"], 10,
                   "the node that stood still says how its run ended")
    assert two.stop(signal.SIGQUIT) in (0, 1)
    assert one.stop(signal.SIGQUIT) in (0, 1)


def test_a_command_outlives_many_leases_while_its_node_renews_them(node, redis):
    n = node(config(redis))
    n.start()
    pid = kit.wait_until(lambda: command_of(n), 25, "the command runs")
    time.sleep(3 * LEASE)
    assert kit.alive(pid)
    assert n.stop(signal.SIGQUIT) in (0, 1)
