"""Measured blocks, handed to pytest-benchmark through its own fixture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.record import ArmRecord


class _NoSamplesError(HarnessError):
    """An arm has no samples to replay."""


class ReplayClock:
    """A timer that reads 0 and then the next block's seconds, in turn."""

    def __init__(self) -> None:
        self.loaded = False
        self._readings: Iterator[float] = iter(())

    def load(self, samples_s: tuple[float, ...], iterations: int) -> None:
        """Take the blocks to replay: seconds per iteration of each, and the iterations in a block."""
        self.loaded = True
        self._readings = (reading for sample_s in samples_s for reading in (0.0, sample_s * iterations))

    def replayed(self) -> float:
        """Return the next reading; pytest-benchmark takes two per round."""
        return next(self._readings)


def equip(item: pytest.Item) -> ReplayClock:
    """Give the test a replay clock as its benchmark timer, beside what its own marker says, and return the clock."""
    clock = ReplayClock()
    marker = item.get_closest_marker("benchmark")
    options = {**(marker.kwargs if marker else {}), "timer": clock.replayed}
    item.add_marker(pytest.mark.benchmark(**options), append=False)
    return clock


def replay(benchmark: Any, clock: ReplayClock, arm: ArmRecord, samples_s: tuple[float, ...]) -> None:
    """Let the fixture take an arm's blocks for its rounds; an arm in a rehearsal has none and is taken once."""
    iterations = arm.timing.iterations_per_block if arm.timing else 1
    clock.load(samples_s, iterations)
    benchmark.pedantic(_nothing, rounds=max(1, len(samples_s)), iterations=iterations)


def refuse(benchmark: Any, clock: ReplayClock) -> None:
    """Tell the fixture that its test has no samples, so that the run is kept, without an entry for this test."""
    clock.load((0.0,), iterations=1)
    with suppress(_NoSamplesError):
        benchmark.pedantic(_fail)


def _nothing() -> None:
    """Take the place of the step, which ran in a worker."""


def _fail() -> None:
    raise _NoSamplesError
