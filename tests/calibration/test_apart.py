"""A process for measuring: what it answers, and how it ends."""

import os
import signal

import pytest

from harness.calibration.apart import Apart
from harness.errors import HarnessError


@pytest.fixture
def apart():
    process = Apart("numpy")
    yield process
    process.close()


def test_it_measures_elsewhere_and_passes_on_what_goes_wrong(apart):
    assert apart.ask(os.getpid) != os.getpid()
    with pytest.raises(FileNotFoundError):
        apart.ask(os.stat, "/nowhere")
    assert apart.ask(max, 1, 2) == 2


def test_ctrl_c_does_not_reach_it(apart):
    apart.ask(signal.raise_signal, signal.SIGINT)
    assert apart.ask(max, 1, 2) == 2


def test_a_process_that_is_killed_is_one_line(apart):
    with pytest.raises(HarnessError, match="the process that measured numpy was lost; calibrate again"):
        apart.ask(os._exit, 9)
