"""The referee: coin-ordered rounds of blocks, until the evidence decides or the budget ends."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from statistics import median

from harness.experiment import Arm, Plan
from harness.measuring.evidence import Judgement, fewest_pairs, judge
from harness.measuring.stopwatch import Stopwatch
from harness.measuring.warmup import Warmup, warm_up

WARM_UP_SHARE = 0.25  # of an arm's budget
LOOK_AGAIN = 1.1  # the evidence is read whenever there is a tenth more of it
ALONE_BLOCKS = 20  # what a baseline without candidates is timed for, at least


class StoppedError(Exception):
    """An arm raised while it ran; ``arm`` is its place in the trial and ``error`` what it raised."""

    def __init__(self, arm: int, error: Exception) -> None:
        super().__init__(f"arm {arm} stopped: {error}")
        self.arm = arm
        self.error = error

    @classmethod
    @contextmanager
    def naming(cls, arm: int) -> Iterator[None]:
        """Say which arm it was that raised."""
        try:
            yield
        except Exception as error:
            raise cls(arm, error) from error


class Referee:
    """Times arms against the first of them and keeps what came out.

    ``play`` may be called several times with the same arms built afresh: the evidence is pooled, each build with
    the same weight, which takes out the accidental one per cent of a memory layout.

    Attributes:
        samples_s: for each arm, seconds per iteration of each of its blocks.
        log_ratios: for each candidate, the paired log speedups per item; empty for the baseline.
    """

    def __init__(self, *, stopwatch: Stopwatch, coin: Random, plan: Plan, arms: int) -> None:
        self.stopwatch = stopwatch
        self.coin = coin
        self.plan = plan
        self.samples_s: list[list[float]] = [[] for _ in range(arms)]
        self.log_ratios: list[list[float]] = [[] for _ in range(arms)]
        self.warmups: list[Warmup] = []
        self.iterations: list[int] = []
        # Candidates share the error rate (Bonferroni).
        self.alpha = plan.alpha / max(1, arms - 1)
        self.fewest = fewest_pairs(self.alpha)

    def play(self, arms: Sequence[Arm], heard: Callable[[str], None] = lambda _: None) -> None:
        """Warm the arms up and time them in rounds until every candidate is resolved or this build's share is spent."""
        if not self.iterations:
            self.iterations = self.stopwatch.iterations_per_block(arms, self.plan.min_block_s)
        warmups = [self._warmed(index, arm) for index, arm in enumerate(arms)]
        self.warmups = self.warmups or warmups
        gc.collect()
        self._rounds(arms, heard)

    def judgement(self, candidate: int) -> Judgement:
        """Judge a candidate on the evidence so far."""
        return judge(self.log_ratios[candidate], alpha=self.alpha, noise=self.plan.noise)

    def median_s(self, arm: int) -> float:
        """Return the median seconds per iteration of an arm."""
        return median(self.samples_s[arm])

    def _warmed(self, index: int, arm: Arm) -> Warmup:
        cap_s = WARM_UP_SHARE * self.plan.budget_s / self.plan.builds
        with StoppedError.naming(index):
            return warm_up(lambda: self.stopwatch.block_s(arm, self.iterations[index]), cap_s=cap_s)

    def _rounds(self, arms: Sequence[Arm], heard: Callable[[str], None]) -> None:
        share_s = self.plan.budget_s * len(arms) / self.plan.builds
        earlier = [len(ratios) for ratios in self.log_ratios]
        least = math.ceil(max(self.fewest, ALONE_BLOCKS if len(arms) == 1 else 0) / self.plan.builds)
        running = set(range(1, len(arms)))
        start = self.stopwatch.clock()
        rounds, next_look = 0, least
        while True:
            self._round(arms, running)
            rounds += 1
            spent_s = self.stopwatch.clock() - start
            if rounds < next_look:
                continue
            next_look = math.ceil(LOOK_AGAIN * rounds)
            if spent_s >= self.plan.min_span_s / self.plan.builds:
                # An earlier build's weight is matched before a candidate rests.
                running = {c for c in running if rounds < earlier[c] or not self._resolved(c)}
                if not running:
                    return
            if spent_s >= share_s:
                return
            heard(f"{rounds} pairs")

    def _round(self, arms: Sequence[Arm], running: set[int]) -> None:
        order = [0, *sorted(running)]
        self.coin.shuffle(order)
        per_item_s = {}
        for index in order:
            iterations = self.iterations[index]
            with StoppedError.naming(index):
                sample_s = self.stopwatch.block_s(arms[index], iterations) / iterations
            self.samples_s[index].append(sample_s)
            per_item_s[index] = sample_s / arms[index].items
        for candidate in running:
            self.log_ratios[candidate].append(math.log(per_item_s[0] / per_item_s[candidate]))

    def _resolved(self, candidate: int) -> bool:
        seen = self.judgement(candidate)
        return seen.verdict != "undecided" and seen.half_width <= self.plan.half_width
