"""Evaluate configurations: each evaluation is a trial in a worker that times some of them side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from accelbench.advise.observations import Observation
from accelbench.advise.program_search import SAME, Iteration
from accelbench.advise.search import ALPHA
from accelbench.advise.space import Configuration, SearchSpace
from accelbench.core import Contrast, OnProgress, Plan, Trial
from accelbench.measuring.checks import output as check
from accelbench.measuring.trial_result import Pairs, TrialResult
from accelbench.measuring.workers.pool import Pool
from accelbench.schema.reasons import Reason
from accelbench.schema.result import WORKER_LOST, ArmRecord

SHARED_FAILURES = (*WORKER_LOST, "out-of-memory")  # one arm may cause this for all arms of its worker
THREE_PAIRS_ALPHA = 0.5  # three pairs of one sign reject a fair coin at this level: the fewest that a look takes
PRECISE = 0.1  # half-width of an interval at which a decided comparison gets no more pairs
ANY_NOISE = 1e6  # a zone so wide that every arm is decided at once, which ends the look
MOST_BUILDS = 4  # within a look that judges: the spread between two builds alone would say too little
REBUILDING_SHARE = 0.5  # of a look at most is spent on building again
CHECKED_STEPS = 6  # of an arm in each build, which are no pairs


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Evaluates configurations of a workload. ``trial`` holds everything that all evaluations have in common.

    ``on_progress`` receives what is being done. ``iteration`` is that of the baseline, once it was measured: a program
    that chooses the number of its batches chooses it once. ``remarks`` are those on each trial so far.
    """

    pool: Pool
    trial: Trial
    space: SearchSpace
    on_progress: OnProgress = lambda _: None
    iteration: Iteration = field(default_factory=Iteration)
    remarks: list[Sequence[Reason]] = field(default_factory=list)

    def __call__(
        self, configurations: Sequence[Configuration], look_s: float, patience_s: float
    ) -> list[dict[Configuration, Observation]]:
        """Time configurations side by side; if the worker is lost, retry in halves until the culprit is alone.

        Args:
            configurations: the first is what the others are paired with and checked against.
            look_s: seconds of timing for each configuration.
            patience_s: seconds after which an arm whose single step takes longer is given up.

        Returns:
            The observations, one mapping for each trial.
        """
        return self._evaluate(configurations, lambda arms: self._plan(arms, look_s, patience_s))

    def judge(
        self, configurations: Sequence[Configuration], look_s: float, patience_s: float
    ) -> list[dict[Configuration, Observation]]:
        """Time configurations as ``__call__`` does, but until each has a verdict or its seconds have passed.

        The fewest pairs that decide are timed in any case, in up to four builds if that is quick. Outputs are compared;
        what only the first visit of a trial measures, such as memory, is left to the configurations that pay.
        """
        return self._evaluate(
            configurations, lambda arms: replace(self._deciding_plan(configurations, arms, look_s, patience_s), visit=1)
        )

    def judge_fully(
        self, configurations: Sequence[Configuration], look_s: float, patience_s: float
    ) -> list[dict[Configuration, Observation]]:
        """Time configurations as ``judge`` does, with every check, and weigh them for memory."""

        def plan(arms: int) -> Plan:
            return replace(self._deciding_plan(configurations, arms, look_s, patience_s), utilisation=False)

        return self._evaluate(configurations, plan)

    def _evaluate(
        self, configurations: Sequence[Configuration], plan: Callable[[int], Plan]
    ) -> list[dict[Configuration, Observation]]:
        trial = self._trial(configurations, plan(len(configurations)))
        measured = self.pool.measure(trial, on_progress=self.on_progress)
        self.remarks.append(measured.remarks)
        reference, *others = configurations
        if len(others) > 1 and all(arm.outcome in SHARED_FAILURES for arm in measured.arms):
            halves = others[::2], others[1::2]
            return [*chain(*(self._evaluate([reference, *half], plan) for half in halves))]
        baseline = measured.arms[0]
        if reference == self.space.baseline and (items := baseline.items) and (timing := baseline.timing):
            if self.iteration.items is None:
                self.iteration.compares_outputs = measured.compares_outputs
            self.iteration.note(items, timing.median_s, trial.setting.items, self.space)
            self.iteration.rebuild_s = timing.build_s + timing.cold_s
            self.iteration.step_s = timing.median_s
        parts = self.iteration.parts if trial.setting.items in (None, self.iteration.items) else 1
        return [dict(zip(configurations, build, strict=True)) for build in _observe(measured, parts)]

    def find_error(self, configuration: Configuration) -> str:
        """Run a configuration once, and return why it does not run, "" where it does."""
        (arm,) = self.pool.measure(self._trial([configuration], replace(self.trial.plan, rehearse=True))).arms
        return _reason(arm)

    def find_nondeterminism(self, configuration: Configuration) -> str:
        """Return why two runs from the same start do not give the same bits, "" where they do."""
        plan = replace(self.trial.plan, rehearse=True, keep_outputs=True)
        runs = [self.pool.measure(self._trial([configuration], plan)) for _ in range(2)]
        for run in runs:
            if run.arms[0].outcome != "measured":
                return str(run.arms[0].reason)
        is_same = check.identical(*(run.outputs for run in runs))
        return "" if is_same else "two runs from the same start did not give the same bits"

    def _trial(self, configurations: Sequence[Configuration], plan: Plan) -> Trial:
        items = self.iteration.items_of(configurations, self.space)
        setting = replace(self.trial.setting, items=items, compares_outputs=self.iteration.compares_outputs)
        arms = tuple(self.space.levels(each) for each in configurations)
        return replace(self.trial, arms=arms, plan=plan, setting=setting)

    def _deciding_plan(
        self, configurations: Sequence[Configuration], arms: int, look_s: float, patience_s: float
    ) -> Plan:
        is_built_once = len(configurations) == 1 or any(map(self.space.is_slow_to_start, configurations))
        return replace(
            self._plan(arms, look_s, patience_s),
            builds=1 if is_built_once else count_builds(look_s, self.iteration),
            budget_s=look_s,
            min_span_s=0.0,
            alpha=ALPHA * (arms - 1) if arms > 1 else THREE_PAIRS_ALPHA,  # nothing is decided about a lone one
            noise=SAME,
            half_width=PRECISE,
        )

    def _plan(self, arms: int, look_s: float, patience_s: float) -> Plan:
        return replace(
            self.trial.plan,
            budget_s=max(patience_s, look_s),
            min_span_s=look_s * arms,
            builds=1,
            alpha=THREE_PAIRS_ALPHA * max(1, arms - 1),
            noise=ANY_NOISE,
            half_width=math.inf,
        )


