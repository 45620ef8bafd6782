"""What an arm leaves behind when its steps have ended."""

from collections.abc import Callable, Iterable
from itertools import chain, count, cycle, repeat
from typing import Any

import numpy as np

from harness.experiment import Arm
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.leftovers import Ending, leftovers, present
from harness.measuring.stopwatch import Stopwatch


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


def sentence(device: Busy, step: Callable[[], np.ndarray] = lambda: np.ones(3)) -> str | None:
    stopwatch = Stopwatch(device.clock, device.synchronize)

    def ending() -> Ending:
        return Ending(Arm(step=step), device, stopwatch)

    return leftovers(ending(), ending, present())


def test_an_output_that_is_still_written_is_named() -> None:
    assert "the output changes after the block has ended" in str(sentence(Busy(writes=True)))


def test_an_output_that_the_next_step_writes_over_is_not_still_written() -> None:
    buffer, steps = np.zeros(3), count()

    def replayed() -> np.ndarray:
        buffer[:] = next(steps)
        return buffer

    assert sentence(Busy(reads_s=[1.0]), replayed) is None


def test_a_neighbour_that_delays_one_reading_accuses_nobody() -> None:
    assert sentence(Busy(reads_s=[1.0])) is None


def test_readings_that_differ_by_themselves_accuse_nobody() -> None:
    assert sentence(Busy(reads_s=cycle([1.0, 0.0]))) is None
