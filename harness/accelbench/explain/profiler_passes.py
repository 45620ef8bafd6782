"""Passes of a program under a profiler: how often they are repeated, and what they show on average."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

from accelbench.core.arm import nothing
from accelbench.explain.profile import OperatorTime, StepShare
from accelbench.measuring.malloc import page_faults

TIMED_S = 0.5  # of steps without a profiler
WARM_STEPS = 2
SLOW_S = 2.0  # of a step, or of several, from which one more is not worth its time
LINE_S = 3e-6  # of a line of Python at most, on average: most take a tenth of that


@dataclass
class ProfilerPass:
    """One iteration under a profiler: its seconds, and seconds and calls by the name of an operator."""

    whole_s: float = 0.0
    loading_s: float = 0.0
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def outside(self) -> float:
        """The share of the time outside of operators and of loading."""
        return max(0.0, 1 - (self.loading_s + sum(self.seconds.values())) / self.whole_s)


_Pass = TypeVar("_Pass", bound=ProfilerPass)


def time_first(step: Callable[[], Any], synchronize: Callable[[], Any] = nothing) -> float:
    """Return the seconds of the first step, and run ``WARM_STEPS`` more before others are timed; fewer slow ones.

    ``synchronize`` waits for the device after each.
    """
    first_s = _time_one(step, synchronize)
    for _ in range(WARM_STEPS):
        if _time_one(step, synchronize) > SLOW_S:
            break
    return first_s


def _time_one(step: Callable[[], Any], synchronize: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    step()
    synchronize()
    return time.perf_counter() - start_s


def time_steps(
    step: Callable[[], Any], least: int, most: int, synchronize: Callable[[], Any] = nothing
) -> tuple[float, float]:
    """Return the seconds of a step and its page faults, from ``least`` to ``most`` steps; fewer slow ones.

    ``synchronize`` waits for the device, after the first step and after the last one. Steps between them may be queued,
    so each is taken to last as long as the first.
    """
    before, start_s = page_faults(), time.perf_counter()
    spent_s = one_s = _time_one(step, synchronize)
    count = 1
    while (spent_s < SLOW_S and count < least) or (spent_s < TIMED_S and count < most):
        step()
        count += 1
        spent_s = max(count * one_s, time.perf_counter() - start_s)
    synchronize()
    return (time.perf_counter() - start_s) / count, (page_faults() - before) / count


def may_take(spent_s: float, run: Callable[[], Any]) -> bool:
    """Return whether ``run`` executes enough lines of Python to spend ``spent_s`` seconds by themselves.

    If it does not, most of that time lies in what they call.
    """
    needed = math.ceil(spent_s / LINE_S)
    counted = 0

    def count_line(*_: Any) -> Any:
        nonlocal counted
        counted += 1
        if counted >= needed:
            sys.settrace(None)
        return count_line

    before = sys.gettrace()
    sys.settrace(count_line)
    try:
        run()
    finally:
        sys.settrace(before)
    return counted >= needed


def repeat_pass(run: Callable[[], _Pass], step_s: float, most: int, most_s: float) -> list[_Pass]:
    """Return up to ``most`` passes, in ``most_s`` seconds, of a step that takes ``step_s`` seconds without a profiler.

    The first one is left out where others follow: the profiler itself starts in it.
    """
    passes: list[_Pass] = []
    end_s = time.monotonic() + most_s
    while len(passes) < most and (not passes or time.monotonic() + 2 * step_s < end_s):
        passes.append(run())
    return passes[1:] if len(passes) > 2 else passes


def average_operators(passes: Sequence[ProfilerPass]) -> list[OperatorTime]:
    """Return every operator's mean number of calls and its median time, those with most time first.

    A pass that another process disturbed moves the median little.
    """
    names = dict.fromkeys(name for each in passes for name in each.seconds)
    found = [
        OperatorTime(
            name=name,
            calls=sum(each.calls[name] for each in passes) / len(passes),
            seconds=median(each.seconds.get(name, 0.0) for each in passes),
            share=StepShare.of([each.seconds.get(name, 0.0) / each.whole_s for each in passes]),
        )
        for name in names
    ]
    return sorted(found, key=lambda each: each.seconds, reverse=True)
