"""Work of known truth: steps that do exactly so much, and more of the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, repeat
from time import perf_counter

import numpy as np

from harness.experiment import Setting, find_workload

Step = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class KnownWork:
    """Work that is put together from repetitions of one thing. ``build`` returns a step that does so many of them.

    ``usual`` is how many make up dose 0. Of ``divisible`` work a per cent more is exact: a whole number of
    repetitions, beside which what a block costs once does not count.
    """

    name: str
    framework: str
    build: Callable[[int], Step]
    usual: int
    divisible: bool = False

    def step(self, dose: float = 0.0) -> Step:
        """Return a step, built afresh, that does ``dose`` more than usual."""
        return self.build(round((1 + dose) * self.usual))


def loop(repetitions: int) -> Step:
    """Return a pure Python loop whose iterations all cost the same: its numbers are those that Python keeps."""

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


def catalogued(workload: str, **options: int) -> Callable[[int], Step]:
    """Return a builder of repetitions of a workload of the catalogue."""

    def build(repetitions: int) -> Step:
        once = find_workload(workload).build(Setting(), **options).step

        def step() -> None:
            for _ in repeat(None, repetitions):
                once()

        return step

    return build


KNOWN = (
    KnownWork(name="short Python loop", framework="numpy", build=loop, usual=600),
    KnownWork(name="Python loop", framework="numpy", build=loop, usual=20_000, divisible=True),
    KnownWork(name="matrix product", framework="numpy", build=product(96), usual=1),
    KnownWork(name="repeated product", framework="numpy", build=product(32), usual=400, divisible=True),
    KnownWork(name="copy", framework="numpy", build=copy, usual=1),
    KnownWork(name="tensor operations", framework="torch", build=catalogued("chain-torch", elements=4096), usual=1),
    KnownWork(name="training step", framework="torch", build=catalogued("mlp-train", batch_size=32), usual=1),
)


def find_work(name: str) -> KnownWork:
    """Return the work of that name."""
    return next(work for work in KNOWN if work.name == name)


def waiting(seconds: float) -> Step:
    """Return a busy wait of known length."""

    def step() -> None:
        end = perf_counter() + seconds
        while perf_counter() < end:
            pass

    return step


def slow_once(step: Step, call: int | None, wait: Step) -> Step:
    """Return the step with a wait before one call; a ``call`` of None never comes, at the same cost."""
    calls = count(1)

    def counted() -> object:
        if next(calls) == call:
            wait()
        return step()

    return counted
