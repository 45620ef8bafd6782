"""Arms that are built afresh all the time: within one process, measurements differ most from build to build.

So the budget goes to builds instead of to pairs of one build. Each build gives a few pairs, and the verdict rests on
the medians of the builds: on their signs, which may be read after every build, and at the end of the budget on the
interval of their trimmed mean by Student's t.

Where many builds fit into the budget, every second one is a crossover of the one before: the arms are built in reverse
order in the memory that they have just left. In the mean of the two, the advantage of a place nearly cancels.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from accelbench.core import Arm, Contrast, Plan
from accelbench.core.arm import nothing
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.referee import LONE_SHARE, LOOK_AGAIN, PATIENCE, Referee, StoppedError, Stopwatch
from accelbench.measuring.statistics import Judgement, judge_builds
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.reasons import reason

PAIRS = 16  # of a build, where enough builds fit into the budget: the first few are noisy, while its memory is new
ENOUGH_BUILDS = 20  # before a build has more pairs than its own cost is worth
WINDOW = 9  # blocks at the end of the warm-up, whose median tells the time of a pair
LEAST_BUILDS = 6  # fewer say too little about the spread between builds
ROUNDS_SHARE = 0.5  # of the budget at least is for rounds and rebuilding, whatever was spent before them
FIRST_CALLS = 3  # after as many builds the median first call is compared with the later ones
FIRST_CALL_TIMES = 10  # as long as later calls, and by that factor more than the baseline's
FIRST_CALL_S = 100e-6  # a shorter one may have found nothing but cold caches

Rebuild = Callable[[list[Arm], Collection[int], bool], None]  # of the arms at these places, in exchanged memory or not
_NO_ARM = Arm(step=nothing)  # stands for an arm until it is rebuilt


class ManyBuildsReferee(Referee):
    """Times arms in a few rounds of each of many builds, and judges them by the medians of the builds.

    ``rebuild`` builds the arms at some places afresh, elsewhere in memory or in exchanged places. Without it, or where
    too few builds fit into the budget, the rounds of the one build are judged in groups, as if each group were a build.
    The budget runs from ``began_s`` by the stopwatch's clock, and rebuilding is paid from it, too. ``find_failures``
    checks the arms now and then, and returns the places of those that failed.

    Attributes:
        rebuilds: whether the arms are rebuilt.
        before_s: the seconds of the budget that were spent before the first round.
        affordable_from_s: the budget for all arms from which on they would be rebuilt; 0 where they are.
        first_calls_s: for each arm, the seconds of the first call after each rebuild.
    """

    def __init__(
        self,
        *,
        rebuild: Rebuild | None,
        began_s: float,
        find_failures: Callable[[], Collection[int]] = list,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.rebuild = rebuild
        self.began_s = began_s
        self.before_s = 0.0
        self.find_failures = find_failures
        self.rebuilds = rebuild is not None
        self.affordable_from_s = 0.0
        self.few = False
        self.first_calls_s: list[list[float]] = [[] for _ in self.samples_s]
        self.timed_out: set[Contrast] = set()
        self.groups = 0
        self.order: list[int] = []  # of the last round
        self.called_last: int | None = None  # the arm whose data are in the caches
        self.medians: dict[Contrast, list[float]] = {contrast: [] for contrast in self.contrasts}

    @property
    def builds(self) -> int:
        """The number of builds that have played."""
        return self.groups * len(self._layouts) if self.rebuilds else len(self.played_s)

    @property
    def _layouts(self) -> tuple[bool, ...]:
        """Whether the arms lie in exchanged places, for each build of a group."""
        return (False, True) if self.rebuilds and not self.few else (False,)

    @property
    def spreads(self) -> bool:
        """Whether the intervals include the spread between builds."""
        return self.rebuilds

    @property
    def is_settled(self) -> bool:
        """Whether the builds have played: all of them do so in one go."""
        return bool(self.played_s)

    def _play_rounds(self, arms: list[Arm], on_progress: Callable[[str], None]) -> None:
        """Time the arms build by build until every contrast is resolved or the budget is spent."""
        start = self.stopwatch.clock()
        self.before_s = start - self.began_s
        self.budget_s = max(ROUNDS_SHARE * self.budget_s, self.budget_s - self.before_s)
        if self.contrasts:
            self._play_builds(arms, on_progress)
        else:
            self._round(arms, ())
            while self.stopwatch.clock() - start < LONE_SHARE * self.budget_s:
                self._round(arms, ())

    def judgement(self, arm: int, against: int = 0) -> Judgement:
        """Judge an arm against another one, by default the baseline, by the builds so far."""
        contrast = Contrast(arm, against)
        return judge_builds(
            self.medians[contrast],
            alpha=self.alpha,
            noise=self.plan.noise,
            pairs=len(self.log_ratios[contrast]),
            undisturbed=np.logical_and.reduceat(self.undisturbed(contrast), self.build_starts[contrast]),
            last=contrast in self.timed_out,
        )

    def _play_builds(self, arms: list[Arm], on_progress: Callable[[str], None]) -> None:
        start = self.stopwatch.clock()
        running = set(self.contrasts)
        pairs = self._plan_builds(arms)
        next_look = next_check = 1
        while True:
            self._play_group(arms, running, pairs)
            on_progress(f"{self.builds} builds")
            spent_s = self.stopwatch.clock() - start
            if self.rebuilds and self.groups >= next_check:
                next_check *= 2
                failed = {*self.find_failures()}
                running = {contrast for contrast in running if failed.isdisjoint(contrast)}
            if not self.few and self.groups >= next_look and spent_s >= self.plan.min_span_s:
                next_look = math.ceil(LOOK_AGAIN * self.groups)
                running = {contrast for contrast in running if not self._is_resolved(contrast)}
            if self._ends(spent_s):
                self.timed_out = running
                return
            if not running:
                return
            if self.rebuilds:
                self._rebuild(arms, running, exchanged=False)

    def _ends(self, spent_s: float) -> bool:
        """Return whether the time is up for another build, once there are enough to show their spread."""
        another_s = spent_s / self.groups
        return spent_s + another_s > self.budget_s and (
            self.groups >= LEAST_BUILDS or spent_s > PATIENCE * self.budget_s
        )

    def _plan_builds(self, arms: list[Arm]) -> int:
        """Build the arms, and choose the number of a build's pairs by the time of building and of a pair; return it."""
        pair_s = sum(  # the arm that ended the round before has no lead-in
            median(warmup.blocks_s[-WINDOW:]) * (1 + has_lead_in / 2 / iterations)
            for warmup, has_lead_in, iterations in zip(self.warmups, self.has_lead_in, self.iterations, strict=True)
        )
        build_s = 0.0
        if self.rebuild is not None:
            start = self.stopwatch.clock()
            self._rebuild(arms, self.contrasts, exchanged=False)
            build_s = self.stopwatch.clock() - start
            needed_s = LEAST_BUILDS * (build_s + pair_s)
            if needed_s > self.budget_s:
                self.rebuilds, build_s = False, 0.0
                self.affordable_from_s = min(self.before_s + needed_s, needed_s / ROUNDS_SHARE)
        # Of builds that differ as much as pairs do, the median is best known for the price with the root of this ratio.
        fewest = max(1, round(math.sqrt(build_s / pair_s))) if pair_s > 0 else 1
        pairs = max(PAIRS, fewest)
        while pairs > fewest and self.budget_s < ENOUGH_BUILDS * (build_s + pairs * pair_s):
            pairs -= 1
        self.few = self.budget_s < ENOUGH_BUILDS * (build_s + pairs * pair_s)
        return pairs

    def _rebuild(self, arms: list[Arm], contrasts: Collection[Contrast], *, exchanged: bool) -> None:
        """Build the arms of these contrasts afresh, and run each once; its first iteration is never a sample."""
        assert self.rebuild is not None
        places = sorted({0}.union(*contrasts))
        self.rebuild(arms, places, exchanged)
        self.coin.shuffle(places)  # what was called last has its data in the caches
        for place in places:
            with StoppedError.naming(place):
                self.first_calls_s[place].append(self.stopwatch.block_s(arms[place], 1))
            self.called_last = place

    def first_call_times(self, place: int) -> float:
        """Return how many times as long as later calls the first call after a rebuild takes; 1 if that is unknown."""
        calls_s = self.first_calls_s[place]
        if len(calls_s) < FIRST_CALLS or median(calls_s) < FIRST_CALL_S:
            return 1.0
        later_s = self.median_s(place)
        return median(calls_s) / later_s if later_s > 0 else 1.0

    def _play_group(self, arms: list[Arm], running: Collection[Contrast], pairs: int) -> None:
        """Time the arms as they stand, and in exchanged places where they are exchanged."""
        begins = {contrast: len(log_ratios) for contrast, log_ratios in self.log_ratios.items()}
        for exchanged in self._layouts:
            if exchanged:
                self._rebuild(arms, running, exchanged=True)
            self.order = []
            for _ in range(pairs):
                self._round(arms, running)
        for contrast, begin in begins.items():
            if played := self.log_ratios[contrast][begin:]:
                self.build_starts[contrast].append(begin)
                self.medians[contrast].append(float(np.median(np.reshape(played, (-1, pairs)), axis=1).mean()))
        self.groups += 1

    def _order(self, running: Collection[Contrast]) -> list[int]:
        """Return a random order in a build's first round and the reverse of the last one in later rounds.

        The arm that ends a round begins the next one, which then needs no lead-in.
        """
        self.order = self.order[::-1] or super()._order(running)
        return self.order

    def _needs_lead_in(self, index: int) -> bool:
        is_other, self.called_last = index != self.called_last, index
        return is_other and super()._needs_lead_in(index)


