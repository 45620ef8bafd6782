"""`harness.compare`: the referee for callables of one's own, in a notebook, a script or a test."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from tabulate import tabulate

from harness import units
from harness.errors import BadInput
from harness.experiment import Arm, Plan
from harness.frameworks import load
from harness.measuring.building import Elsewhere, built_often
from harness.measuring.evidence import Judgement
from harness.measuring.referee import Referee
from harness.measuring.stopwatch import Stopwatch


@dataclass(frozen=True)
class Comparison(Mapping[str, Judgement]):
    """The judgement of each candidate, by name; shown as a table."""

    baseline: str
    judgements: Mapping[str, Judgement]
    per_item_s: Mapping[str, float]

    def __getitem__(self, name: str) -> Judgement:
        return self.judgements[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.judgements)

    def __len__(self) -> int:
        return len(self.judgements)

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            (self.baseline, units.seconds(self.per_item_s[self.baseline]), "1×", "", "baseline")
        ]
        for name, seen in self.judgements.items():
            time_per_item = units.seconds(self.per_item_s[name])
            within = units.interval(seen.low, seen.high)
            rows.append((name, time_per_item, units.speedup(seen.speedup), within, seen.verdict))
        return rows

    def __str__(self) -> str:
        return tabulate(self._rows(), headers=_HEADERS, disable_numparse=True)

    def _repr_html_(self) -> str:
        return str(tabulate(self._rows(), headers=_HEADERS, tablefmt="html", disable_numparse=True))


_HEADERS = ("arm", "time per item", "speedup", "interval", "verdict")


def compare(
    arms: Mapping[str, Callable[[], Any]],
    *,
    baseline: str | None = None,
    budget_s: float = 2.0,
    alpha: float = 0.01,
    noise: float = 0.01,
    framework: str = "numpy",
    items: Mapping[str, float] | None = None,
    rebuild: bool = False,
) -> Comparison:
    """Compare callables and say which are faster, by how much, and how sure that is.

    Where arrays lie in memory can make the same code truly faster or slower, by some per cent, on some processors by
    40 %. Of finished callables that is a part of what is compared; with ``rebuild`` it is a part of the interval.

    Args:
        arms: zero-argument callables by name; each must do its whole work, and must not synchronise.
        baseline: the arm that the others are compared with; the first one unless named.
        budget_s: seconds of measuring for the whole comparison; it ends earlier once every figure is precise.
        alpha: how often a verdict on arms that are the same may be wrong, over all candidates together.
        noise: speedups within this fraction of 1 count as the same.
        framework: the adapter whose ``synchronize`` applies: "numpy", "torch", "tensorflow" or "cupy".
        items: how many items one call of each arm processes, 1 unless named; speedups are per item.
        rebuild: the arms are functions that prepare their data and return what is to be timed. They are called
            eight times, or twice where that would take over a quarter of the budget, and as often again while budget
            is left for what is undecided; building comes on top.

    Returns:
        A mapping from each candidate's name to its judgement: ``speedup``, ``low``, ``high``, ``verdict``.

    Raises:
        BadInput: there is no candidate, a name is unknown, a number is out of its range, or with ``rebuild`` an arm
            returned something else than a callable.
    """
    first = next(iter(arms), None) if baseline is None else baseline
    _check(arms, first, budget_s=budget_s, alpha=alpha, noise=noise, items=items or {})
    names = sorted(arms, key=lambda name: name != first)  # the baseline first, the others in their order
    counts = [(items or {}).get(name, 1) for name in names]
    builders = [partial(_arm, name, arms[name], count, rebuild) for name, count in zip(names, counts, strict=True)]
    plan = Plan(budget_s=budget_s / len(names), alpha=alpha, noise=noise, builds=2 if rebuild else 1)
    referee = refereed(builders, plan, framework)
    return Comparison(
        baseline=names[0],
        judgements={name: referee.judgement(i) for i, name in enumerate(names) if i},
        per_item_s={name: referee.median_s(i) / counts[i] for i, name in enumerate(names)},
    )


def refereed(builders: Sequence[Callable[[], Arm]], plan: Plan, framework: str) -> Referee:
    """Build the arms, call each once, never as a sample, have them play, and return the referee with what came out.

    Where the plan has several builds, they are built afresh and elsewhere in memory, as an arm of the suite is.

    Raises:
        BadInput: there is no such framework.
    """
    adapter = load(framework)
    stopwatch, coin = Stopwatch(time.perf_counter, adapter.synchronize), Random()
    elsewhere = Elsewhere(coin)
    arms: dict[int, Arm] = {}

    def build(*, backwards: bool = False) -> None:
        for place in elsewhere.places(len(builders), backwards=backwards):
            arms[place] = builders[place]()
            stopwatch.block_s(arms[place], 1)

    start = stopwatch.clock()
    build()
    plan = built_often(plan, len(builders), stopwatch.clock() - start)
    referee = Referee(stopwatch=stopwatch, coin=coin, plan=plan, arms=len(builders))
    while not referee.settled:
        if referee.builds:
            arms.clear()
            adapter.free()
            build(backwards=referee.builds % 2 == 1)
        referee.play([arms[place] for place in sorted(arms)])
    return referee


def _arm(name: str, given: Callable[[], Any], items: float, rebuild: bool) -> Arm:
    return Arm.prepared(name, given, items) if rebuild else Arm(step=given, items=items)


def _check(
    arms: Mapping[str, Callable[[], Any]],
    baseline: str | None,
    *,
    budget_s: float,
    alpha: float,
    noise: float,
    items: Mapping[str, float],
) -> None:
    known = ", ".join(map(repr, arms))
    if len(arms) < 2:
        raise BadInput(f"compare needs a baseline and a candidate, got {len(arms)} arm(s); give at least two")
    if baseline not in arms:
        raise BadInput(f"baseline {baseline!r} is not among the arms; expected one of: {known}")
    if unknown := [name for name in items if name not in arms]:
        raise BadInput(f"items names {unknown[0]!r}, which is not among the arms; expected: {known}")
    if wrong := [name for name, step in arms.items() if not callable(step)]:
        raise BadInput(f"arm {wrong[0]!r} is not callable; give a function without arguments")
    if wrong := [name for name, count in items.items() if not count > 0]:
        raise BadInput(f"items of {wrong[0]!r} must be above 0, got {items[wrong[0]]!r}")
    check_numbers(budget_s=budget_s, alpha=alpha, noise=noise)


def check_numbers(*, budget_s: float, alpha: float, noise: float) -> None:
    """Check what is asked of the measuring.

    Raises:
        BadInput: a number is out of its range.
    """
    if not 0 < budget_s < math.inf:
        raise BadInput(f"budget_s must be above 0 and finite, got {budget_s!r}")
    if not 0 < alpha < 1:
        raise BadInput(f"alpha must lie between 0 and 1, got {alpha!r}")
    if not 0 <= noise < 1:
        raise BadInput(f"noise must lie between 0 and 1, got {noise!r}")
