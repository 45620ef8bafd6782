"""What an arm leaves behind when its steps have ended."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, count, cycle, repeat
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm
from accelbench.measuring.checks.background_work import (
    StepEnd,
    find_background_work,
    find_running,
    threads_and_processes,
)
from accelbench.measuring.referee import Stopwatch
from accelbench.schema.reasons import Reason, reason


class Busy(FakeDevice):
    """A device whose readings take as long as it is told, in seconds, or that goes on writing what was read."""

    def __init__(self, *, reads_s: Iterable[float] = (), writes: bool = False) -> None:
        super().__init__(FakeClock())
        self.reads_s, self.writes = chain(reads_s, repeat(0.0)), writes

    def to_host(self, output: Any) -> list[np.ndarray]:
        self.clock.advance(next(self.reads_s))
        values = super().to_host(output)
        output += self.writes
        return values


def find(device: Busy, step: Callable[[], np.ndarray] = lambda: np.ones(3)) -> Reason | None:
    stopwatch = Stopwatch(device.clock, device.synchronize)

    def ending() -> StepEnd:
        return StepEnd(Arm(step=step), device, stopwatch)

    return find_background_work(ending(), ending, threads_and_processes())


def test_an_output_that_is_still_written_is_named() -> None:
    assert find(Busy(writes=True)) == reason("output-written-late")


def test_an_output_that_the_next_step_writes_over_is_not_still_written() -> None:
    buffer, steps = np.zeros(3), count()

    def replayed() -> np.ndarray:
        buffer[:] = next(steps)
        return buffer

    assert find(Busy(reads_s=[1.0]), replayed) is None


def test_a_neighbour_that_delays_one_reading_accuses_nobody() -> None:
    assert find(Busy(reads_s=[1.0])) is None


def test_readings_that_differ_by_themselves_accuse_nobody() -> None:
    assert find(Busy(reads_s=cycle([1.0, 0.0]))) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what threads and processes do")
@pytest.mark.parametrize("rivals", [0, pytest.param(10, marks=pytest.mark.slow)])
def test_a_thread_that_goes_on_is_named_although_it_takes_turns_with_many_others(rivals: int) -> None:
    with working_threads(rivals, "rival"):
        bystanders = threads_and_processes()
        with working_threads(1, "left behind"):
            assert find_running(bystanders) == ["the thread 'left behind'"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what threads and processes do")
@pytest.mark.parametrize("rivals", [0, pytest.param(10, marks=pytest.mark.slow)])
def test_a_thread_that_waits_is_not_named_beside_threads_that_work(rivals: int) -> None:
    with working_threads(rivals, "rival"):
        bystanders, stop = threads_and_processes(), threading.Event()
        waiting = threading.Thread(target=stop.wait)
        waiting.start()
        try:
            assert find_running(bystanders) == []
        finally:
            stop.set()
            waiting.join()


def test_the_interpreter_changes_threads_as_often_as_before() -> None:
    before = sys.getswitchinterval()
    with working_threads(1, "left behind"):
        find_running(frozenset())
    assert sys.getswitchinterval() == before


@contextmanager
def working_threads(number: int, name: str) -> Iterator[None]:
    start, stop = threading.Event(), threading.Event()

    def work() -> None:
        start.wait()
        while not stop.is_set():
            pass

    threads = [threading.Thread(target=work, name=name) for _ in range(number)]
    for thread in threads:
        thread.start()
    start.set()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