class ManyBuildsRun(TrialRun):
    """A trial whose arms are built afresh all the time, unless ``can_rebuild`` is false; its budget runs already."""

    referee_kind = ManyBuildsReferee

    def __init__(self, *arguments: Any, can_rebuild: bool, began_s: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.can_rebuild = can_rebuild
        self.began_s = began_s
        self.order: list[int] = []  # in which the arms were built last

    def _referee(self, stopwatch: Stopwatch, plan: Plan, arms_left: Sequence[ArmRun], **options: Any) -> Referee:
        return super()._referee(
            stopwatch,
            plan,
            arms_left,
            rebuild=partial(self._rebuild, arms_left) if self.can_rebuild else None,
            began_s=self.began_s,
            find_failures=partial(self._find_failures, arms_left),
            **options,
        )

    def _rebuild(self, arms_left: Sequence[ArmRun], arms: list[Arm], places: Collection[int], exchanged: bool) -> None:
        """Build elsewhere in random order, so that no arm always gets the memory that was freed first.

        With ``exchanged``, build in reverse order where the arms lay, so that the first and the last exchange places.
        """
        if exchanged:
            self.order.reverse()
        else:
            self.order = sorted(places)
            self.coin.shuffle(self.order)
        for place in self.order:
            arms[place] = _NO_ARM
            arms_left[place].close()
        gc.collect()
        build = self.building.build if exchanged else self.building.build_elsewhere
        for place in self.order:
            with StoppedError.naming(place):
                build(arms_left[place])
            arms[place] = arms_left[place].built

    def _find_failures(self, arms_left: Sequence[ArmRun]) -> list[int]:
        """Check the arms that stand; return the places of those that have failed."""
        for place, arm_run in enumerate(arms_left):
            if arm_run.arm is not None:
                with StoppedError.naming(place):
                    self._check(arm_run)
        return [place for place, arm_run in enumerate(arms_left) if not arm_run.ok]

    @staticmethod
    def _flag_first_calls(referee: ManyBuildsReferee, arms_left: Sequence[ArmRun]) -> None:
        """Flag arms that work in the first call after each build and hardly in later ones, which are timed."""
        usual = referee.first_call_times(0)
        for place, arm_run in enumerate(arms_left):
            times = referee.first_call_times(place)
            if times >= FIRST_CALL_TIMES * (usual if place else 1.0):
                arm_run.flags.append(reason("slow-first-call", times=times))

    def _play(self, referee: Referee, arms_left: list[ArmRun]) -> None:
        assert isinstance(referee, ManyBuildsReferee)
        for place, arm_run in enumerate(arms_left):
            if arm_run.arm is None:
                with StoppedError.naming(place):
                    self.building.build_elsewhere(arm_run)
        referee.play([arm_run.built for arm_run in arms_left], self.on_progress)
        self._find_failures(arms_left)
        self._flag_first_calls(referee, arms_left)
        if needed_s := referee.affordable_from_s:
            enough_s = math.ceil(10 * needed_s) / 10
            self.warning = (
                "building the arms and calling each once takes so long that they were built once, and the interval "
                f"leaves out where their data lie; with budget_s={enough_s:g} or more they would be built "
                f"{LEAST_BUILDS} times"
            )
