"""A trial repeated in several fresh workers, as one: its interval carries the spread between processes."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from harness.experiment import Plan
from harness.measuring.entrant import effect_of
from harness.measuring.evidence import judge_workers
from harness.measuring.measured import Measured
from harness.record import ArmRecord


def merged(results: list[Measured], plan: Plan) -> Measured:
    """Return one trial from its repetitions; an arm that was lost in one of them is lost."""
    places = range(len(results[0].arms))
    alpha = plan.alpha / max(1, len(places) - 1)
    return Measured(
        arms=[_arm(results, place, alpha, plan.noise) for place in places],
        samples_s=[tuple(chain(*(result.samples_s[place] for result in results))) for place in places],
        log_ratios=[tuple(chain(*(result.log_ratios[place] for result in results))) for place in places],
        span_s=sum(result.span_s for result in results),
        disturbance={key: max(result.disturbance[key] for result in results) for key in _shared_keys(results)},
        remarks=list(dict.fromkeys(chain(*(result.remarks for result in results)))),
    )


def _arm(results: list[Measured], place: int, alpha: float, noise: float) -> ArmRecord:
    lost = [result.arms[place] for result in results if result.arms[place].outcome != "measured"]
    if lost:
        return replace(lost[0], effect=None, timing=None)
    first = results[0].arms[place]
    groups = [result.log_ratios[place] for result in results]
    if not all(groups):
        return first
    judgement = judge_workers(groups, alpha=alpha, noise=noise)
    effect = replace(effect_of(judgement, list(chain(*groups))), workers=len(results))
    return replace(first, effect=effect)


def _shared_keys(results: list[Measured]) -> set[str]:
    return set.intersection(*(set(result.disturbance) for result in results))
