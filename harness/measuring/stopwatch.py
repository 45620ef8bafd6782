"""Holding a stopwatch to an arm: the one place where devices are synchronised."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise, repeat
from statistics import median

from harness.experiment import Arm
from harness.experiment.arm import nothing

TIMER_COST_MULTIPLE = 1000  # a block lasts at least this many times what reading the clock costs
WAITING_MULTIPLE = 100  # and this many times what it costs to wait for devices that have nothing to do
SAME_LENGTH_WITHIN = 4  # arms whose times differ by less than this factor run the same number of iterations


class Stopwatch:
    """Times blocks of an arm by a clock, in seconds, with the device synchronised before and after.

    ``outside_s`` is what is done for a block before its clock starts.
    """

    outside_s = 0.0

    def __init__(self, clock: Callable[[], float], synchronize: Callable[[], None]) -> None:
        self.clock = clock
        self.synchronize = synchronize

    def timer_cost_s(self) -> float:
        """Return what one reading of the clock costs."""
        return median(later - earlier for earlier, later in pairwise(self.clock() for _ in range(200)))

    def waiting_cost_s(self) -> float:
        """Return what it costs to wait for devices that have nothing to do: every block holds it once."""
        return median(self.block_s(Arm(step=nothing), 1) for _ in range(20))

    def block_s(self, arm: Arm, iterations: int) -> float:
        """Return the seconds that one block of back-to-back iterations takes."""
        step = arm.step
        with arm.entered(), _no_collection():
            self.synchronize()
            start = self.clock()
            for _ in repeat(None, iterations):
                step()
            self.synchronize()
            return self.clock() - start

    def run_for(self, arm: Arm, seconds: float, iterations: int) -> None:
        """Run blocks of an arm until that much time has passed, at least one."""
        end = self.clock() + seconds
        self.block_s(arm, iterations)
        while self.clock() < end:
            self.block_s(arm, iterations)

    def iterations_per_block(self, arms: Sequence[Arm], min_block_s: float) -> list[int]:
        """Return for each arm how many iterations make a block that is long enough to time."""
        costs_s = TIMER_COST_MULTIPLE * self.timer_cost_s(), WAITING_MULTIPLE * self.waiting_cost_s()
        target_s = max(min_block_s, *costs_s)
        counts = [self._long_enough(arm, target_s) for arm in arms]
        alike = max(counts) <= SAME_LENGTH_WITHIN * min(counts)
        return [max(counts)] * len(counts) if alike else counts

    def _long_enough(self, arm: Arm, target_s: float) -> int:
        iterations = 1
        while (taken_s := self.block_s(arm, iterations)) < target_s:
            # Aim a little past the target, but never trust one short reading for more than a tenfold jump.
            aim = 1.2 * target_s * iterations / taken_s if taken_s > 0 else math.inf
            iterations = math.ceil(min(10 * iterations, max(iterations + 1, aim)))
        return iterations


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector out of a block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
