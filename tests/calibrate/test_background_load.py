"""Busy processes start and end with what they disturb."""

import subprocess
import sys
from contextlib import suppress

import psutil
import pytest

from accelbench.calibrate.session import background_load


def test_busy_processes_run_inside_the_context():
    before = set(psutil.Process().children())
    with background_load(2):
        busy = set(psutil.Process().children()) - before
        assert len([each for each in busy if each.is_running()]) == 2
    assert [each for each in busy if each.is_running()] == []


@pytest.mark.slow
def test_busy_processes_end_when_the_calibration_is_killed():
    script = (
        "import os, psutil\n"
        "from accelbench.calibrate.session import background_load\n"
        "with background_load(1):\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    os._exit(9)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    (pid,) = map(int, result.stdout.split())
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(timeout=60)
    assert not psutil.pid_exists(pid)
