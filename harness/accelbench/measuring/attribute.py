"""`accelbench.attribute`: how much each technique of a bundle adds to the bundle's speedup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from accelbench.attribution import ALPHA, Attribution, batches_for, design, fit
from accelbench.core import ROUNDING, Arm, Contrast, Plan
from accelbench.errors import BadInput
from accelbench.measuring.callables import require_callable
from accelbench.measuring.checks.process_state import first_calls_taken_back
from accelbench.measuring.compare import measure_arms, require_valid_numbers
from accelbench.measuring.first_calls import FirstCallsRun
from accelbench.measuring.statistics import in_order
from accelbench.measuring.trial_run import TrialRun
from accelbench.text import format_levels, name_type


def attribute(
    build: Callable[..., Callable[[], Any]],
    techniques: Mapping[str, tuple[Any, Any]],
    *,
    budget_s: float = 8.0,
    alpha: float = ALPHA,
    noise: float = 0.01,
    tolerance: float | None = ROUNDING,
    framework: str | None = None,
    items: Callable[..., float] | None = None,
) -> Attribution:
    """Estimate the effect of each technique of a bundle, alone and with the others, and their interactions.

    Every combination of the two to four techniques is measured. All arms take part in every round, in random order,
    until the budget ends.

    Args:
        build: called with a level of every technique by name, as in ``build(amp="bf16", batch_size=32)``; returns a
            zero-argument callable that does its whole work, returns its result and does not synchronise. All of them
            exist at once, and all are built ten times, 20 times for four techniques, or twice if that would take over a
            quarter of the budget.
        techniques: for each technique its two levels, switched off and on.
        budget_s: seconds of measuring for all arms together; building and warming up come on top.
        alpha: error rate of each interval, and of the test for interactions.
        noise: ratios within this fraction of 1 count as the same.
        tolerance: relative error that an output may have against the baseline's, as for :func:`compare`.
        framework: whose devices are synchronised, as for :func:`compare`.
        items: how many items one call processes, 1 unless given; called with the levels as ``build`` is.

    Returns:
        The effects of the bundle and its techniques, each a ``ratio`` with ``low``, ``high`` and ``verdict``; shown as
        a table. Its ``warnings`` say what may be wrong with the numbers, as those of :func:`compare` do.

    Raises:
        BadInput: a technique does not have two levels, there are too few or too many, a number is out of its range,
            or a combination could not be measured, for example because it gave a wrong answer.
    """
    require_valid_numbers(budget_s=budget_s, alpha=alpha, noise=noise, tolerance=tolerance)
    _check_techniques(build, techniques)
    rows = design(len(techniques))
    levels = [{name: pair[on] for (name, pair), on in zip(techniques.items(), row, strict=True)} for row in rows]
    names = [format_levels(each, str) for each in levels]
    builders = {name: partial(_combination, build, each, items) for name, each in zip(names, levels, strict=True)}
    plan = Plan(
        budget_s=budget_s / len(builders),
        alpha=alpha,
        noise=noise,
        max_builds=batches_for(len(builders)),
        whole_rounds=True,
        prices=False,
    )
    with first_calls_taken_back(builders.values(), framework):
        known = FirstCallsRun(
            builders, {}, framework=framework, tolerance=tolerance, verifies=False, rebuild=True
        ).result()
    measured, warnings = measure_arms(builders, plan, known, tolerance, None, seeded=True, trial_run=TrialRun)
    for name, arm in zip(names, measured.arms, strict=True):
        if arm.outcome != "measured":
            raise BadInput(f"the combination {name} has no speed: {arm.reason}")
    rounds = len(measured.samples_s[0])
    ratios = [measured.pairs[Contrast(place, 0)].log_ratios for place in range(1, len(names))]
    log_speedups = np.array([in_order([0.0] * rounds), *map(in_order, ratios)]).T
    labels = {name: format_levels({name: on}, str) for name, (_, on) in techniques.items()}
    found = fit(labels, rows, log_speedups, rounds=rounds, alpha=alpha, noise=noise)
    return replace(found, warnings=warnings)


def _combination(
    build: Callable[..., Callable[[], Any]], levels: Mapping[str, Any], items: Callable[..., float] | None
) -> Arm:
    step = build(**levels)
    if not callable(step):
        raise BadInput(f"build returned {name_type(step)} for {levels}; expected a function without arguments")
    require_callable(step, f"what build returned for {levels}")
    count = items(**levels) if items else 1
    if not count > 0:
        raise BadInput(f"items must be above 0, got {count!r} for {levels}")
    return Arm(step=step, items=count)


def _check_techniques(build: Callable[..., Callable[[], Any]], techniques: Mapping[str, tuple[Any, Any]]) -> None:
    if not callable(build):
        raise BadInput(f"build is not callable, got {build!r}; give a function that takes the levels by name")
    for name, levels in techniques.items():
        if not isinstance(levels, tuple | list) or len(levels) != 2 or levels[0] == levels[1]:
            raise BadInput(f"technique {name!r} needs two different levels, off and on; got {levels!r}")
