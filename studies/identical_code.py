"""Does `accelbench.compare` call identical code the same, and 3 % more work slower?

Every comparison prepares its arms afresh, as a user's program does: one set of arrays for each arm, wherever they come
to lie. The slower variant does 3 % more of the same work.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import threadpoolctl
import torch

import accelbench
from studies.marked_tables import show_tables

PAGE = Path(__file__).with_name("README.md")
CONFIDENCE = 1.96  # standard errors of a Wilson interval
Step = Callable[[], Any]


def copying(work: int) -> Step:
    """Copy 2 MiB."""
    values = np.random.default_rng(0).random(2**18 * work // 100)
    return values.copy


def vectors(work: int) -> Step:
    """Multiply and add vectors of 10,000 elements, 33 times."""
    left, right = np.random.default_rng(0).random((2, 10_000))
    times = work // 3

    def step() -> np.ndarray:
        for _ in range(times):
            result = left * right + left
        return result

    return step


def products(work: int) -> Step:
    """Multiply matrices of 96 × 96, 33 times."""
    left, right = np.random.default_rng(0).random((2, 96, 96))
    times = work // 3

    def step() -> np.ndarray:
        for _ in range(times):
            result = left @ right
        return result

    return step


def training(work: int, *, batch: int = 1) -> Step:
    """Train a network of two layers on a batch of 100, or of as many hundreds."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(batch * work, 256), torch.randint(10, (batch * work,))

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What is compared, and with how many threads; a hard kind is counted apart, a third as often."""

    make: Callable[[int], Step]
    threads: int = 1
    is_hard: bool = False


KINDS = {
    "copy of 2 MiB": Kind(make=copying),
    "vectors of 10,000": Kind(make=vectors),
    "products of 96 × 96": Kind(make=products),
    "training step, batch of 100": Kind(make=training),
    "training step, batch of 600": Kind(make=partial(training, batch=6), is_hard=True),
    "training step, batch of 600, two threads": Kind(make=partial(training, batch=6), threads=2, is_hard=True),
}
VARIANTS = {"the same": 100, "3 % more work": 103}


@dataclass(kw_only=True)
class Tally:
    """The verdicts of one kind of comparison, and what they took."""

    verdicts: Counter[str] = field(default_factory=Counter)
    decided_s: list[float] = field(default_factory=list)
    builds: list[int] = field(default_factory=list)
    disturbed: int = 0

    def add(self, found: accelbench.Comparison, took_s: float) -> None:
        """Count one comparison."""
        result = found["again"]
        self.verdicts[str(result.verdict)] += 1
        self.builds.append(result.builds)
        self.disturbed += any("disturbed" in warning for warning in found.warnings)
        if result.verdict != "undecided":
            self.decided_s.append(took_s)

    def row(self, kind: str, variant: str) -> str:
        """Return a line of the table."""
        verdicts = [self.verdicts[verdict] for verdict in ("same", "slower", "faster", "undecided")]
        seconds = f"{median(self.decided_s):.2f}" if self.decided_s else ""
        counts = [sum(verdicts), *verdicts, round(median(self.builds)), self.disturbed]
        return f"| {kind} | {variant} | {' | '.join(map(str, counts))} | {seconds} |"


def compared(kind: Kind, work: int, *, budget_s: float) -> tuple[accelbench.Comparison, float]:
    """Compare a step with one of this much work; return the result and the seconds that the call took."""
    arms = {"once": kind.make(100), "again": kind.make(work)}
    torch.set_num_threads(kind.threads)
    start = perf_counter()
    # More work gives another output.
    found = accelbench.compare(arms, budget_s=budget_s, tolerance=None)
    return found, perf_counter() - start


def table(times: int, *, budget_s: float) -> Iterator[str]:
    """Compare every kind this many times, in turn, and yield the lines of the table."""
    tallies = {(kind, variant): Tally() for kind in KINDS for variant in VARIANTS}
    for number in range(times):
        for (kind, variant), tally in tallies.items():
            if not KINDS[kind].is_hard or number % 3 == 0:
                tally.add(*compared(KINDS[kind], VARIANTS[variant], budget_s=budget_s))
        print(f"{number + 1} of {times}", file=sys.stderr, flush=True)
    numbers = ("comparisons", "same", "slower", "faster", "undecided", "builds", "disturbed", "seconds until decided")
    yield f"| arms | second arm | {' | '.join(numbers)} |"
    yield f"|---|---|{'---:|' * len(numbers)}"
    for (kind, variant), tally in tallies.items():
        yield tally.row(kind, variant)
    usual = {key: tally for key, tally in tallies.items() if not KINDS[key[0]].is_hard}
    same = [tally for (_, variant), tally in usual.items() if variant == "the same"]
    more = [tally for (_, variant), tally in usual.items() if variant != "the same"]
    yield ""
    yield (
        f"Without the batches of 600, identical code: {share(same, 'same')} called the same, "
        f"{share(same, 'slower', 'faster')} called different. 3 % more work: {share(more, 'slower')} called slower."
    )
    yield (
        f"One thread unless named, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"PyTorch {torch.__version__}; at most {budget_s:g} s a comparison, medians of builds and seconds."
    )


def share(tallies: list[Tally], *verdicts: str) -> str:
    """Return how many comparisons had one of these verdicts, with the 95 % interval of their share (Wilson 1927)."""
    total = sum(tally.verdicts.total() for tally in tallies)
    count = sum(tally.verdicts[verdict] for tally in tallies for verdict in verdicts)
    squared = CONFIDENCE**2
    centre = (count + squared / 2) / (total + squared)
    reach = CONFIDENCE / (total + squared) * (count * (total - count) / total + squared / 4) ** 0.5
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return f"{count} of {total} ({low:.1%} to {high:.1%})".replace("%", " %")


def main() -> None:
    """Compare identical code and code with 3 % more work, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=75, help="of each kind (75: 300 of identical code)")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of each comparison (1)")
    parser.add_argument("--write", action="store_true", help="put the table into studies/README.md")
    options = parser.parse_args()
    with threadpoolctl.threadpool_limits(1):
        lines = table(options.comparisons, budget_s=options.budget)
        show_tables(PAGE, "identical code", lines, write=options.write)


if __name__ == "__main__":
    main()
