"""Busy neighbours come and go with the calibration."""

import subprocess
import sys
from contextlib import suppress

import psutil

from harness.calibration.neighbours import busy_neighbours


def test_neighbours_live_as_long_as_they_are_needed():
    before = set(psutil.Process().children())
    with busy_neighbours(2):
        neighbours = set(psutil.Process().children()) - before
        assert len([each for each in neighbours if each.is_running()]) == 2
    assert [each for each in neighbours if each.is_running()] == []


def test_neighbours_end_when_the_calibration_is_killed():
    script = (
        "import os, psutil\n"
        "from harness.calibration.neighbours import busy_neighbours\n"
        "with busy_neighbours(1):\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    os._exit(9)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    (pid,) = map(int, told.stdout.split())
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(timeout=60)
    assert not psutil.pid_exists(pid)
