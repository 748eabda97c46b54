"""Starting with more tasks than boot_timeout has time for: who gets on with it is not taken for hung; who does not is."""
import kit
from faults import Faults

TASKS = [{"name": f"t{i}", "every": "1h", "first": "next", "singleton": "flock", "timeout": "30s", "noop": {}}
         for i in range(3000)]


def born(n):
    return [l for l in n.lines() if l["e"] == "roster" and l["what"] == "born" and l["role"] == "worker"]


def test_a_large_table_may_take_longer_than_boot_timeout(node, folder):
    slow = Faults(folder)
    # Each step of either worker waits for the disk. A new ledger takes ten before the first task, all of them many more.
    slow.set("fdatasync 150")
    n = node({"tasks": TASKS, "workers": 2, "boot_timeout": "4s"}, env=slow.env)
    n.start(seconds=120)
    assert "not all children were ready within boot_timeout" in n.text()
    assert len(born(n)) == 2, n.text()
    slow.clear()
    assert n.stop() == 0, n.text()


def test_a_worker_that_comes_no_nearer_to_ready_is_replaced(node, folder):
    slow = Faults(folder)
    slow.set("fdatasync 5000")
    n = node({"tasks": TASKS, "workers": 2, "boot_timeout": "1500ms"}, env=slow.env)
    n.start(ready=False)
    kit.wait_until(lambda: len(born(n)) > 2, 60, "a second try")
    assert "is not ready in time" in n.text()
    slow.clear()
    kit.wait_until(lambda: "timer worker" in n.text() and n.workers(), 60, "ready")
    assert n.stop() == 0, n.text()
