"""Comparisons across worker processes: arms that cannot share one, and retries after out-of-memory.

Identical code in two processes differs by up to a few per cent. So a pair of workers gives one ratio, and no statistic
from within a worker holds for more than that worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

import numpy as np

from accelbench.core import Contrast, OnProgress, Trial
from accelbench.core.verification import relative_error
from accelbench.measuring.arm_run import arm_runs_of, find_smaller_failure, is_too_large
from accelbench.measuring.checks import claims
from accelbench.measuring.checks import output as check
from accelbench.measuring.checks.arm_checks import widen
from accelbench.measuring.statistics import Judgement, effect_of, fewest_pairs_of, judge_groups, timing_across
from accelbench.measuring.trial_result import Pairs, StatedWork, TrialResult, no_baseline
from accelbench.schema.result import ArmRecord, Timing

Ask = Callable[[Trial, Mapping[str, str], OnProgress], TrialResult]
SPARE_PAIRS = 5  # beyond the smallest number that can decide
VISIT_SHARE = 0.2  # of an arm's budget, spent in each of its workers


@dataclass
class _Visits:
    """The results of an arm's workers so far: one median each, in seconds per iteration."""

    record: ArmRecord
    tolerance: float
    computes: tuple[str, ...]
    exact: bool
    timings: list[Timing] = field(default_factory=list)
    medians_s: list[float] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    stated_work: StatedWork | None = None


def alternate(
    trial: Trial, environments: Sequence[Mapping[str, str]], ask: Ask, on_progress: OnProgress
) -> TrialResult:
    """Measure every candidate against the baseline in alternating workers and return the trial."""
    comparison = _CrossProcessTrial(trial, environments, ask, on_progress)
    for candidate in range(1, len(trial.arms)):
        if candidate not in trial.failures and candidate not in trial.settled_places:
            comparison.measure(candidate)
    return comparison.result()


class _CrossProcessTrial:
    def __init__(
        self, trial: Trial, environments: Sequence[Mapping[str, str]], ask: Ask, on_progress: OnProgress
    ) -> None:
        self.trial, self.environments, self.ask, self.on_progress = trial, environments, ask, on_progress
        self.coin = Random()
        plan = trial.plan
        self.alpha = plan.alpha_each(len(trial.arms) - 1)
        self.visit = replace(plan, budget_s=VISIT_SHARE * plan.budget_s, builds=1, keep_outputs=True)
        empty = TrialResult.nothing(trial, "measured", None)
        self.arms = [
            _Visits(record, arm_run.tolerance, arm_run.computes(), arm_run.exact)
            for record, arm_run in zip(empty.arms, arm_runs_of(trial), strict=True)
        ]
        self.log_ratios: list[list[float]] = [[] for _ in trial.arms]
        self.worst = empty  # the visit that neighbours disturbed most

    def measure(self, candidate: int) -> None:
        visits = self.trial.plan.visits
        min_pairs = 1 if self.trial.plan.rehearse else fewest_pairs_of(self.trial.plan, self.alpha)
        max_pairs = 1 if self.trial.plan.rehearse else min_pairs + SPARE_PAIRS // visits
        for pair in range(1, max_pairs + 1):
            self.on_progress(f"pair {pair} of workers, at most {max_pairs}")
            order = [0, candidate]
            self.coin.shuffle(order)
            are_measured = [self._visit(place) for place in order]  # both, so that the baseline is always measured
            if not all(are_measured):
                return
            self._check(candidate)
            if self.trial.plan.rehearse or self.arms[candidate].record.outcome != "measured":
                return
            per_item_s = [self.arms[p].medians_s[-1] / (self.arms[p].record.items or 1) for p in (0, candidate)]
            self.log_ratios[candidate].append(math.log(per_item_s[0] / per_item_s[1]))
            if pair >= min_pairs and self._judgement(candidate).verdict != "undecided":
                return

    def _visit(self, place: int) -> bool:
        """Measure one arm in a fresh worker; return whether that succeeded."""
        solo = replace(self.trial.of_arms(place), plan=self.visit)
        visit = self.ask(solo, self.environments[place], self.on_progress)
        arm = self.arms[place]
        arm.record = visit.arms[0]
        if self.trial.setting.items is None and arm.computes == self.arms[0].computes:  # all have as many items
            self.trial = replace(self.trial, setting=replace(self.trial.setting, items=arm.record.items))
        if place > 0:  # it was the only arm of its worker, but it is no baseline
            flags = [flag for flag in arm.record.flags if flag.code != "idle-baseline"]
            arm.record = replace(arm.record, flags=flags)
        self.worst = max(self.worst, visit, key=lambda each: each.disturbance.get("other_cores", -1.0))
        arm.outputs, arm.dtypes = visit.outputs, visit.dtypes
        arm.stated_work = visit.stated_work[0] if visit.stated_work else None
        if arm.record.timing is not None:
            arm.timings.append(arm.record.timing)
            arm.medians_s.append(median(visit.samples_s[0]))
        return arm.record.outcome == "measured"

    def _check(self, candidate: int) -> None:
        baseline, arm = self.arms[0], self.arms[candidate]
        if arm.computes != baseline.computes:
            return
        if wrong := claims.differing_items(arm.record.items, baseline.record.items):
            arm.record = replace(arm.record, outcome="wrong-work", reason=wrong)
            return
        error = relative_error(arm.outputs, baseline.outputs)
        tolerance = widen(arm.tolerance, arm.record.price, baseline.record.price)
        price = replace(arm.record.price, error=error, tolerance=tolerance) if arm.record.price else None
        arm.record = replace(arm.record, price=price)
        if wrong := check.find_error_to_baseline(error, tolerance, (arm.outputs, baseline.outputs)):
            arm.record = replace(arm.record, outcome="wrong-output", reason=wrong)
        elif arm.exact and (wrong := check.find_other_dtypes(arm.dtypes, baseline.dtypes)):
            arm.record = replace(arm.record, outcome="wrong-work", reason=wrong)

    def _judgement(self, candidate: int) -> Judgement:
        return judge_groups([self.log_ratios[candidate]], alpha=self.alpha, noise=self.trial.plan.noise)

    def result(self) -> TrialResult:
        return TrialResult(
            arms=[self._record(place) for place in range(len(self.arms))],
            samples_s=[tuple(arm.medians_s) if arm.record.outcome == "measured" else () for arm in self.arms],
            pairs={
                Contrast(place, 0): Pairs(log_ratios=tuple(ratios), undisturbed=(True,) * len(ratios))
                for place, ratios in enumerate(self.log_ratios)
                if ratios
            },
            stated_work=[self._stated_work(arm) for arm in self.arms],
            disturbance=self.worst.disturbance,
            remarks=self.worst.remarks,
        )

    def _stated_work(self, arm: _Visits) -> StatedWork | None:
        reference = self.arms[0].stated_work if arm.computes == self.arms[0].computes else None
        return claims.work_of(arm.stated_work, reference, device=None, any_precision=not arm.exact)

    def _record(self, place: int) -> ArmRecord:
        arm, ratios = self.arms[place], self.log_ratios[place]
        if arm.record.outcome != "measured" or self.trial.plan.rehearse:
            return replace(arm.record, timing=None)
        if place and not ratios and place not in self.trial.settled_places:
            why = no_baseline(self.arms[0].record)
            return replace(arm.record, timing=None, outcome="unavailable", reason=why)
        if not arm.timings:
            return arm.record
        effects = []
        if ratios:
            effect = effect_of(self._judgement(place), [ratios], self.trial.arms[0])
            effects = [replace(effect, paired=False, workers=len(ratios))]
        return replace(arm.record, timing=timing_across(arm.timings, arm.medians_s), effects=effects)


