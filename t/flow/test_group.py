"""Three nodes on one Redis, behind proxies that fail: a seed of the group's chaos, short enough for every run, on
loopback and with addresses of their own. scripts/soak --group lives longer ones."""
import json
import subprocess
import sys

import pytest

import kit
import netns

SECONDS = 14      # of faults; a start, and calm at the end, come to it


def live(folder, seed, *more):
    command = [sys.executable, str(kit.SOURCE / "t/chaos/group_seed.py"), "--seed", str(seed), "--build",
               str(kit.BUILD), "--folder", str(folder / f"s{seed}"), "--seconds", str(SECONDS), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.stdout, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert not facts["found"], facts
    assert facts["runs"] > 200, facts


def test_a_group_under_faults_runs_each_instant_once_or_says_why_not(folder):
    live(folder, 1)


def test_a_group_with_addresses_of_its_own_runs_each_instant_once_or_says_why_not(folder):
    if reason := netns.why_not():
        pytest.skip(reason)
    live(folder, 2, "--net")
