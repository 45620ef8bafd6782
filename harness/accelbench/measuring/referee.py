"""The referee: coin-ordered rounds of blocks, until the evidence decides or the budget ends.

The stopwatch here is the one place where devices are synchronised; warm-up ends when two windows of blocks agree.

What is checked is what is timed. So the referee hands over the output of the last step of some timed blocks, which a
coin draws, and plays blocks outside the evidence for an examination of the arms once their rounds are over. An
examination is a generator: it yields questions, each for one block, and is suspended while the block runs. The step
then cannot tell such a block from a timed one by the collector's state or by the functions that called it.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, repeat
from random import Random
from statistics import median
from typing import Any

import numpy as np

from accelbench.core import Arm, Contrast, Plan, against_baseline
from accelbench.core.arm import nothing
from accelbench.garbage_collection import no_collection
from accelbench.measuring import malloc
from accelbench.measuring.interference import InterferenceMonitor
from accelbench.measuring.statistics import Judgement, fewest_pairs_of, judge_groups
from accelbench.sigint import is_ctrl_c


class StoppedError(Exception):
    """An arm raised while it ran; ``arm`` is its place in the trial and ``error`` what it raised."""

    def __init__(self, arm: int, error: BaseException) -> None:
        super().__init__(f"arm {arm} stopped: {error}")
        self.arm = arm
        self.error = error

    @classmethod
    @contextmanager
    def naming(cls, arm: int) -> Iterator[None]:
        """Turn an exception into one that names the arm which raised it."""
        try:
            yield
        except BaseException as error:
            if is_ctrl_c(error) or isinstance(error, GeneratorExit):
                raise
            raise cls(arm, error) from error


TIMER_COST_MULTIPLE = 1000  # a block lasts at least this many times what reading the clock costs
WAITING_MULTIPLE = 100  # and this many times what waiting for idle devices costs
READ_AGAIN_BELOW_S = 1.0  # a first call as short as this costs little to repeat, and may have traced a function again
LEAD_IN_BELOW_S = 4e-3  # a step as short as this would show what the other arm left in the caches
SAME_LENGTH_WITHIN = 4  # arms whose times differ by less than this factor run the same number of iterations


@dataclass(frozen=True, kw_only=True)
class Block:
    """Back-to-back iterations of one arm; ``taken_s`` is None for a block that was not run."""

    iterations: int
    taken_s: float | None = None


class Stopwatch:
    """Times blocks of an arm by a clock, in seconds, with the device synchronised before and after.

    ``outside_s`` are the seconds spent on a block before its clock starts, ``page_faults`` the minor page faults of
    this process in the latest block, ``processor_s`` the processor time of all its threads then, by a clock of its own,
    ``output`` what its last step returned if that was to be kept.
    """

    outside_s = 0.0
    page_faults = 0
    processor_s = 0.0
    output: Any = None

    def __init__(
        self,
        clock: Callable[[], float],
        synchronize: Callable[[], None],
        processor_clock: Callable[[], float] | None = None,
    ) -> None:
        self.clock = clock
        self.synchronize = synchronize
        self.processor_clock = processor_clock

    def timer_cost_s(self) -> float:
        """Return the seconds that one reading of the clock takes."""
        return median(later - earlier for earlier, later in pairwise(self.clock() for _ in range(200)))

    def waiting_cost_s(self) -> float:
        """Return the seconds that waiting for idle devices takes, which every block contains once."""
        return median(self.block_s(Arm(step=nothing), 1) for _ in range(20))

    def block_s(self, arm: Arm, iterations: int, *, lead_in: bool = False, keep_output: bool = False) -> float:
        """Return the seconds that one block of back-to-back iterations takes.

        With ``lead_in``, another iteration comes before them, untimed. With ``keep_output``, the last output is not
        freed before the clock stops. No other output is kept: the next step could not write where it lies.
        """
        step, self.output = arm.step, None
        with arm.enter(), no_collection():
            if lead_in:
                step()
            self.synchronize()
            faults = malloc.page_faults()
            used_s = self.processor_clock() if self.processor_clock else 0.0
            start = self.clock()
            for _ in repeat(None, iterations - 1):
                step()
            output = step()
            if not keep_output:
                output = None
            self.synchronize()
            taken_s = self.clock() - start
            self.processor_s = self.processor_clock() - used_s if self.processor_clock else 0.0
            self.page_faults = malloc.page_faults() - faults
            self.output = output
            return taken_s

    def take_output(self) -> Any:
        """Return the output that was kept, and keep it no longer."""
        output, self.output = self.output, None
        return output

    def run_for(self, arm: Arm, seconds: float, iterations: int) -> None:
        """Run blocks of an arm until that much time has passed, at least one."""
        end = self.clock() + seconds
        self.block_s(arm, iterations)
        while self.clock() < end:
            self.block_s(arm, iterations)

    def long_enough_blocks(self, arms: Sequence[Arm], min_block_s: float, known: Sequence[int] = ()) -> list[Block]:
        """Return for each arm a block that is long enough to time; arms of about the same speed get the same length.

        ``known`` are the iterations that blocks of the arms had in an earlier visit, 0 where that is not known.

        Raises:
            StoppedError: an arm raised.
        """
        costs_s = TIMER_COST_MULTIPLE * self.timer_cost_s(), WAITING_MULTIPLE * self.waiting_cost_s()
        target_s = max(min_block_s, *costs_s)
        blocks = []
        for place, arm in enumerate(arms):
            with StoppedError.naming(place):
                blocks.append(self._long_enough(arm, target_s, known[place] if known else 0))
        counts = [block.iterations for block in blocks]
        if max(counts) > SAME_LENGTH_WITHIN * min(counts):
            return blocks
        return [block if block.iterations == max(counts) else Block(iterations=max(counts)) for block in blocks]

    def _long_enough(self, arm: Arm, target_s: float, known: int) -> Block:
        iterations = known or 1
        taken_s = self.block_s(arm, iterations)
        if target_s <= taken_s < READ_AGAIN_BELOW_S and not known:
            taken_s = self.block_s(arm, 1)
        while taken_s < target_s:
            # Aim a little past the target, but never trust one short reading for more than a tenfold jump.
            aim = 1.2 * target_s * iterations / taken_s if taken_s > 0 else math.inf
            iterations = math.ceil(min(10 * iterations, max(iterations + 1, aim)))
            taken_s = self.block_s(arm, iterations)
        return Block(iterations=iterations, taken_s=taken_s)


WINDOW_S = 20e-3
FEWEST_IN_WINDOW, MOST_IN_WINDOW = 5, 20  # blocks
AGREEMENT = 0.05  # medians within this fraction of each other, quartiles within twice it
MOST_BLOCKS = 200


@dataclass(frozen=True, kw_only=True)
class Warmup:
    """The blocks that were run before measuring, and whether their times had settled or a cap ended it."""

    blocks_s: tuple[float, ...]
    settled: bool


def warm_up(block_s: Callable[[], float], *, cap_s: float, first_s: float | None = None) -> Warmup:
    """Run blocks until two windows of them agree, at most ``cap_s`` seconds of block time or 200 blocks.

    A window has as many blocks as last 20 ms, at least 5 and at most 20. ``first_s`` is the time of a block that was
    run already and counts as the first one.
    """
    times_s = [block_s() if first_s is None else first_s]
    spent_s = times_s[0]
    window = min(MOST_IN_WINDOW, max(FEWEST_IN_WINDOW, math.ceil(WINDOW_S / spent_s))) if spent_s else MOST_IN_WINDOW
    while len(times_s) < MOST_BLOCKS and spent_s < cap_s:
        times_s.append(block_s())
        spent_s += times_s[-1]
        if len(times_s) % window == 0 and len(times_s) >= 2 * window and _agree(times_s, window):
            return Warmup(blocks_s=tuple(times_s), settled=True)
    return Warmup(blocks_s=tuple(times_s), settled=False)


def _agree(times_s: list[float], window: int) -> bool:
    before = np.percentile(times_s[-2 * window : -window], (25, 50, 75))
    after = np.percentile(times_s[-window:], (25, 50, 75))
    differences = np.abs(after - before)
    return bool(np.all(differences <= AGREEMENT * np.array([2, 1, 2]) * before))


@dataclass(frozen=True, kw_only=True)
class Question:
    """A block outside the evidence: of the arm at this place of the trial, with this many iterations."""

    arm: int
    iterations: int = 1


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The time of the block that was asked for, and what its last step returned."""

    block_s: float
    output: Any


