"""A state_dir that is put back from a copy, or removed, brings its own memory with it: the witness in run_dir is what
still knows what ran. What a copy may have forgotten does not start again, and the start says so."""
import shutil
import time

import kit
import pytest

EVERY = 20


def config(sink, path="flock", **more):
    return {"workers": 2, "tasks": [{"name": "t", "every": f"{EVERY}s", "singleton": path, "timeout": "5s",
                                     "http": {"url": sink.url}, **more}]}


def near_an_instant():
    """What follows fits between two instants."""
    kit.wait_until(lambda: time.time() % EVERY > EVERY - 3, EVERY, "an instant is near")


def state(n):
    return n.config["state_dir"]


def copy_aside(n):
    shutil.copytree(state(n), f"{state(n)}.old")


def put_back(n):
    shutil.rmtree(state(n))
    shutil.copytree(f"{state(n)}.old", state(n))


def ran_once_until_here(n, sink):
    return kit.wait_until(lambda: sink.by_instant("t"), EVERY, "an instant is run")


def nothing_again(n, sink, word):
    """The start has said why, the instant that ran is the last that did, and the proof calls nothing missed."""
    kit.wait_until(lambda: "unknown and do not run" in n.text(), 10, "it is said at the start")
    assert word in n.text(), n.text()
    kit.wait_until(lambda: any(line.get("cause") == "barrier" for line in n.lines()), 10, "it is recorded")
    assert set(sink.by_instant("t").values()) == {1}, sink.by_instant("t")
    assert n.stop() == 0
    proof = n.prove()
    assert not any(t["duplicates"] or t["missed"] for t in proof.report["tasks"]), proof.raw


@pytest.mark.parametrize("path", kit.PATHS_LOCAL)
def test_a_state_of_an_earlier_start_that_is_put_back_starts_nothing_again(node, sink, path):
    n = node(config(sink, path))
    n.start()
    assert n.stop() == 0
    copy_aside(n)
    before = sink.by_instant("t")
    near_an_instant()
    n.start()
    kit.wait_until(lambda: sum(sink.by_instant("t").values()) > sum(before.values()), EVERY, "an instant is run")
    assert n.stop() == 0
    put_back(n)
    n.start()
    nothing_again(n, sink, "state_dir is an older copy")


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_state_copied_while_it_ran_starts_nothing_again(node, sink, end):
    n = node(config(sink, first="next"))
    near_an_instant()
    n.start()
    copy_aside(n)
    ran_once_until_here(n, sink)
    if end == "stopped":
        assert n.stop() == 0
    else:
        left = list(n.titles())
        n.process.kill()
        n.process.wait(10)
        kit.wait_until(lambda: not any(kit.alive(p) for p in left), 10, "all of it is gone")
    put_back(n)
    n.start()
    nothing_again(n, sink, "state_dir is a copy from the middle of start 1")


def test_a_state_that_was_removed_starts_nothing_again(node, sink):
    n = node(config(sink))
    near_an_instant()
    n.start()
    ran_once_until_here(n, sink)
    assert n.stop() == 0
    shutil.rmtree(state(n))
    n.start()
    nothing_again(n, sink, "state_dir is another one")
    assert n.text().count("is new: this node is") == 2


def test_a_state_that_is_moved_after_a_stop_goes_on_where_it_was(node, sink):
    n = node(config(sink, first="next", misfire={"policy": "catch_up", "limit": 10, "lookback": "1h"}))
    near_an_instant()
    n.start()
    ran_once_until_here(n, sink)
    assert n.stop() == 0
    copy_aside(n)
    time.sleep(max(0.0, EVERY - time.time() % EVERY) + 0.1)
    put_back(n)
    n.start()
    kit.wait_until(lambda: len(sink.by_instant("t")) >= 2, 10, "what came due meanwhile is caught up")
    assert n.stop() == 0
    assert "do not run" not in n.text(), n.text()
    assert set(sink.by_instant("t").values()) == {1}, sink.by_instant("t")
    assert n.prove().code == 0