def count_builds(look_s: float, iteration: Iteration) -> int:
    """Return in how many builds a look is timed: in a second one if that is quick, in more if their checks are, too."""
    room_s = REBUILDING_SHARE * look_s
    if iteration.rebuild_s > room_s:
        return 1
    each_s = iteration.rebuild_s + CHECKED_STEPS * iteration.step_s
    return MOST_BUILDS if not each_s else min(MOST_BUILDS, max(2, 1 + int(room_s / each_s)))


def _observe(result: TrialResult, parts: int) -> list[list[Observation]]:
    """Return the observations of each arm, for each build of them; a lone arm has one."""
    by_build = [_by_build(result.pairs.get(Contrast(place, 0))) for place in range(len(result.arms))]
    return [
        [
            _observe_arm(arm, builds[number] if number < len(builds) else (), parts)
            for arm, builds in zip(result.arms, by_build, strict=True)
        ]
        for number in range(max(1, *map(len, by_build)))
    ]


def _by_build(pairs: Pairs | None) -> list[tuple[float, ...]]:
    if pairs is None:
        return []
    ends = *pairs.build_starts, len(pairs.log_ratios)
    return [pairs.log_ratios[start:end] for start, end in pairwise((0, *ends))]


def _observe_arm(arm: ArmRecord, log_ratios: tuple[float, ...], parts: int) -> Observation:
    if not log_ratios and arm.effect is not None:  # it did not fit beside the baseline and was timed separately
        log_ratios = (math.log(arm.effect.speedup),)
    price = arm.price
    return Observation(
        outcome=arm.outcome,
        reason=_reason(arm),
        log_ratios=log_ratios,
        items=arm.items and arm.items / parts,
        step_s=arm.timing.median_s / parts if arm.timing else None,
        cold_s=arm.timing.cold_s if arm.timing else None,
        memory_bytes=(price.allocator_peak_bytes or price.peak_rss_bytes) if price else None,
        error=price.error if price else None,
    )


def _reason(arm: ArmRecord) -> str:
    if arm.outcome == "measured":
        return ""
    if arm.outcome == "given-up":
        return "given up: one step takes too long"
    return f"{arm.outcome}: {arm.reason}"
