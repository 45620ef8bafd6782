"""The referee: coin-ordered rounds of blocks, until the evidence decides or the budget ends."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from statistics import median

import numpy as np

from harness.experiment import Arm, Plan
from harness.measuring.evidence import Judgement, fewest_pairs, judge_groups
from harness.measuring.stopped import StoppedError
from harness.measuring.stopwatch import Stopwatch
from harness.measuring.warmup import Warmup, warm_up
from harness.measuring.windows import Windows

WARM_UP_SHARE = 0.25  # of an arm's budget
LOOK_AGAIN = 1.1  # the evidence is read whenever there is a tenth more of it
EVIDENCE_S = 2e-3  # pairs are averaged over this long: a machine may have two speeds that alternate faster than that
PATIENCE = 2  # a build that takes so many times the whole budget is cut short: the machine has become much slower
LONE_SHARE = 0.5  # of its budget at most goes into a baseline without a candidate, about which nothing is decided
SPARE_ROUNDS = 2  # where disturbed rounds leave too few others, at most so many times the fewest are run
SPREAD_FROM = 4  # so many builds say how far other builds may be off; fewer would widen every interval beyond use
MORE_PAIRS = 2  # where the builds so far do not suffice, the next ones get up to so many times as many pairs


class Referee:
    """Times arms against the first of them and keeps what came out.

    ``play`` may be called several times with the same arms built afresh, which is how the accident of where their data
    lie in memory is met: each build has the same weight, and where the plan asks for enough of them, the interval
    carries the spread between them.

    ``below`` maps the places of a ladder's rungs to those of the rungs below, other than the first arm: such a rung is
    compared with both in the same rounds.

    Attributes:
        samples_s: for each arm, seconds per iteration of each of its blocks.
        log_ratios: for each candidate, the paired log speedups per item; empty for the baseline.
        gains: for each candidate in ``below``, the same over the rung below.
        begun: for each candidate, how many pairs it had when each build began to play.
        windows: what the machine did meanwhile; without them nothing counts as disturbed.
        compilations: how many graphs were compiled while blocks were timed.
    """

    def __init__(
        self,
        *,
        stopwatch: Stopwatch,
        coin: Random,
        plan: Plan,
        arms: int,
        below: Mapping[int, int] | None = None,
        windows: Windows | None = None,
        count_compilations: Callable[[], int] = lambda: 0,
    ) -> None:
        self.stopwatch = stopwatch
        self.coin = coin
        self.plan = plan
        self.samples_s: list[list[float]] = [[] for _ in range(arms)]
        self.log_ratios: list[list[float]] = [[] for _ in range(arms)]
        self.below = dict(below or {})
        self.gains: list[list[float]] = [[] for _ in range(arms)]
        self.begun: list[list[int]] = [[] for _ in range(arms)]
        self.windows = windows or Windows.blind()
        self.count_compilations = count_compilations
        self.compilations = 0
        self.window_of: list[list[int]] = [[] for _ in range(arms)]  # the number of each block's window
        self.warmups: list[Warmup] = []
        self.iterations: list[int] = []
        self.quota: dict[int, int] = {}
        self.together = 1
        self.budget_s = plan.budget_s * arms
        self.played_s: list[float] = []
        self.warmed_s = 0.0
        self.alpha = plan.alpha_each(arms + len(self.below))
        self.fewest = fewest_pairs(self.alpha)

    def play(self, arms: Sequence[Arm], heard: Callable[[str], None] = lambda _: None) -> None:
        """Warm the arms up and time them in rounds; the first build decides how many, later ones follow."""
        start = self.stopwatch.clock()
        if not self.iterations:
            self.iterations = self.stopwatch.iterations_per_block(arms, self.plan.min_block_s)
        warmups = [self._warmed(index, arm) for index, arm in enumerate(arms)]
        if not self.warmups:
            self.warmups = warmups
            # Fixed before the first pair; a mean of coin-signed differences has a coin's sign as each of them has.
            pair_s = sum(warmup.blocks_s[-1] + self.stopwatch.outside_s for warmup in warmups)
            self.together = max(1, round(EVIDENCE_S / pair_s)) if pair_s > 0 else 1
        gc.collect()
        self.warmed_s += self.stopwatch.clock() - start
        for begun, log_ratios in zip(self.begun, self.log_ratios, strict=True):
            begun.append(len(log_ratios))
        start, compiled = self.stopwatch.clock(), self.count_compilations()
        with self.windows.open():
            if self.quota:
                self._match(arms, heard)
            else:
                self._explore(arms, heard)
        self.played_s.append(self.stopwatch.clock() - start)
        self.compilations += self.count_compilations() - compiled

    @property
    def builds(self) -> int:
        """How many builds have played."""
        return len(self.played_s)

    @property
    def spreads(self) -> bool:
        """Whether the intervals carry the spread between builds."""
        return self.plan.builds >= SPREAD_FROM

    @property
    def settled(self) -> bool:
        """Whether another build would add nothing: every figure is precise, or the budget is spent."""
        if self.builds and len(self.samples_s) == 1:
            return True
        # Never judged before all builds of a set have played, which weigh the same.
        whole = self.builds > 0 and self.builds % self.plan.builds == 0
        return whole and (self._affordable() < 1 or not self._open())

    @property
    def timed_s(self) -> float:
        """The seconds that the timed blocks took, without what was done between them."""
        return sum(count * sum(samples_s) for count, samples_s in zip(self.iterations, self.samples_s, strict=True))

    def quiet(self, arm: int) -> np.ndarray:
        """Say of each of an arm's blocks, and so of a candidate's pairs, whether nothing disturbed its window."""
        return ~self.windows.disturbed()[self.window_of[arm]]

    def judgement(self, candidate: int) -> Judgement:
        """Judge a candidate against the baseline on the evidence so far."""
        return self._judged(candidate, self.log_ratios[candidate])

    def gain(self, candidate: int) -> Judgement:
        """Judge a rung against the one below on the evidence so far."""
        return self._judged(candidate, self.gains[candidate])

    def _judged(self, candidate: int, log_ratios: Sequence[float]) -> Judgement:
        cuts = self.begun[candidate][1:] if self.spreads else []
        groups = np.split(np.asarray(log_ratios), cuts)
        return judge_groups(
            groups,
            alpha=self.alpha,
            noise=self.plan.noise,
            together=[self.together] * len(groups),
            quiet=np.split(self.quiet(candidate), cuts),
        )

    def median_s(self, arm: int) -> float:
        """Return the median seconds per iteration of an arm."""
        return median(self.samples_s[arm])

    def _warmed(self, index: int, arm: Arm) -> Warmup:
        later = max(1, self.plan.builds - 1)
        cap_s = WARM_UP_SHARE * self.plan.budget_s / (2 * later if self.warmups else min(2, self.plan.builds))
        with StoppedError.naming(index):
            return warm_up(lambda: self.stopwatch.block_s(arm, self.iterations[index]), cap_s=cap_s)

    def _explore(self, arms: Sequence[Arm], heard: Callable[[str], None]) -> None:
        """Run rounds until every candidate is resolved or a build's share of the budget is spent."""
        share_s = self.budget_s / self.plan.builds
        running = set(range(1, len(arms)))
        least = math.ceil(self.together * self.fewest / self.plan.builds)
        patience_s = (PATIENCE if running else LONE_SHARE) * self.budget_s
        start = self.stopwatch.clock()
        rounds, next_look, spent_s = 0, least, 0.0
        while (spent_s < share_s and running) or (spent_s < patience_s and self._too_few(rounds, least)):
            self._round(arms, running)
            rounds += 1
            spent_s = self.stopwatch.clock() - start
            if rounds >= next_look and spent_s >= self.plan.min_span_s / self.plan.builds:
                next_look = math.ceil(LOOK_AGAIN * rounds)
                running -= {candidate for candidate in running if self._resolved(candidate)}
                heard(f"{rounds} pairs")
        self.quota = {candidate: len(self.log_ratios[candidate]) for candidate in range(1, len(arms))}

    def _too_few(self, rounds: int, least: int) -> bool:
        """Say whether more rounds must follow: a slow arm may have no others than the fewest, and some disturbed."""
        return rounds < least or (rounds < SPARE_ROUNDS * least and self.quiet(0).sum() < least)

    def _match(self, arms: Sequence[Arm], heard: Callable[[str], None]) -> None:
        """Run as many rounds as the other builds of the set, so that each weighs the same; a new set may have more."""
        if self.builds % self.plan.builds == 0:
            times = max(1, self._affordable())
            self.quota = {candidate: times * self.quota[candidate] for candidate in self._open()}
        start = self.stopwatch.clock()
        for done in range(max(self.quota.values(), default=0)):
            if self.stopwatch.clock() - start > PATIENCE * self.budget_s:
                return
            self._round(arms, {candidate for candidate, pairs in self.quota.items() if done < pairs})
            if done % 100 == 0:
                heard(f"{done + 1} pairs of another build")

    def _affordable(self) -> int:
        """Return how many times the latest set of builds the budget still holds, at most ``MORE_PAIRS``."""
        latest_s = sum(self.played_s[-self.plan.builds :])
        left_s = self.budget_s - sum(self.played_s)
        return min(MORE_PAIRS, round(left_s / latest_s)) if latest_s > 0 else MORE_PAIRS

    def _open(self) -> set[int]:
        """Return the candidates that still need pairs."""
        return {candidate for candidate in self.quota if not self._resolved(candidate)}

    def _round(self, arms: Sequence[Arm], running: set[int]) -> None:
        playing = self._with_rungs_below(running)
        order = [0, *sorted(playing)]
        self.coin.shuffle(order)
        per_item_s = {}
        for index in order:
            iterations = self.iterations[index]
            with StoppedError.naming(index):
                sample_s = self.stopwatch.block_s(arms[index], iterations) / iterations
            self.samples_s[index].append(sample_s)
            self.window_of[index].append(self.windows.current)
            per_item_s[index] = sample_s / arms[index].items
        for candidate in playing:
            self.log_ratios[candidate].append(math.log(per_item_s[0] / per_item_s[candidate]))
        for candidate in playing & self.below.keys():
            self.gains[candidate].append(math.log(per_item_s[self.below[candidate]] / per_item_s[candidate]))
        self.windows.turn()

    def _with_rungs_below(self, running: Collection[int]) -> set[int]:
        """Return the candidates of a round: those that still run, and whom they are compared with."""
        playing = set(running)
        for candidate in running:
            below = self.below.get(candidate)
            while below is not None:
                playing.add(below)
                below = self.below.get(below)
        return playing

    def _resolved(self, candidate: int) -> bool:
        if self.plan.whole_rounds:
            return False
        seen = [self.judgement(candidate), *([self.gain(candidate)] if candidate in self.below else [])]
        return all(each.verdict != "undecided" and each.half_width <= self.plan.half_width for each in seen)
