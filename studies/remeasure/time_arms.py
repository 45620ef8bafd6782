"""Time arms in a fresh process: `python -m studies.remeasure.time_arms ORDER` prints seconds per item as JSON.

The suite says what is measured, namely the arms of its workloads. How they are measured is written here alone: nothing
of the suite's way of measuring is imported. Only arms on the CPU are timed, which end when their step returns.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from random import Random
from statistics import median
from time import perf_counter

from accelbench.core import Arm, Setting, apply_all, find_technique, find_workload, load_builtins

BLOCK_S = 4e-3
WARMUP_S = 0.3  # of each arm
LEAST_STEPS = 3  # of each arm before it is timed: a compiler may work in the first two
LEAST_ROUNDS = 5
# A program that has run for a while has freed a large array. Then glibc keeps freed memory up to this size, instead of
# returning it and faulting in its pages again: `man mallopt`, M_MMAP_THRESHOLD.
HEAP_BYTES = 31 * 2**20

Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a process is to time: arms of a workload at these levels, for ``budget_s`` seconds each.

    ``size``, ``seed`` and ``cores`` are those of the run, ``coin`` is the seed of the order of the blocks.
    """

    framework: str
    workload: str
    problem: dict[str, str | int | float | bool]
    fixed: dict[str, str]
    arms: list[dict[str, str]]
    size: str
    seed: int
    cores: int
    coin: int
    budget_s: float

    def to_text(self) -> str:
        """Return the argument from which the process reads the order."""
        return json.dumps(asdict(self))


def build(order: Order, levels: dict[str, str]) -> Arm:
    """Build the arm at these levels."""
    workload = find_workload(order.workload)
    setting = Setting(size=order.size, seed=order.seed, cores=order.cores)  # type: ignore[arg-type]
    techniques = [(find_technique(order.framework, name), level) for name, level in (levels | order.fixed).items()]
    return apply_all(techniques, lambda **options: workload.build(setting, **order.problem, **options))


def time_in_turn(arms: Sequence[Arm], *, budget_s: float, coin: Random, clock: Clock = perf_counter) -> list[float]:
    """Return the median seconds per item of arms whose blocks alternate in an order that a coin decides."""
    for arm in arms:
        _warm_up(arm, clock)
    steps = [_steps_of_a_block(arm, clock) for arm in arms]
    blocks: list[list[float]] = [[] for _ in arms]
    start = clock()
    while len(blocks[0]) < LEAST_ROUNDS or clock() - start < budget_s * len(arms):
        for place in coin.sample(range(len(arms)), len(arms)):
            blocks[place].append(_time_block(arms[place], steps[place], clock) / steps[place])
    return [median(each) / arm.items for each, arm in zip(blocks, arms, strict=True)]


def _warm_up(arm: Arm, clock: Clock) -> None:
    start, steps = clock(), 0
    with arm.enter():
        while steps < LEAST_STEPS or clock() - start < WARMUP_S:
            arm.step()
            steps += 1


def _steps_of_a_block(arm: Arm, clock: Clock) -> int:
    """Return how many steps take `BLOCK_S` at least."""
    steps = 1
    while (took := _time_block(arm, steps, clock)) < BLOCK_S:
        steps = max(steps + 1, min(100 * steps, math.ceil(1.2 * steps * BLOCK_S / max(took, 1e-9))))
    return steps


def _time_block(arm: Arm, steps: int, clock: Clock) -> float:
    """Return the seconds that steps took; short ones follow one that is not timed, which fills the caches."""
    with arm.enter():
        if steps > 1:
            arm.step()
        start = clock()
        for _ in range(steps):
            arm.step()
        return clock() - start


def main() -> None:
    """Build the arms of the order in the first argument, time them, and print their seconds per item."""
    order = Order(**json.loads(sys.argv[1]))
    bytearray(HEAP_BYTES)  # freed at once
    load_builtins()
    with ExitStack() as stack:
        arms = []
        for levels in order.arms:
            arms.append(build(order, levels))
            stack.callback(arms[-1].close)
        print(json.dumps(time_in_turn(arms, budget_s=order.budget_s, coin=Random(order.coin))))


if __name__ == "__main__":
    main()
