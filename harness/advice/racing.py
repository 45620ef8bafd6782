"""The race: a first look at as many configurations as the budget holds, then elimination by the referee's verdicts.

First looks are halved as in Karnin, Koren and Somekh 2013, "Almost optimal exploration in multi-armed bandits"
(sequential halving). The rest race as in Maron and Moore 1994, "Hoeffding races": whoever is shown to be slower leaves,
and the others share the time. The bound is the referee's sequence of paired signs instead of Hoeffding's, since times
have no known range. A space that the budget does not hold is searched by iterated racing (López-Ibáñez et al. 2016,
"The irace package"): of each set of new configurations, half is what a linear model of the looks so far expects most
of, and the rest is random or near the best so far, in one technique or two at once. So two techniques that pay only
together may be met together, which no search along one technique at a time would do. What is compiled when it starts is
looked at last, with the best of the rest, where the time holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from random import Random

from harness.advice.board import Board, Seen
from harness.advice.expense import EXPLORING, Expense
from harness.advice.limits import NO_LIMITS, Limits
from harness.advice.opening import NoBaseline
from harness.advice.proposing import Proposer
from harness.advice.space import Configuration, Space, chunks
from harness.errors import Unavailable
from harness.units import plural, ratio, speedup

HEAT = 7  # candidates that are timed side by side, all of which are in memory at once
SURVEYED = 3  # references are looked at in so small numbers, since each may take longer than those before
SURVEYING = 0.3  # of the budget at most goes into references
QUICK = 0.4  # of the budget at most goes into what starts quickly, where there are others
OVERRUN = 1.3  # times the budget, within which a race must end to be begun
FINALISTS, SURE_FINALISTS = 12, 4  # at most so many race, and so many even if they are far behind
FAR_BEHIND = 1.5  # times slower than the fastest at a first look, which errs by less unless it was disturbed
FEWEST = 2  # configurations that are looked at, however short the time is
PATIENCE = 4  # an arm whose step takes about so many times as long as the reference's is given up
RACE_PATIENCE = 20  # the same for an arm that came through its first look, and may have been disturbed since
BASELINE_PATIENCE = 0.2  # of the budget, for a step of the baseline
FIRST_PATIENCE = 0.05  # of the budget, for a step of which nothing else is known
ALPHA = 0.01  # of a whole search
NOISE = 0.01

# Times some configurations side by side, the first being what the others are paired with and checked against: for so
# many seconds an arm, giving up those whose single step takes longer than the second number of seconds.
# Several where a worker was lost and the configurations were tried again in smaller numbers.
Heat = Callable[[Sequence[Configuration], float, float], Sequence[Mapping[Configuration, Seen]]]


@dataclass(kw_only=True)
class Race:
    """One search. Times come from ``clock``; ``objection`` says what else speaks against a finalist, "" for nothing."""

    space: Space
    heat: Heat
    budget_s: float
    clock: Callable[[], float]
    coin: Random
    limits: Limits = NO_LIMITS
    objection: Callable[[Configuration], str] | None = None
    say: Callable[[str], None] = lambda _: None
    interrupted: bool = field(default=False, init=False)  # by Ctrl-C

    def __post_init__(self) -> None:
        self.board = Board(baseline=self.space.baseline)
        self.expense = Expense(space=self.space, budget_s=self.budget_s, clock=self.clock)

    def run(self) -> Configuration:
        """Return the best configuration that keeps the limits, of those seen until Ctrl-C; the board shows the rest.

        Raises:
            Unavailable: the baseline could not be measured, or no configuration keeps the limits.
            KeyboardInterrupt: it came before two configurations were seen, or before any was held against an objection.
        """
        try:
            self._search()
        except KeyboardInterrupt:
            if self.board.first.keys() <= {self.space.baseline} or (self.objection and not self.board.racing):
                raise
            self.interrupted = True
        return self._simplest()

    def _search(self) -> None:
        self._survey()
        quick = self.space.quick()
        self._explore(quick, QUICK if quick.size < self.space.size else EXPLORING)
        self._try_slow_starts()
        if finalists := self._finalists():
            self.board.begin_race(len(finalists))
            self._eliminate(finalists)

    def _survey(self) -> None:
        """Look at everything that can be computed, as it is without any technique that leaves the output alone.

        The baseline goes ahead alone, and pays for what costs time only once: in a process, and on a machine whose
        ceilings were never measured. The budget begins after it.
        """
        baseline, *others = self.space.quick().references()
        self._look([baseline], BASELINE_PATIENCE * self.budget_s)
        if reason := self.board.first[baseline].reason:
            raise NoBaseline(reason)
        patience_s = max(FIRST_PATIENCE * self.budget_s, PATIENCE * (self.board.first[baseline].step_s or 0.0))
        self.expense.begin()
        for number, chunk in enumerate(chunks(others, SURVEYED)):
            if number == 0 or self.expense.holds([baseline, *chunk], SURVEYING):
                self._look([baseline, *chunk], patience_s)

    def _explore(self, space: Space, share: float) -> None:
        proposer = Proposer(space=space, board=self.board, coin=self.coin, fewest=HEAT)
        while candidates := proposer.proposed(self.expense.affordable(share) - 1):
            for reference, chunk in self._heats(candidates):
                most = self.expense.affordable(share) - 1
                if most < 1 and proposer.begun:
                    return
                self._first_look(reference, chunk[: max(most, FEWEST)], space.size)

    def _try_slow_starts(self) -> None:
        """Look at the best so far with what is slow to start, one at a time, while each ends before the race begins."""
        proposer = Proposer(space=self.space, board=self.board, coin=self.coin, fewest=HEAT)
        for elite in self.board.standing()[:FINALISTS]:
            for candidate in self.space.slowed(elite):
                reference = self.space.reference(candidate)
                if proposer.is_open(candidate) and self.expense.holds([reference, candidate], EXPLORING):
                    self._first_look(reference, [candidate], self.space.size)

    def _first_look(self, reference: Configuration, candidates: list[Configuration], size: int) -> None:
        self.say(f"a first look at {plural(len(candidates), 'configuration')} of {size}")
        slowest_s = self.board.first[reference].step_s or 0.0
        self._look([reference, *candidates], max(self.expense.look_s, PATIENCE * slowest_s))

    def _heats(self, candidates: list[Configuration]) -> Iterator[tuple[Configuration, list[Configuration]]]:
        """Yield candidates by what they compute, the fastest reference first."""

        def order(configuration: Configuration) -> tuple[float, Configuration]:
            reference = self.space.reference(configuration)
            return -self.board.log_speedup(reference), reference

        for (_, reference), alike in groupby(sorted(candidates, key=order), key=order):
            for chunk in chunks(list(alike), HEAT):
                yield reference, chunk

    def _look(self, configurations: list[Configuration], patience_s: float, look_s: float = 0.0) -> None:
        start_s, look_s = self.clock(), look_s or self.expense.look_s
        heats = self.heat(configurations, look_s, patience_s)
        self.expense.pay(configurations, look_s, self.clock() - start_s)
        for heat in heats:
            self.board.enter(heat)
        for each, seen in chain(*(heat.items() for heat in heats)):
            if reason := self.limits.objection(seen.memory_bytes, self.board.first[each].error):
                self.board.drop([each], reason)

    def _finalists(self) -> list[Configuration]:
        """Return the best half of what was looked at, twelve at most, without those to which something objects.

        Who is far behind takes no time from those that may be the best. The baseline goes on too, since every heat
        times it anyway.
        """
        standing = self.board.standing()
        wanted = min(FINALISTS, math.ceil(len(standing) / 2))
        near = [each for each in standing if self._behind(each, standing[0]) < FAR_BEHIND]
        wanted = min(wanted, max(SURE_FINALISTS, len(near)))
        finalists: list[Configuration] = []
        for each in standing:
            if len(finalists) >= wanted and each != self.space.baseline:
                self.board.drop([each], "behind at the first look")
            elif self.objection and (reason := self.objection(each)):
                self.board.drop([each], reason)
            else:
                finalists.append(each)
        return finalists

    def _eliminate(self, racing: list[Configuration]) -> None:
        if racing == [self.space.baseline]:
            return
        rounds = math.ceil(math.log2(len(racing))) + 1
        for left in range(rounds, 0, -1):
            count = self._held(racing)
            heats = self._race_heats(racing[:count])
            arms = [*chain(*heats)]
            if not self.expense.holds(arms, 1.0 if left < rounds else OVERRUN):
                break
            self._leave(racing[count:], "behind so far, and no time to race it on")
            racing = racing[:count]
            look_s = ((self.budget_s - self.expense.spent_s) / left - self.expense.overhead_s(arms)) / len(arms)
            self.say(f"{plural(len(racing), 'configuration')} in the race")
            for heat in heats:
                self._race(heat, max(self.expense.look_s, look_s))
            racing = self._still_racing(racing, last=left == 1)
            if len(racing) < 2:
                break

    def _race_heats(self, racing: list[Configuration]) -> list[list[Configuration]]:
        """Return who is timed together: everybody beside the baseline and whoever leads."""
        baseline, (leader, *others) = self.space.baseline, racing
        return [list(dict.fromkeys([baseline, leader, *chunk])) for chunk in chunks(others, HEAT)] or [
            [baseline, leader]
        ]

    def _held(self, racing: list[Configuration]) -> int:
        """Return of how many the budget holds a round, at least two, or one where there are no more."""
        count = len(racing)
        while count > 2 and not self.expense.holds([*chain(*self._race_heats(racing[:count]))], 1.0):
            count -= 1
        return count

    def _leave(self, configurations: Sequence[Configuration], reason: str) -> None:
        """Drop who is behind, but the baseline, which every heat times anyway."""
        self.board.drop([each for each in configurations if each != self.space.baseline], reason)

    def _race(self, heat: list[Configuration], look_s: float) -> None:
        """Time configurations beside the baseline; those that may differ least from it first, for the check's sake."""
        baseline, *others = heat
        steps_s = [self.board.first[each].step_s or 0.0 for each in others]
        patience_s = max([look_s, *(RACE_PATIENCE * step_s for step_s in steps_s)])
        self._look([baseline, *sorted(others, key=self.space.tolerance)], patience_s, look_s)

    def _still_racing(self, racing: list[Configuration], *, last: bool) -> list[Configuration]:
        """Return who goes on, the fastest first: not shown to be slower, and not in the slower half."""
        standing = [each for each in self.board.standing() if each in racing]
        if not standing:
            return []
        leader, *others = standing
        for each in others:
            judged = self.board.judged(each, leader, alpha=ALPHA, noise=NOISE)
            if judged is not None and judged.verdict == "slower":
                compared = ratio(judged.speedup, judged.low, judged.high)
                self.board.drop([each], f"slower than {self.space.named(leader)}: {compared}")
        left = [each for each in standing if each not in self.board.dropped]
        keep = len(left) if last else max(2, math.ceil(len(racing) / 2))
        for each in left[keep:]:
            of_best = 1 / self._behind(each, leader)
            self._leave([each], f"in the slower half of the race, about {speedup(of_best)} of the best")
        return [each for each in left if each not in self.board.dropped]

    def _behind(self, configuration: Configuration, leader: Configuration) -> float:
        """Return how many times slower than another one a configuration is, as far as was seen."""
        return math.exp(self.board.log_speedup(leader) - self.board.log_speedup(configuration))

    def _simplest(self) -> Configuration:
        """Return the fastest of the rest, or one with less switched whose estimate is the same within the noise."""
        standing = self.board.standing()
        if not standing:
            *others, reason = self.board.dropped.values()
            raise Unavailable(f"no configuration is left: {reason} ({plural(len(others), 'other')} tried)")
        least = self.board.log_speedup(standing[0]) - math.log1p(NOISE)
        alike = [each for each in standing if self.board.log_speedup(each) >= least]
        return min(alike, key=lambda each: len(self.space.changes(each)))
