"""A heat as a trial in a worker: configurations timed side by side, and what came of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from harness.advice.board import Seen
from harness.advice.space import Configuration, Space
from harness.experiment import Plan, Trial
from harness.measuring import check
from harness.measuring.measured import Measured
from harness.measuring.pool import Pool
from harness.record import ArmRecord

LOST = ("crashed", "hung", "out-of-memory")  # what may have befallen a whole worker for the sake of one arm
HOPELESS = ("given-up", "unavailable", "crashed", "hung")  # of no use to try again
FEWEST_ALPHA = 0.5  # three pairs of one sign reject a fair coin at this level: the fewest that a look takes
ANYTHING = 1e6  # a zone so wide that whatever was seen of an arm is enough to end the look


@dataclass(frozen=True, kw_only=True)
class Heats:
    """Runs heats of a workload. ``trial`` holds all that every one of them has in common."""

    pool: Pool
    trial: Trial
    space: Space

    def __call__(
        self, configurations: Sequence[Configuration], look_s: float, patience_s: float
    ) -> list[dict[Configuration, Seen]]:
        """Time configurations side by side, for so long each; where a worker is lost, in halves until one stands out.

        An arm of which one step takes longer than ``patience_s`` is given up. Returns what was seen, together what was
        timed side by side.
        """
        plan = self._plan(len(configurations), look_s, patience_s)
        measured = self.pool.measure(self._trial(configurations, plan))
        reference, *others = configurations
        if len(others) > 1 and all(arm.outcome in LOST for arm in measured.arms):
            halves = others[::2], others[1::2]
            return [*chain(*(self([reference, *half], look_s, patience_s) for half in halves))]
        return [dict(zip(configurations, _seen(measured), strict=True))]

    def objection(self, configuration: Configuration) -> str:
        """Return why a configuration does not run, "" where it does."""
        (arm,) = self.pool.measure(self._trial([configuration], replace(self.trial.plan, rehearse=True))).arms
        return _reason(arm)

    def repeats(self, configuration: Configuration) -> str:
        """Return what is wrong where two runs from the same start do not give the same bits, "" where they do."""
        plan = replace(self.trial.plan, rehearse=True, keep_outputs=True)
        runs = [self.pool.measure(self._trial([configuration], plan)) for _ in range(2)]
        if lost := [run.arms[0].reason for run in runs if run.arms[0].outcome != "measured"]:
            return lost[0]
        same = check.identical(*(run.outputs for run in runs))
        return "" if same else "two runs from the same start did not give the same bits"

    def _trial(self, configurations: Sequence[Configuration], plan: Plan) -> Trial:
        return replace(self.trial, arms=tuple(self.space.levels(each) for each in configurations), plan=plan)

    def _plan(self, arms: int, look_s: float, patience_s: float) -> Plan:
        return replace(
            self.trial.plan,
            budget_s=max(patience_s, look_s),
            min_span_s=look_s * arms,
            builds=1,
            alpha=FEWEST_ALPHA * max(1, arms - 1),
            noise=ANYTHING,
            half_width=math.inf,
        )


def _seen(measured: Measured) -> list[Seen]:
    ratios = measured.log_ratios or [()] * len(measured.arms)
    return [_one(arm, log_ratios) for arm, log_ratios in zip(measured.arms, ratios, strict=True)]


def _one(arm: ArmRecord, log_ratios: tuple[float, ...]) -> Seen:
    if not log_ratios and arm.effect is not None:  # it did not fit beside the baseline and was timed apart
        log_ratios = (math.log(arm.effect.speedup),)
    price = arm.price
    memory_bytes = (price.allocator_peak_bytes or price.peak_rss_bytes) if price else None
    return Seen(
        reason=_reason(arm),
        log_ratios=log_ratios,
        items=arm.items,
        step_s=arm.timing.median_s if arm.timing else None,
        memory_bytes=memory_bytes,
        error=price.error if price else None,
        hopeless=arm.outcome in HOPELESS,
    )


def _reason(arm: ArmRecord) -> str:
    if arm.outcome == "measured":
        return ""
    if arm.outcome == "given-up":
        return "given up: one step takes too long"
    return f"{arm.outcome}: {arm.reason}"
