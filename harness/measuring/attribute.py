"""`harness.attribute`: a bundle of one's own taken apart, in a notebook, a script or a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from harness.attribution.design import design
from harness.attribution.fit import ALPHA, fit
from harness.attribution.shares import Attribution
from harness.errors import BadInput
from harness.experiment import Arm, Plan
from harness.measuring.compare import check_numbers, refereed
from harness.measuring.digest import in_order

Levels = dict[str, Any]


def attribute(
    build: Callable[..., Callable[[], Any]],
    techniques: Mapping[str, tuple[Any, Any]],
    *,
    budget_s: float = 8.0,
    alpha: float = ALPHA,
    noise: float = 0.01,
    framework: str = "numpy",
    items: Callable[..., float] | None = None,
) -> Attribution:
    """Take a bundle of techniques apart: what each brings alone, and what only several bring together.

    Every combination of up to four techniques is measured, of five to eight a fraction of 16 or 17 in which single
    effects stay apart. All arms take part in every round, in random order, until the budget ends.

    Args:
        build: called with a level of every technique by name, as in ``build(amp="bf16", batch_size=32)``; returns a
            zero-argument callable that does its whole work and does not synchronise. All of them live at once, and all
            are built ten times, 20 times from four techniques on, or twice where that would take over a quarter of the
            budget.
        techniques: for each technique its two levels, switched off and on.
        budget_s: seconds of measuring for all arms together; building and warming up come on top.
        alpha: error rate of each interval, and of the test whether the effects multiply.
        noise: ratios within this fraction of 1 count as the same.
        framework: the adapter whose ``synchronize`` applies: "numpy", "torch", "tensorflow" or "cupy".
        items: how many items one call processes, 1 unless given; called with the levels as ``build`` is.

    Returns:
        The bundle and its shares, each a ``ratio`` with ``low``, ``high`` and ``verdict``; shown as a table.

    Raises:
        BadInput: a technique has not two levels, there are too few or too many, or a number is out of its range.
    """
    check_numbers(budget_s=budget_s, alpha=alpha, noise=noise)
    _check(build, techniques)
    rows = design(len(techniques))
    levels = [{name: pair[on] for (name, pair), on in zip(techniques.items(), row, strict=True)} for row in rows]
    builders = [partial(_arm, build, each, items) for each in levels]
    plan = Plan(budget_s=budget_s / len(builders), alpha=alpha, noise=noise, builds=2, whole_rounds=True)
    referee = refereed(builders, plan, framework)
    rounds = len(referee.samples_s[0])
    log_speedups = np.array([in_order(ratios or [0.0] * rounds) for ratios in referee.log_ratios]).T
    labels = {name: f"{name.replace('_', '-')} {on}" for name, (_, on) in techniques.items()}
    return fit(labels, rows, log_speedups, rounds=rounds, alpha=alpha, noise=noise)


def _arm(build: Callable[..., Callable[[], Any]], levels: Levels, items: Callable[..., float] | None) -> Arm:
    step = build(**levels)
    if not callable(step):
        raise BadInput(f"build returned a {type(step).__name__} for {levels}; expected a function without arguments")
    count = items(**levels) if items else 1
    if not count > 0:
        raise BadInput(f"items must be above 0, got {count!r} for {levels}")
    return Arm(step=step, items=count)


def _check(build: Callable[..., Callable[[], Any]], techniques: Mapping[str, tuple[Any, Any]]) -> None:
    if not callable(build):
        raise BadInput(f"build is not callable, got {build!r}; give a function that takes the levels by name")
    for name, levels in techniques.items():
        if not isinstance(levels, tuple | list) or len(levels) != 2 or levels[0] == levels[1]:
            raise BadInput(f"technique {name!r} needs two different levels, off and on; got {levels!r}")
