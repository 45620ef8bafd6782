"""A trial repeated in several fresh workers, as one: its interval carries the spread between processes."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from harness.experiment import Plan
from harness.measuring.digest import effect_of, timing_across
from harness.measuring.evidence import judge_groups
from harness.measuring.measured import Measured
from harness.record import ArmRecord, Effect


def merged(results: list[Measured], plan: Plan) -> Measured:
    """Return one trial from its repetitions; an arm that was lost in one of them is lost."""
    places = range(len(results[0].arms))
    apart = [arm.gain_over for arm in results[0].arms if arm.gain_over not in ({}, results[0].arms[0].levels)]
    alpha = plan.alpha_each(len(places) + len(apart))
    return Measured(
        arms=[_arm(results, place, alpha, plan.noise) for place in places],
        samples_s=[tuple(chain(*(result.samples_s[place] for result in results))) for place in places],
        log_ratios=[tuple(chain(*(result.log_ratios[place] for result in results))) for place in places],
        claims=results[0].claims,
        span_s=sum(result.span_s for result in results),
        disturbance={key: _worst(key, results) for key in _shared_keys(results)},
        remarks=list(dict.fromkeys(chain(*(result.remarks for result in results)))),
    )


def _arm(results: list[Measured], place: int, alpha: float, noise: float) -> ArmRecord:
    arms = [result.arms[place] for result in results]
    if lost := [arm for arm in arms if arm.outcome != "measured"]:
        return replace(lost[0], effect=None, gain=None, timing=None)
    timings = [arm.timing for arm in arms if arm.timing is not None]
    samples_s = list(chain(*(result.samples_s[place] for result in results)))
    pooled = replace(arms[0], flags=list(dict.fromkeys(chain(*(arm.flags for arm in arms)))))
    pooled = replace(pooled, timing=timing_across(timings, samples_s)) if timings else pooled
    groups = [result.log_ratios[place] for result in results]
    if not all(groups):
        return pooled
    together = [result.together for result in results]
    quiet = [result.quiet[place] for result in results]

    def across(groups: list[tuple[float, ...]]) -> Effect:
        judgement = judge_groups(groups, alpha=alpha, noise=noise, together=together, quiet=quiet)
        return replace(effect_of(judgement, list(chain(*groups))), workers=len(results))

    gains = [result.gains[place] for result in results if result.gains and result.gains[place]]
    alike = len(gains) == len(results) and all(arm.gain_over == arms[0].gain_over for arm in arms)
    return replace(
        pooled,
        effect=across(groups),
        gain=across(gains) if alike else None,
        gain_over=arms[0].gain_over if alike else {},
    )


def _worst(key: str, results: list[Measured]) -> float:
    """Return the worst that any repetition saw: of a clock the lowest, of all else the highest."""
    return (min if "_clock_" in key else max)(result.disturbance[key] for result in results)


def _shared_keys(results: list[Measured]) -> set[str]:
    return set.intersection(*(set(result.disturbance) for result in results))