def add_proofs(measured: TrialResult, proofs: Mapping[int, ArmRecord]) -> TrialResult:
    """Return a trial with what another worker found of where the arms at these places run.

    An arm that failed there shows nothing. A misplaced one has no speed, and without a baseline no other has one.
    """
    arms = list(measured.arms)
    for place, proof in proofs.items():
        arm = arms[place]
        if proof.outcome == "misplaced":
            arm = replace(arm, outcome="misplaced", reason=proof.reason, timing=None, effects=[])
        elif proof.outcome != "measured":
            continue
        doubts = [flag for flag in arm.flags if flag.code != "placement-unproven"]
        arms[place] = replace(arm, placement=proof.placement, flags=[*doubts, *proof.flags])
    if arms[0].outcome == "misplaced":
        why = no_baseline(arms[0])
        for place, arm in enumerate(arms):
            if arm.outcome == "measured":
                arms[place] = replace(arm, outcome="unavailable", reason=why, timing=None, effects=[])
    return replace(measured, arms=arms)


def retry_after_oom(trial: Trial, measured: TrialResult, measure_pair: Callable[[Trial], TrialResult]) -> TrialResult:
    """Measure candidates that ran out of memory beside the others again, and larger ones that were left out for that.

    ``measure_pair`` compares the baseline with one candidate, each with the memory to itself. If the baseline failed,
    there is nothing to compare.
    """
    arms = measured.arms
    if arms[0].outcome != "measured":
        return measured
    smaller = [trial.smaller(place) for place in range(len(arms))]
    full = [arm.outcome == "out-of-memory" for arm in arms]
    left_out = [arm.outcome == "unavailable" and any(full[i] for i in smaller[p]) for p, arm in enumerate(arms)]
    for place in range(1, len(arms)):
        if not (full[place] or left_out[place]):
            continue
        if why := find_smaller_failure(arms[i] for i in smaller[place]):
            arms[place] = replace(arms[place], outcome="unavailable", reason=why)
            continue
        again = measure_pair(trial.of_arms(0, place))
        if left_out[place] or again.arms[1].outcome == "measured" or is_too_large(again.arms[1]):
            arms[place], measured.samples_s[place] = again.arms[1], again.samples_s[1]
            measured.stated_work[place] = again.stated_work[1]  # an arm that was left out had not stated its work
            measured.pairs.update({Contrast(place, 0): pairs for pairs in again.pairs.values()})
    return measured
