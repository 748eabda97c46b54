"""One short life with a bit of everything in it: what the slow checkers (threads, valgrind) look at. Limits are
wide, since under them a process starts in seconds."""
import time

import kit

SECONDS = 5


def tasks_for(url):
    every = {"every": "500ms", "timeout": "20s"}
    return ([{"name": f"noop-{path}", **every, "singleton": path, "noop": {}}
             for path in ("none", "dedicated", "flock", "redis")] +
            [{"name": f"http-{path}", **every, "singleton": path, "http": {"url": url}}
             for path in ("dedicated", "flock", "redis")] +
            [{"name": f"exec-{path}", "every": "1s", "timeout": "20s", "singleton": path, "exec": ["/bin/echo", path]}
             for path in ("flock", "redis")])


def test_all_paths_and_all_runners_come_up_work_and_end(node, sink, redis):
    n = node({"redis": {"url": redis.url, "app": "t"}, "http_base": sink.url, "boot_timeout": "2m",
              "hang_timeout": "2m", "tasks": tasks_for("/")})
    n.start(seconds=120)
    time.sleep(SECONDS)
    for command in (("status",), ("workers",), ("tasks",), ("history",), ("metrics",)):
        done = n.cli(*command, seconds=60)
        assert done.returncode == 0, (command, done.stderr, n.text())
    assert n.stop(seconds=120) == 0, n.text()
    proof = n.prove()
    assert proof.code == 0, proof.raw
    for task in n.config["tasks"]:
        assert proof.task(task["name"])["executions"] > 0, proof.raw