# What an arm raises in a block is raised where the examination waits for its answer.
Examination = Generator[Question, Answer, None]

WARM_UP_SHARE = 0.25  # of an arm's budget
INSPECTION_SHARE = 0.02  # of the time of rounds at most is spent on the outputs of timed steps
LOOK_AGAIN = 1.1  # the evidence is judged whenever there is a tenth more of it
EVIDENCE_S = 2e-3  # pairs are averaged over this long: a machine may have two speeds that alternate faster than that
PATIENCE = 2  # a build that takes this many times the whole budget is cut short: the machine has become much slower
LONE_SHARE = 0.5  # of its budget at most is spent on a baseline without a candidate, since there is nothing to decide
SPARE_ROUNDS = 2  # times the fewest rounds are run at most, where disturbed rounds leave too few others
SPREAD_FROM = 4  # builds give an estimate of the spread between builds; fewer would make every interval useless
MORE_PAIRS = 2  # times as many pairs at most for the next builds, where the builds so far do not suffice


class Referee:
    """Times arms in rounds of one block each and compares them with each other.

    ``play`` may be called several times with the same arms built afresh, so that no verdict rests on where their data
    happen to lie in memory. Each build has the same weight, and where the plan asks for enough builds, the interval
    includes the spread between them.

    ``contrasts`` say which arms are compared, by default every other arm with the first one. An arm takes part in
    rounds until all of its contrasts are resolved; the first arm takes part in every round.

    ``known_iterations`` are those that blocks of the arms had in an earlier visit, 0 where that is not known.

    ``inspect`` is given the place of an arm and what the last step of a timed block returned, in rounds that a coin
    draws: one among as many as there were before. ``examine`` begins the examination that follows the rounds of a
    build.

    Attributes:
        samples_s: for each arm, seconds per iteration of each of its blocks.
        page_faults: for each arm, the minor page faults of all its blocks.
        processor_s: for each arm, the processor time of each of its blocks, in seconds; 0 without such a clock.
        log_ratios: for each contrast, the paired log speedups per item.
        build_starts: for each contrast, the number of its pairs when each build began to play.
        windows: readings of the machine meanwhile; without them nothing counts as disturbed.
        compilations: the number of graphs compiled while blocks were timed.
        is_device_bound: for each arm, whether it keeps a device busy, so that a slow host does not disturb it.
    """

    def __init__(
        self,
        *,
        stopwatch: Stopwatch,
        coin: Random,
        plan: Plan,
        arms: int,
        contrasts: Sequence[Contrast] | None = None,
        windows: InterferenceMonitor | None = None,
        known_iterations: Sequence[int] = (),
        count_compilations: Callable[[], int] = lambda: 0,
        inspect: Callable[[int, Any], None] | None = None,
        examine: Callable[[Referee], Examination] | None = None,
    ) -> None:
        self.stopwatch = stopwatch
        self.coin = coin
        self.inspect = inspect
        self.examine = examine
        self.draws = Random(coin.getrandbits(64)) if inspect else None  # does not change the order of the arms
        self.known_iterations = known_iterations
        self.rounds = 0
        self.drawn_round = 1
        self.rounds_s = self.inspected_s = 0.0
        self.plan = plan
        self.samples_s: list[list[float]] = [[] for _ in range(arms)]
        self.page_faults = [0] * arms
        self.processor_s: list[list[float]] = [[] for _ in range(arms)]
        self.has_lead_in = [False] * arms
        self.contrasts = tuple(against_baseline(arms) if contrasts is None else contrasts)
        self.log_ratios: dict[Contrast, list[float]] = {contrast: [] for contrast in self.contrasts}
        self.build_starts: dict[Contrast, list[int]] = {contrast: [] for contrast in self.contrasts}
        self.windows = windows or InterferenceMonitor.disabled()
        self.count_compilations = count_compilations
        self.compilations = 0
        self.window_of: list[list[int]] = [[] for _ in range(arms)]  # the number of each block's window
        self.window_of_pair: dict[Contrast, list[int]] = {contrast: [] for contrast in self.contrasts}
        self.is_device_bound = [False] * arms
        self.warmups: list[Warmup] = []
        self.iterations: list[int] = []
        self.pairs_per_build: dict[Contrast, int] | None = None
        self.pairs_per_mean = 1
        self.budget_s = plan.budget_s * arms
        self.played_s: list[float] = []
        self.warmed_s = 0.0
        self.alpha = plan.alpha_each(len(self.contrasts))
        self.fewest = fewest_pairs_of(plan, self.alpha)

    def play(self, arms: Sequence[Arm], on_progress: Callable[[str], None] = lambda _: None) -> None:
        """Warm the arms up and time them in rounds; the first build decides how many rounds, later ones follow."""
        self._prepare(arms)
        arms = list(arms)  # the caller's list would keep arms that are built anew meanwhile until the end
        start, compiled = self.stopwatch.clock(), self.count_compilations()
        with self.windows.open():
            self._play_rounds(arms, on_progress)
        self.played_s.append(self.stopwatch.clock() - start)
        self.compilations += self.count_compilations() - compiled
        self._examine(arms)

    def _play_rounds(self, arms: list[Arm], on_progress: Callable[[str], None]) -> None:
        """Time the arms of one build in rounds."""
        for contrast, log_ratios in self.log_ratios.items():
            self.build_starts[contrast].append(len(log_ratios))
        if self.pairs_per_build is None:
            self.pairs_per_build = self._explore(arms, on_progress)
        else:
            self._match(arms, self.pairs_per_build, on_progress)

    def _examine(self, arms: Sequence[Arm]) -> None:
        """Play the blocks that the examination asks for."""
        if self.examine is None:
            return
        examination = self.examine(self)
        try:
            question = next(examination)
            while True:
                try:
                    block_s = self.stopwatch.block_s(arms[question.arm], question.iterations, keep_output=True)
                except BaseException as error:
                    if is_ctrl_c(error):
                        raise
                    question = examination.throw(error)
                else:
                    question = examination.send(Answer(block_s=block_s, output=self.stopwatch.take_output()))
        except StopIteration:
            return

    def _prepare(self, arms: Sequence[Arm]) -> None:
        """Warm the arms up; find before that how long their blocks are to be."""
        start = self.stopwatch.clock()
        first_s: list[float | None] = [None] * len(arms)
        if not self.iterations:
            blocks = self.stopwatch.long_enough_blocks(arms, self.plan.min_block_s, self.known_iterations)
            self.iterations = [block.iterations for block in blocks]
            first_s = [block.taken_s for block in blocks]
        warmups = [self._warm_up(index, arm, first_s[index]) for index, arm in enumerate(arms)]
        if not self.warmups:
            self.warmups = warmups
            steps_s = [warmup.blocks_s[-1] / count for warmup, count in zip(warmups, self.iterations, strict=True)]
            # Beside a short step an arm of about its speed has a lead-in, too, or the two would differ by it alone.
            longest_s = LEAD_IN_BELOW_S * (SAME_LENGTH_WITHIN if min(steps_s) < LEAD_IN_BELOW_S else 1)
            self.has_lead_in = [step_s < longest_s for step_s in steps_s]
            # Fixed before the first pair. The sign of a mean of coin-signed differences is a coin's, too.
            pair_s = sum(warmup.blocks_s[-1] + self.stopwatch.outside_s for warmup in warmups)
            self.pairs_per_mean = max(1, round(EVIDENCE_S / pair_s)) if pair_s > 0 else 1
        gc.collect()
        self.warmed_s += self.stopwatch.clock() - start

    @property
    def builds(self) -> int:
        """The number of builds that have played."""
        return len(self.played_s)

    @property
    def spreads(self) -> bool:
        """Whether the intervals include the spread between builds."""
        return self.plan.builds >= SPREAD_FROM

    @property
    def is_settled(self) -> bool:
        """Whether another build would add nothing: every figure is precise, or the budget is spent."""
        if self.builds and len(self.samples_s) == 1:
            return True
        # Builds of a set have the same weight, so nothing is judged before all of them have played.
        whole = self.builds > 0 and self.builds % self.plan.builds == 0
        return whole and (self._affordable() < 1 or not self._open())

    @property
    def timed_s(self) -> float:
        """The seconds that the timed blocks took, without what happened between them."""
        blocks = zip(self.iterations, self.samples_s, strict=False)  # an arm may stop before the iterations are known
        return sum(count * sum(samples_s) for count, samples_s in blocks)

    def undisturbed_blocks(self, arm: int) -> np.ndarray:
        """Return for each of an arm's blocks whether nothing disturbed it."""
        return ~self._slowdowns(self.window_of[arm], [arm]).astype(bool)

    def undisturbed(self, contrast: Contrast) -> np.ndarray:
        """Return for each of a contrast's pairs whether nothing disturbed it."""
        return ~self._slowdowns(self.window_of_pair[contrast], contrast).astype(bool)

    def _slowdowns(self, windows: Sequence[int], arms: Iterable[int]) -> np.ndarray:
        """Return for blocks of these arms in these windows the log of how much slower they may have been."""
        of_host = not all(self.is_device_bound[arm] for arm in arms)
        return self.windows.slowdowns(of_host=of_host)[windows]

    def judgement(self, arm: int, against: int = 0) -> Judgement:
        """Judge an arm against another one, by default the baseline, on the evidence so far."""
        contrast = Contrast(arm, against)
        cuts = self.build_starts[contrast][1:] if self.spreads else []
        groups = np.split(np.asarray(self.log_ratios[contrast]), cuts)
        return judge_groups(
            groups,
            alpha=self.alpha,
            noise=self.plan.noise,
            pairs_per_mean=self.pairs_per_mean,
            slowdowns=np.split(self._slowdowns(self.window_of_pair[contrast], contrast), cuts),
        )

    def median_s(self, arm: int) -> float:
        """Return the median seconds per iteration of an arm."""
        return median(self.samples_s[arm])

    def _warm_up(self, index: int, arm: Arm, first_s: float | None) -> Warmup:
        later = max(1, self.plan.builds - 1)
        cap_s = WARM_UP_SHARE * self.plan.budget_s / (2 * later if self.warmups else min(2, self.plan.builds))
        with StoppedError.naming(index):
            return warm_up(lambda: self.stopwatch.block_s(arm, self.iterations[index]), cap_s=cap_s, first_s=first_s)

    def _explore(self, arms: Sequence[Arm], on_progress: Callable[[str], None]) -> dict[Contrast, int]:
        """Run rounds until every contrast is resolved or a build's share of the budget is spent.

        Return the number of pairs that each contrast has then.
        """
        share_s = self.budget_s / self.plan.builds
        running = set(self.contrasts)
        least = math.ceil(self.pairs_per_mean * self.fewest / self.plan.builds)
        patience_s = (PATIENCE if running else LONE_SHARE) * self.budget_s
        start = self.stopwatch.clock()
        rounds, next_look, spent_s = 0, least, 0.0
        while (spent_s < share_s and running) or (spent_s < patience_s and self._too_few(rounds, least, running)):
            self._round(arms, running)
            rounds += 1
            spent_s = self.stopwatch.clock() - start
            if rounds >= next_look and spent_s >= self.plan.min_span_s / self.plan.builds:
                next_look = math.ceil(LOOK_AGAIN * rounds)
                running -= {contrast for contrast in running if self._is_resolved(contrast)}
                on_progress(f"{rounds} pairs")
        return {contrast: len(log_ratios) for contrast, log_ratios in self.log_ratios.items()}

    def _too_few(self, rounds: int, least: int, running: Collection[Contrast]) -> bool:
        """Return whether more rounds must follow: slow arms had the fewest only, and disturbed ones decide less."""
        if rounds < least or rounds >= SPARE_ROUNDS * least or self.undisturbed_blocks(0).sum() >= least:
            return rounds < least
        return any(self.judgement(*contrast).verdict == "undecided" for contrast in running)

    def _match(self, arms: Sequence[Arm], pairs: dict[Contrast, int], on_progress: Callable[[str], None]) -> None:
        """Run as many rounds as the other builds of the set, for equal weights; a new set may have more."""
        if self.builds % self.plan.builds == 0:
            times = max(1, self._affordable())
            pairs = self.pairs_per_build = {contrast: times * pairs[contrast] for contrast in self._open()}
        start = self.stopwatch.clock()
        for done in range(max(pairs.values(), default=0)):
            if self.stopwatch.clock() - start > PATIENCE * self.budget_s:
                return
            self._round(arms, {contrast for contrast, count in pairs.items() if done < count})
            if done % 100 == 0:
                on_progress(f"{done + 1} pairs of another build")

    def _affordable(self) -> int:
        """Return how many times the budget left pays for the latest set of builds, at most ``MORE_PAIRS``."""
        latest_s = sum(self.played_s[-self.plan.builds :])
        left_s = self.budget_s - sum(self.played_s)
        return min(MORE_PAIRS, round(left_s / latest_s)) if latest_s > 0 else MORE_PAIRS

    def _open(self) -> list[Contrast]:
        """Return the contrasts that still need pairs."""
        return [contrast for contrast in self.pairs_per_build or () if not self._is_resolved(contrast)]

    def _round(self, arms: Sequence[Arm], running: Collection[Contrast]) -> None:
        """Time one block of the first arm and of every arm that a running contrast needs, in random order.

        Every other contrast between these arms gets its pair, too.
        """
        start, keep_output = self.stopwatch.clock(), self._is_drawn()
        per_item_s, outputs = {}, {}
        for index in self._order(running):
            iterations = self.iterations[index]
            with StoppedError.naming(index):
                sample_s = self.stopwatch.block_s(
                    arms[index], iterations, lead_in=self._needs_lead_in(index), keep_output=keep_output
                )
            sample_s /= iterations
            if keep_output:
                outputs[index] = self.stopwatch.take_output()
            self.samples_s[index].append(sample_s)
            self.page_faults[index] += self.stopwatch.page_faults
            self.processor_s[index].append(self.stopwatch.processor_s)
            self.window_of[index].append(self.windows.current)
            per_item_s[index] = sample_s / arms[index].items
        for contrast in self.contrasts:
            if per_item_s.keys() >= {*contrast}:
                log_ratio = math.log(per_item_s[contrast.against] / per_item_s[contrast.arm])
                self.log_ratios[contrast].append(log_ratio)
                self.window_of_pair[contrast].append(self.windows.current)
        self.rounds_s += self.stopwatch.clock() - start
        self._inspect(outputs)
        self.windows.turn()

    def _order(self, running: Collection[Contrast]) -> list[int]:
        """Return the places of the first arm and of every arm that a running contrast needs, in random order."""
        order = sorted({0}.union(*running))
        self.coin.shuffle(order)
        return order

    def _needs_lead_in(self, index: int) -> bool:
        return self.has_lead_in[index]

    def _is_drawn(self) -> bool:
        """Return whether the outputs of this round are inspected: one round of the first, of two more, of four more."""
        if self.draws is None:
            return False
        self.rounds += 1
        if self.rounds != self.drawn_round:
            return False
        doubled = 2 ** self.rounds.bit_length()
        self.drawn_round = doubled + self.draws.randrange(doubled)
        return self.inspected_s <= INSPECTION_SHARE * self.rounds_s

    def _inspect(self, outputs: dict[int, Any]) -> None:
        if self.inspect is None or not outputs:
            return
        start = self.stopwatch.clock()
        for index in [*outputs]:
            with StoppedError.naming(index):
                self.inspect(index, outputs.pop(index))
        self.inspected_s += self.stopwatch.clock() - start

    def _is_resolved(self, contrast: Contrast) -> bool:
        if self.plan.whole_rounds:
            return False
        judgement = self.judgement(*contrast)
        return judgement.verdict != "undecided" and judgement.half_width <= self.plan.half_width
