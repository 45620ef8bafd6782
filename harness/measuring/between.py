"""Arms that cannot share a process, compared between fresh workers that alternate by a coin.

Each pair is one worker per arm, and gives one ratio: identical code in two processes differs by up to a few per cent,
so nothing that is read inside a worker can stand for more than that worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

import numpy as np

from harness.experiment import Trial
from harness.measuring import check
from harness.measuring.digest import effect_of, timing_across
from harness.measuring.entrant import entrants
from harness.measuring.evidence import Judgement, fewest_pairs, judge
from harness.measuring.handle import Heard
from harness.measuring.measured import Claim, Measured, no_baseline
from harness.record import ArmRecord, Timing

Ask = Callable[[Trial, Mapping[str, str], Heard], Measured]
SPARE_PAIRS = 5  # beyond the fewest that can decide
VISIT_SHARE = 0.2  # of an arm's budget is spent in each of its workers


@dataclass
class _Visits:
    """What an arm's workers have said so far: one median each, seconds per iteration."""

    record: ArmRecord
    tolerance: float
    computes: tuple[str, ...]
    exact: bool
    timings: list[Timing] = field(default_factory=list)
    medians_s: list[float] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    claim: Claim | None = None


def alternate(trial: Trial, environments: Sequence[Mapping[str, str]], ask: Ask, heard: Heard) -> Measured:
    """Measure every candidate against the baseline in alternating workers and return the trial."""
    match = _Match(trial, environments, ask, heard)
    for candidate in range(1, len(trial.arms)):
        match.play(candidate)
    return match.measured()


class _Match:
    def __init__(self, trial: Trial, environments: Sequence[Mapping[str, str]], ask: Ask, heard: Heard) -> None:
        self.trial, self.environments, self.ask, self.heard = trial, environments, ask, heard
        self.coin = Random()
        plan = trial.plan
        self.alpha = plan.alpha_each(len(trial.arms))
        self.visit = replace(plan, budget_s=VISIT_SHARE * plan.budget_s, builds=1, workers=1, keep_outputs=True)
        empty = Measured.nothing(trial, "measured", "")
        self.arms = [
            _Visits(record, entrant.tolerance, entrant.computes(), entrant.exact)
            for record, entrant in zip(empty.arms, entrants(trial), strict=True)
        ]
        self.log_ratios: list[list[float]] = [[] for _ in trial.arms]
        self.worst = empty  # the visit that neighbours disturbed most speaks for all

    def play(self, candidate: int) -> None:
        fewest = 1 if self.trial.plan.rehearse else fewest_pairs(self.alpha)
        most = 1 if self.trial.plan.rehearse else fewest + SPARE_PAIRS
        for pair in range(1, most + 1):
            self.heard(f"pair {pair} of workers, at most {most}")
            order = [0, candidate]
            self.coin.shuffle(order)
            measured = [self._visit(place) for place in order]  # both, so that a baseline is always seen
            if not all(measured):
                return
            self._check(candidate)
            if self.trial.plan.rehearse or self.arms[candidate].record.outcome != "measured":
                return
            per_item_s = [self.arms[p].medians_s[-1] / (self.arms[p].record.items or 1) for p in (0, candidate)]
            self.log_ratios[candidate].append(math.log(per_item_s[0] / per_item_s[1]))
            if pair >= fewest and self._judgement(candidate).verdict != "undecided":
                return

    def _visit(self, place: int) -> bool:
        """Let one arm run in a fresh worker; say whether it was measured."""
        solo = replace(self.trial, arms=(self.trial.arms[place],), plan=self.visit)
        seen = self.ask(solo, self.environments[place], self.heard)
        arm = self.arms[place]
        arm.record = seen.arms[0]
        self.worst = max(self.worst, seen, key=lambda visit: visit.disturbance.get("other_cores", -1.0))
        arm.outputs, arm.dtypes = seen.outputs, seen.dtypes
        arm.claim = seen.claims[0] if seen.claims else None
        if arm.record.timing is not None:
            arm.timings.append(arm.record.timing)
            arm.medians_s.append(median(seen.samples_s[0]))
        return arm.record.outcome == "measured"

    def _check(self, candidate: int) -> None:
        baseline, arm = self.arms[0], self.arms[candidate]
        if arm.computes != baseline.computes:
            return
        error = check.relative_error(arm.outputs, baseline.outputs)
        price = replace(arm.record.price, error=error, tolerance=arm.tolerance) if arm.record.price else None
        arm.record = replace(arm.record, price=price)
        if wrong := check.off_baseline(error, arm.tolerance):
            arm.record = replace(arm.record, outcome="wrong-output", reason=wrong)
        elif arm.exact and (wrong := check.other_types(arm.dtypes, baseline.dtypes)):
            arm.record = replace(arm.record, outcome="wrong-work", reason=wrong)

    def _judgement(self, candidate: int) -> Judgement:
        return judge(self.log_ratios[candidate], alpha=self.alpha, noise=self.trial.plan.noise)

    def measured(self) -> Measured:
        return Measured(
            arms=[self._record(place) for place in range(len(self.arms))],
            samples_s=[tuple(arm.medians_s) if arm.record.outcome == "measured" else () for arm in self.arms],
            log_ratios=[tuple(ratios) for ratios in self.log_ratios],
            claims=[arm.claim for arm in self.arms],
            disturbance=self.worst.disturbance,
            remarks=self.worst.remarks,
        )

    def _record(self, place: int) -> ArmRecord:
        arm, ratios = self.arms[place], self.log_ratios[place]
        if arm.record.outcome != "measured" or self.trial.plan.rehearse:
            return replace(arm.record, timing=None)
        if place and not ratios:
            reason = no_baseline(self.arms[0].record.reason)
            return replace(arm.record, timing=None, outcome="unavailable", reason=reason)
        effect = None
        if ratios:
            effect = effect_of(self._judgement(place), ratios)
            effect = replace(effect, paired=False, workers=len(ratios))
        return replace(arm.record, timing=timing_across(arm.timings, arm.medians_s), effect=effect)
