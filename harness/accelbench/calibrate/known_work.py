"""Work of a known amount: steps that repeat one thing a given number of times, and waits of known length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, repeat
from time import perf_counter

import numpy as np

from accelbench.core import Setting, find_workload

Step = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class KnownWork:
    """Work that repeats one thing. ``build(n)`` returns a step that does it n times.

    ``repetitions`` is the baseline's number. Of ``divisible`` work one per cent more is exact: a whole number of
    repetitions, next to which the fixed cost of a block is negligible.
    """

    name: str
    framework: str
    build: Callable[[int], Step]
    repetitions: int
    divisible: bool = False

    def step(self, effect_size: float = 0.0) -> Step:
        """Build a step that does ``1 + effect_size`` times the baseline's work."""
        return self.build(round((1 + effect_size) * self.repetitions))


def loop(repetitions: int) -> Step:
    """Return a pure Python loop of identical iterations: its numbers are small integers, which Python caches."""

    def step() -> int:
        number = 0
        for _ in repeat(None, repetitions):
            number = (number + 1) & 63
        return number

    return step


def product(side: int) -> Callable[[int], Step]:
    """Return a builder of products of two square matrices."""

    def build(repetitions: int) -> Step:
        a, b = (np.random.default_rng().standard_normal((side, side)) for _ in range(2))
        out = np.empty_like(a)

        def step() -> None:
            for _ in repeat(None, repetitions):
                np.matmul(a, b, out=out)

        return step

    return build


def copy(repetitions: int) -> Step:
    """Return copies of 1 MiB."""
    source = np.random.default_rng().standard_normal(131072)
    target = np.empty_like(source)

    def step() -> None:
        for _ in repeat(None, repetitions):
            np.copyto(target, source)

    return step


def repeat_workload(workload: str, **options: int) -> Callable[[int], Step]:
    """Return a builder of repetitions of a built-in workload."""

    def build(repetitions: int) -> Step:
        once = find_workload(workload).build(Setting(), **options).step

        def step() -> None:
            for _ in repeat(None, repetitions):
                once()

        return step

    return build


KNOWN_WORK = (
    KnownWork(name="short Python loop", framework="numpy", build=loop, repetitions=600),
    KnownWork(name="Python loop", framework="numpy", build=loop, repetitions=20_000, divisible=True),
    KnownWork(name="matrix product", framework="numpy", build=product(96), repetitions=1),
    KnownWork(name="repeated product", framework="numpy", build=product(32), repetitions=400, divisible=True),
    KnownWork(name="copy", framework="numpy", build=copy, repetitions=1),
    KnownWork(
        name="tensor operations",
        framework="torch",
        build=repeat_workload("chain-torch", elements=4096),
        repetitions=1,
    ),
    KnownWork(
        name="training step", framework="torch", build=repeat_workload("mlp-train", batch_size=32), repetitions=1
    ),
)


def find_work(name: str) -> KnownWork:
    """Return the known work of that name."""
    return next(work for work in KNOWN_WORK if work.name == name)


def busy_wait(seconds: float) -> Step:
    """Return a busy wait of known length."""

    def step() -> None:
        end = perf_counter() + seconds
        while perf_counter() < end:
            pass

    return step


def slow_once(step: Step, call: int | None, wait: Step) -> Step:
    """Return the step with a wait before its ``call``-th call; None means no wait, at the same overhead."""
    calls = count(1)

    def counted() -> object:
        if next(calls) == call:
            wait()
        return step()

    return counted
