"""Fixtures that end what a test has started, and keep its folder when it fails."""
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kit  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "fault_points: cuts a run at an exact step; for debug builds, which have the points")


def pytest_collection_modifyitems(config, items):
    """A released build has no fault points: what needs them is run with the sanitizers, on a debug build."""
    if b"ONCED_FAULT" in pathlib.Path(kit.ONCED).read_bytes():
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("fault_points")])
    items[:] = [item for item in items if not item.get_closest_marker("fault_points")]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.failed = outcome.get_result().failed


@pytest.fixture
def folder(request):
    # A short path: the name of a unix socket has room for 107 bytes.
    path = pathlib.Path(tempfile.mkdtemp(prefix="onced-"))
    yield path
    if getattr(request.node, "failed", False):
        print(f"kept: {path}")
        for output in path.glob("*/output.txt"):
            print(f"--- {output}\n{output.read_text(errors='replace')[-6000:]}")
    else:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def node(folder):
    """Makes nodes; all of them end with the test, and none may have printed a sanitizer's report."""
    made = []

    def make(config, env=None, name="node", wrap=()):
        made.append(kit.Node(folder, config, env, name, wrap))
        return made[-1]

    yield make
    for one in made:
        one.end()
    for one in made:
        text = one.text() if one.output.exists() else ""
        assert "AddressSanitizer" not in text and "runtime error:" not in text and "LeakSanitizer" not in text, text


@pytest.fixture
def sink():
    one = kit.Sink()
    yield one
    one.end()


@pytest.fixture
def redis(folder):
    one = kit.Redis(folder / "redis")
    yield one
    one.end()
