"""The benchmarks' bare floors speak to real stores by scripts and tables of the product: they must still do so after
each change of those, or the next measurement has nothing to compare with."""
import json
import subprocess

import kit
import pytest


def floor(name, *arguments):
    done = subprocess.run([str(kit.BUILD / "t/bench" / name), *map(str, arguments)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, f"{name} {arguments}: exit {done.returncode}: {done.stderr}"
    return done.stdout


@pytest.fixture(params=["redis", "sqlite"])
def store(request, tmp_path):
    if request.param == "sqlite":
        yield ["sqlite", tmp_path, "full"]
        return
    server = kit.Redis(tmp_path / "redis")
    yield ["redis", server.url, "floors"]
    server.end()


def test_the_bare_commit_is_granted(store):
    assert len(floor("floor_lateness", 10, 20, *store, 2).split()) == 2 * 20


@pytest.mark.parametrize("program", ["floor_claims", "claims"])
def test_bare_claims_are_counted(store, program):
    assert json.loads(floor(program, *store, 8, 2, 1))["per_second"] > 0
