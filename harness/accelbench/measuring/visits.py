"""One result of a trial from its visits, and which visits are still to be made.

A visit is one fresh build of a trial's arms in one fresh worker. Visits lie apart in time, so their medians differ by
what changes from run to run: where the host puts the cores, where arrays lie, the other load of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from accelbench.core import Contrast, Plan, Trial
from accelbench.measuring.statistics import Judgement, effect_of, timing_across
from accelbench.measuring.trial_result import Pairs, TrialResult
from accelbench.measuring.visit_statistics import (
    ENOUGH_RUNS,
    VisitPairs,
    join_runs,
    judge_visits,
    lies_apart,
    prior_of_effects,
)
from accelbench.moderated_variance import Prior
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import ArmRecord, Effect, Outcome, Verdict, Visit, VisitEffect
from accelbench.schema.verdict import NEGLIGIBLE, verdict, verdict_on_ratios
from accelbench.text import format_levels


@dataclass(frozen=True, kw_only=True)
class EarlierSpeedups:
    """The log speedups of each contrast in earlier runs; ``of_same_code`` says whether these measured the same code."""

    by_contrast: Mapping[Contrast, Sequence[float]] = field(default_factory=dict)
    of_same_code: bool = False

    def of(self, contrast: Contrast, by_visit: Mapping[int, VisitPairs]) -> Sequence[float]:
        """Return the log speedups that say how much a contrast moves from run to run.

        Runs that may have measured other code say nothing of it if this run lies apart from them.
        """
        found = self.by_contrast.get(contrast, ())
        is_other = found and not self.of_same_code and lies_apart(list(by_visit.values()), found, Prior())
        return () if is_other else found


@dataclass(frozen=True, kw_only=True)
class MeasuredVisit:
    """One visit of a trial and what it measured."""

    visit: Visit
    result: TrialResult


SURE_TIMES = 1.3  # the width of an interval at which a verdict must hold to be final
HOPED_TIMES = 0.8  # the width that another visit leaves after three: √¾, and Student's t of one more degree of freedom
# The same two where enough earlier runs have joined: what differs between runs is then most of the width, and another
# visit of this one moves little.
SURE_TIMES_JOINED, HOPED_TIMES_JOINED = 1.1, 0.95
USUAL_LEAST = 3  # visits in the usual state, on which alone effects then rest
# Parts of the names of figures, those of a remark behind its code; of all others, a higher one is worse.
_WORSE_WHEN_LOWER = ("_clock_", "cores_worth", "gpu-clock-fell share", "shared-cores worth")
_OF_MACHINE = {"cores", "asked", "gpu", "clock_mhz"}  # numbers of remarks that do not say how bad it was
MANY_FAULTS_TIMES, MANY_FAULTS = 2, 100  # page faults of an iteration, more than in the other visits


def mark_page_faults(visits: Sequence[MeasuredVisit]) -> list[MeasuredVisit]:
    """Return the visits; those in which an arm had far more page faults than in the others are marked as odd."""
    marked = []
    for number, measured in enumerate(visits):
        others = [other.result.arms for place, other in enumerate(visits) if place != number]
        found = next(filter(None, map(_find_faults, measured.result.arms, *others)), None) if len(others) > 1 else None
        odd = [*measured.visit.odd, *([found] if found else [])]
        marked.append(replace(measured, visit=replace(measured.visit, odd=odd)))
    return marked


def _find_faults(arm: ArmRecord, *others: ArmRecord) -> Reason | None:
    known = [faults for faults in map(_page_faults, others) if faults is not None]
    faults = _page_faults(arm)
    if faults is None or not known:
        return None
    usual = float(np.median(known))
    if faults <= MANY_FAULTS_TIMES * usual + MANY_FAULTS:
        return None
    return reason("many-page-faults", arm=format_levels(arm.levels), faults=faults, usual=usual)


def _page_faults(arm: ArmRecord) -> float | None:
    return arm.timing.page_faults if arm.timing else None


def usual_visits(visits: Sequence[MeasuredVisit]) -> list[int]:
    """Return the numbers of the visits on which effects rest: those in the usual state, or all if these are too few."""
    usual = [number for number, measured in enumerate(visits) if not measured.visit.odd]
    return usual if len(usual) >= min(USUAL_LEAST, len(visits)) else list(range(len(visits)))


def pairs_of(visits: Sequence[MeasuredVisit]) -> dict[Contrast, dict[int, VisitPairs]]:
    """Return the pairs of each contrast in the visits on which effects rest, by the number of the visit.

    Disturbed pairs are left out where at least half of a visit's pairs are undisturbed.
    """
    found: dict[Contrast, dict[int, VisitPairs]] = {}
    for number in usual_visits(visits):
        for contrast, pairs in visits[number].result.pairs.items():
            found.setdefault(contrast, {})[number] = VisitPairs(builds=_undisturbed_builds(pairs))
    return found


def _undisturbed_builds(pairs: Pairs) -> tuple[tuple[float, ...], ...]:
    """Return the log speedups of each build in which any are left."""
    enough = 2 * sum(pairs.undisturbed) >= len(pairs.undisturbed)
    ends = [*pairs.build_starts, len(pairs.log_ratios)]
    builds = (
        tuple(pairs.log_ratios[place] for place in range(first, end) if pairs.undisturbed[place] or not enough)
        for first, end in pairwise([0, *ends])
    )
    return tuple(filter(None, builds))


def prior_of(trials: Iterable[tuple[Sequence[MeasuredVisit], EarlierSpeedups]]) -> Prior:
    """Return the prior that the effects of these trials give, each with its earlier runs."""
    return prior_of_effects(
        [
            (list(by_visit.values()), earlier.of(contrast, by_visit))
            for visits, earlier in trials
            for contrast, by_visit in pairs_of(visits).items()
        ]
    )


class _ContrastJudgement(NamedTuple):
    """The judgement of a contrast, on how many earlier runs it rests, and how many of them have joined it."""

    judgement: Judgement
    earlier_runs: int
    joined_runs: int


def _judge(
    visits: Sequence[MeasuredVisit],
    by_contrast: Mapping[Contrast, Mapping[int, VisitPairs]],
    plan: Plan,
    prior: Prior,
    earlier: EarlierSpeedups,
) -> dict[Contrast, _ContrastJudgement]:
    """Return the judgement of each contrast whose arms have not failed in any visit so far.

    Each has the plan's error rate. To share it among the contrasts of a trial would make intervals that rest on three
    or four visits twice as wide for seven of them, and a reader of a report looks at rows of many trials anyway.
    """
    failed = _failures(visits)
    found = {}
    for contrast, by_visit in by_contrast.items():
        if failed.keys().isdisjoint(contrast):
            pairs, before = list(by_visit.values()), earlier.of(contrast, by_visit)
            joined = join_runs(pairs, before, prior) if earlier.of_same_code else ()
            judgement = judge_visits(
                pairs, prior=prior, alpha=plan.alpha, noise=plan.noise, earlier=before, joined=joined
            )
            found[contrast] = _ContrastJudgement(judgement, earlier_runs=len(before), joined_runs=len(joined))
    return found


def join_visits(visits: Sequence[MeasuredVisit], plan: Plan, prior: Prior, earlier: EarlierSpeedups) -> TrialResult:
    """Return one result of a trial from its visits; an arm that failed in one of them has failed.

    What is no time, such as memory and placement, is that of the first visit. A plan of one visit has no spread between
    visits; its intervals are those of the pairs and hold for that visit alone.
    """
    results = [measured.result for measured in visits]
    if plan.visits == 1:
        return replace(results[-1], arms=[_judge_as_in_visits(arm, plan) for arm in results[-1].arms])
    by_contrast = pairs_of(visits)
    judged = _judge(visits, by_contrast, plan, prior, earlier)
    effects: list[list[Effect]] = [[] for _ in results[0].arms]
    for contrast, found in judged.items():
        effects[contrast.arm].append(_effect(results, contrast, found, by_contrast[contrast]))
    samples_s = [tuple(chain(*each)) for each in zip(*(result.samples_s for result in results), strict=True)]
    of_each_arm = zip(*(result.arms for result in results), strict=True)
    return TrialResult(
        arms=[_arm(*each) for each in zip(of_each_arm, samples_s, effects, strict=True)],
        samples_s=samples_s,
        pairs={contrast: _all_pairs(results, contrast) for contrast in judged},
        stated_work=results[0].stated_work,
        span_s=sum(result.span_s for result in results),
        disturbance={key: _worst(key, results) for key in _shared_keys(results)},
        remarks=[
            *_worst_of_each(chain(*(result.remarks for result in results))),
            *(_remark_odd(visits) if by_contrast else []),
        ],
    )


def _judge_as_in_visits(arm: ArmRecord, plan: Plan) -> ArmRecord:
    """Return an arm whose verdicts mean the same as those of a run in visits."""
    verdicts = [verdict_on_ratios(each.low, each.upper, plan.noise, NEGLIGIBLE) for each in arm.effects]
    return replace(arm, effects=[replace(each, verdict=of) for each, of in zip(arm.effects, verdicts, strict=True)])


def _worst_of_each(remarks: Iterable[Reason]) -> list[Reason]:
    """Return the worst remark of each code."""
    worst: dict[str, Reason] = {}
    for remark in remarks:
        known = worst.setdefault(remark.code, remark)
        worst[remark.code] = max(known, remark, key=_badness_of)
    return list(worst.values())


def _badness_of(remark: Reason) -> float:
    figures = [
        _badness(f"{remark.code} {name}", value)
        for name, value in remark.values.items()
        if isinstance(value, int | float) and name not in _OF_MACHINE
    ]
    return max(figures, default=0.0)


def _badness(name: str, figure: float) -> float:
    """Return a number that is greater, the worse a figure is."""
    return -figure if any(part in name for part in _WORSE_WHEN_LOWER) else figure


def _remark_odd(visits: Sequence[MeasuredVisit]) -> list[Reason]:
    odd = [measured.visit.odd[0] for measured in visits if measured.visit.odd]
    if not odd:
        return []
    if len(usual_visits(visits)) < len(visits):
        return [reason("odd-visits-left-out", odd=len(odd), visits=len(visits), cause=odd[0])]
    return [reason("odd-visits", odd=len(odd), visits=len(visits), cause=odd[0])]


def _effect(
    results: Sequence[TrialResult], contrast: Contrast, judged: _ContrastJudgement, by_visit: Mapping[int, VisitPairs]
) -> Effect:
    against = results[0].arms[contrast.against].levels
    builds = list(chain(*(pairs.builds for pairs in by_visit.values())))
    seen = [effect for number in by_visit if (effect := results[number].arms[contrast.arm].effect_over(against))]
    return replace(
        effect_of(judged.judgement, builds, against, builds=len(builds) if len(builds) > len(by_visit) else 1),
        paired=all(effect.paired for effect in seen),
        workers=len(by_visit),
        earlier_runs=judged.earlier_runs,
        joined_runs=judged.joined_runs,
        visits=tuple(
            _visit_effect(
                number, VisitPairs(builds=_undisturbed_builds(result.pairs[contrast])), in_interval=number in by_visit
            )
            for number, result in enumerate(results)
            if contrast in result.pairs
        ),
    )


def _visit_effect(number: int, pairs: VisitPairs, *, in_interval: bool) -> VisitEffect:
    return VisitEffect(
        visit=number, log_speedup=round(pairs.median, 6), pairs=len(pairs.log_ratios), in_interval=in_interval
    )


def _arm(arms: Sequence[ArmRecord], samples_s: Sequence[float], effects: list[Effect]) -> ArmRecord:
    """Return one record of an arm from those of its visits."""
    if failed := [arm for arm in arms if arm.outcome != "measured"]:
        return replace(failed[0], effects=[], timing=None)
    timings = [arm.timing for arm in arms if arm.timing is not None]
    joined = replace(arms[0], flags=list(dict.fromkeys(chain(*(arm.flags for arm in arms)))), effects=effects)
    return replace(joined, timing=timing_across(timings, samples_s)) if timings else joined


def _all_pairs(results: Sequence[TrialResult], contrast: Contrast) -> Pairs:
    pairs = [result.pairs[contrast] for result in results if contrast in result.pairs]
    return Pairs(
        log_ratios=tuple(chain(*(each.log_ratios for each in pairs))),
        undisturbed=tuple(chain(*(each.undisturbed for each in pairs))),
    )


def _worst(key: str, results: Sequence[TrialResult]) -> float:
    """Return the worst figure of the visits."""
    return max((result.disturbance[key] for result in results), key=partial(_badness, key))


def _shared_keys(results: Sequence[TrialResult]) -> set[str]:
    return set.intersection(*(set(result.disturbance) for result in results))


def next_visit(trial: Trial, visits: Sequence[MeasuredVisit], number: int, settled: Collection[Contrast] = ()) -> Trial:
    """Return the trial as its next visit measures it, with what earlier ones have shown of its arms."""
    known = {place: arm for measured in visits[:1] for place, arm in enumerate(measured.result.arms)}
    setting = trial.setting
    if visits:
        first = visits[0].result
        setting = replace(setting, items=first.arms[0].items, compares_outputs=first.compares_outputs)
    return replace(
        trial,
        plan=trial.plan.of_visit(number),
        failures={**trial.failures, **_failures(visits)},
        spreads={
            place: arm.price.repeats_within for place, arm in known.items() if arm.price and arm.price.repeats_within
        },
        iterations={place: arm.timing.iterations_per_block for place, arm in known.items() if arm.timing},
        settled=frozenset(settled),
        setting=setting,
    )


def _failures(visits: Sequence[MeasuredVisit]) -> dict[int, tuple[Outcome, Reason | None]]:
    """Return the outcomes and reasons of the arms that failed in a visit, by their places."""
    return {
        place: (arm.outcome, arm.reason)
        for measured in visits
        for place, arm in enumerate(measured.result.arms)
        if arm.outcome != "measured"
    }


def may_go_on(trial: Trial, visits: Sequence[MeasuredVisit]) -> bool:
    """Return whether another visit of the trial would show anything: some arm is left to compare with the baseline."""
    failures = _failures(visits)
    return 0 not in failures and (len(trial.arms) == 1 or len(failures) < len(trial.arms) - 1)


def settled_contrasts(
    visits: Sequence[MeasuredVisit], plan: Plan, prior: Prior, earlier: EarlierSpeedups
) -> dict[Contrast, bool]:
    """Return for each contrast whether further visits would not change its verdict.

    A verdict stays where its interval is narrow, or where one 1.3 times as wide would give the same. An effect stays
    undecided where the interval that another visit may leave would decide nothing either; two visits are too few to
    tell. Where earlier runs have joined, another visit moves less, and two tell enough.
    """
    found = _verdicts_so_far(visits, plan, prior, earlier)
    return {contrast: is_final for contrast, (_, is_final) in found.items()}


def may_decide(visits: Sequence[MeasuredVisit], plan: Plan, prior: Prior, earlier: EarlierSpeedups) -> bool:
    """Return whether another visit may decide what is undecided so far."""
    found = _verdicts_so_far(visits, plan, prior, earlier).values()
    return any(verdict == "undecided" and not is_final for verdict, is_final in found)


def _verdicts_so_far(
    visits: Sequence[MeasuredVisit], plan: Plan, prior: Prior, earlier: EarlierSpeedups
) -> dict[Contrast, tuple[Verdict, bool]]:
    """Return the verdict of each contrast, and whether further visits would not change it."""
    by_contrast = pairs_of(visits)
    return {
        contrast: (found.judgement.verdict, _is_final(found, plan, len(by_contrast[contrast])))
        for contrast, found in _judge(visits, by_contrast, plan, prior, earlier).items()
    }


def _is_final(found: _ContrastJudgement, plan: Plan, visits: int) -> bool:
    judgement, has_joined = found.judgement, found.joined_runs >= ENOUGH_RUNS
    if not math.isfinite(judgement.half_width):
        return False
    if judgement.verdict == "undecided":
        hoped = HOPED_TIMES_JOINED if has_joined else HOPED_TIMES
        return (has_joined or visits >= USUAL_LEAST) and _verdict_at(hoped, judgement, plan.noise) == "undecided"
    sure = SURE_TIMES_JOINED if has_joined else SURE_TIMES
    is_narrow = judgement.half_width <= plan.half_width
    return is_narrow or _verdict_at(sure, judgement, plan.noise) == judgement.verdict


def _verdict_at(times: float, judgement: Judgement, noise: float) -> Verdict:
    """Return the verdict that an interval of so many times the width would give."""
    low, high = math.log(judgement.low), math.log(judgement.high)
    middle, reach = (low + high) / 2, times * (high - low) / 2
    return verdict(middle - reach, middle + reach, noise, NEGLIGIBLE)
