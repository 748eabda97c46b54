"""A task that moves between the local ledger, Redis and none, by changes of its configuration: a move begins at the
load, runs nothing twice, and names what it does not run; fences keep increasing."""
import collections
import contextlib
import signal
import sqlite3

import pytest

import kit

PATHS = ("flock", "redis", "flock", "none", "redis", "dedicated", "redis")


@pytest.fixture
def store(folder):
    server = kit.Redis(folder / "redis")
    yield server
    server.end()


@pytest.fixture
def sink():
    receiver = kit.Sink()
    yield receiver
    receiver.end()


def task(name, path, **more):
    """What would run again what it finds undecided: the newest three seconds."""
    return {"name": name, "every": "1s", "singleton": path, "http": {"url": f"/{name}"},
            "misfire": {"policy": "catch_up", "lookback": "1h", "limit": 3}, **more}


def table(sink, *tasks, store=None):
    group = {"redis": {"url": store.url}} if store else {}
    return {**group, "http_base": sink.url, "defaults": {"timeout": "5s"}, "tasks": list(tasks)}


def wait_for_runs(sink, name, count):
    def seen():
        return len(sink.by_instant(name))
    before = seen()
    kit.wait_until(lambda: seen() >= before + count, 30, f"{count} more instants of {name}")


def live(node, sink, config, name="tick", instants=3):
    """One life of the node under this configuration, of at least this many instants."""
    node.configure(config)
    node.start()
    wait_for_runs(sink, name, instants)
    assert node.stop() == 0, node.text()


def requests(sink, name, plain):
    """Those that ran with nobody, or in a ledger: planned ms -> how many."""
    return collections.Counter(int(h["X-Onced-Planned"]) for _, h, _, _ in sink.requests
                               if h["X-Onced-Task"] == name and (h["X-Onced-Fence"] == "0") == plain)


def check_once(sink, name):
    single, plain = requests(sink, name, False), requests(sink, name, True)
    assert single and max(single.values()) == 1, {p: n for p, n in single.items() if n > 1}
    assert not set(single) & set(plain), "ran in a ledger, and with nobody"
    fences = [int(h["X-Onced-Fence"]) for _, h, _, _ in sink.requests
              if h["X-Onced-Task"] == name and h["X-Onced-Fence"] != "0"]
    assert fences == sorted(set(fences)), fences
    return single, plain


def given_up(node):
    """All instants that lines name, by planned ms."""
    return {planned for line in node.lines() if line["e"] in ("skip", "miss")
            for planned in range(line["first"], line["last"] + 1, 1000)}


def test_a_task_that_moves_between_ledgers_runs_nothing_twice(folder, store, sink):
    node = kit.Node(folder, {})
    try:
        for path in PATHS:
            live(node, sink, table(sink, task("tick", path), store=store))
        single, plain = check_once(sink, "tick")
        assert plain and max(plain.values()) > 1
        # What a worker under none left to do at its end, others may have done.
        all_instants = set(single) | set(plain) | given_up(node)
        lost = [p for p in kit.gaps(all_instants, 1000) if not min(plain) <= p <= max(plain) + 2000]
        assert not lost, lost
        # The time elsewhere is nobody's misfire.
        both = given_up(node) & set(single)
        assert not both, both
        proof = node.prove()
        assert proof.code == 0, (proof.raw, proof.error)
    finally:
        node.end()


def test_a_task_that_comes_from_redis_waits_for_it_and_no_other_does(folder, store, sink):
    node = kit.Node(folder, {})
    other = task("other", "flock", scope="all")
    try:
        live(node, sink, table(sink, task("tick", "redis"), other, store=store))
        store.process.send_signal(signal.SIGTERM)
        store.process.wait(10)
        node.configure(table(sink, task("tick", "flock"), other, store=store))
        node.start()
        before = len(requests(sink, "tick", False))
        wait_for_runs(sink, "other", 4)
        assert len(requests(sink, "tick", False)) == before
        assert "task tick was claimed in redis until now" in node.text()
        store.start()
        wait_for_runs(sink, "tick", 3)
        assert node.stop() == 0, node.text()
        check_once(sink, "tick")
        check_once(sink, "other")
        assert "task other was claimed" not in node.text()
        proof = node.prove()
        assert proof.code == 0, (proof.raw, proof.error)
    finally:
        node.end()


def test_a_task_that_comes_from_a_group_given_up_begins_with_its_load(folder, store, sink):
    node = kit.Node(folder, {})
    try:
        live(node, sink, table(sink, task("tick", "redis"), store=store))
        live(node, sink, table(sink, task("tick", "flock")))
        check_once(sink, "tick")
        assert node.prove().code == 0
    finally:
        node.end()


def test_a_move_is_begun_by_one_life_and_ended_by_the_next(folder, store, sink):
    """Redis is away when the task moves there: the local ledger has let go of it already."""
    node = kit.Node(folder, {})
    try:
        live(node, sink, table(sink, task("tick", "flock"), store=store))
        store.process.send_signal(signal.SIGTERM)
        store.process.wait(10)
        node.configure(table(sink, task("tick", "redis"), store=store))
        node.start()
        kit.wait_until(lambda: "tick is no longer claimed in the sqlite ledger" in node.text(), 10, "its end there")
        node.send(signal.SIGKILL)
        node.process.wait(10)
        node.end()
        store.start()
        live(node, sink, table(sink, task("tick", "redis"), store=store))
        single, _ = check_once(sink, "tick")
        assert not kit.gaps(set(single) | given_up(node), 1000)
        # Nothing is left of the move that a group made anew could take for its beginning.
        with contextlib.closing(sqlite3.connect(node.folder / "state/ledger.db")) as ledger:
            assert ledger.execute("SELECT when_hash, def_hash FROM task").fetchall() == [("in:redis", "handed on")]
    finally:
        node.end()


def test_a_new_group_says_that_it_has_no_window(folder, store, sink):
    node = kit.Node(folder, {})
    try:
        config = table(sink, task("tick", "redis"), task("tock", "redis", first="next"), store=store)
        live(node, sink, config)
        live(node, sink, config)
        assert node.text().count("the group's ledger is new") == 1, node.text()
        assert "task tick: the group's ledger is new" in node.text()
    finally:
        node.end()
