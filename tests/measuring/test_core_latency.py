"""The latency between two cores."""

import os
import subprocess
import sys

import pytest

from accelbench.measuring.core_latency import CoreLatency

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="affinity and shared memory are Linux's")


@on_linux
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this process has one core")
def test_two_cores_answer_each_other_within_microseconds() -> None:
    latency = CoreLatency(sorted(os.sched_getaffinity(0)))
    try:
        readings_s = [latency.read_s() for _ in range(20)]  # a busy machine leaves some out
    finally:
        latency.close()
    known_s = [reading_s for reading_s in readings_s if reading_s is not None]
    assert known_s
    assert all(20e-9 < reading_s < 100e-6 for reading_s in known_s)


@on_linux
def test_reading_leaves_the_process_where_it_may_run() -> None:
    before = os.sched_getaffinity(0)
    latency = CoreLatency(sorted(before))
    latency.read_s()
    latency.close()
    assert os.sched_getaffinity(0) == before


@on_linux
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this process has one core")
def test_ctrl_c_is_left_to_the_process_that_reads() -> None:
    program = """
import os, signal
from accelbench.measuring.core_latency import CoreLatency
signal.signal(signal.SIGINT, lambda *_: None)
latency = CoreLatency(sorted(os.sched_getaffinity(0)))
for _ in range(20):  # after a reading without a value, there is no other process
    is_running = latency.read_s() is not None
    os.killpg(0, signal.SIGINT)
    latency.read_s()
    if is_running:
        break
latency.close()
"""
    run = subprocess.run([sys.executable, "-c", program], start_new_session=True, stderr=subprocess.PIPE, check=True)
    assert run.stderr == b""


@pytest.mark.parametrize("cores", [[], [0]])
def test_one_core_has_no_latency(cores: list[int]) -> None:
    assert CoreLatency(cores).read_s() is None


@pytest.mark.slow
@on_linux
def test_a_core_that_this_process_may_not_use_is_not_read() -> None:
    assert CoreLatency([0, 4095]).read_s() is None
