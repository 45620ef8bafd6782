"""The search for a user's program: every technique alone over the program as it stands, then what pays together.

A user asks two questions: which technique pays, and what to write at the end. So each technique is judged beside the
program with the pairs that a verdict needs, those that pay are combined, and the best combinations race.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

from accelbench.advise.observations import Observation
from accelbench.advise.search import (
    ALPHA,
    FINAL_PATIENCE,
    FIRST_PATIENCE,
    MAX_CANDIDATES,
    NOISE,
    Evaluate,
    NoBaseline,
    Search,
)
from accelbench.advise.space import Configuration, SearchSpace
from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels
from accelbench.errors import Unavailable
from accelbench.measuring.statistics import Judgement, fewest_pairs
from accelbench.schema.verdict import NEGLIGIBLE
from accelbench.units import minutes, plural

SAME = 0.03  # speedups within this fraction of 1 count as the same
WORTH = NEGLIGIBLE  # a gain below this does not pay for a change of a program
BASELINE_AGAIN_SHARE = 0.1  # of the budget at most, for a second look at what the program takes by itself
ALONE_SHARE = 0.6  # of the budget at most goes into techniques alone, in a first look at each
COMPILE_SHARE = 0.85  # of the budget, by which what compiles must have been timed
SLOW_TIMES = 2.0  # times the seconds that are predicted: what something that compiles may take
GIVEN_UP_TIMES = 2.0  # the seconds in which something was not timed: what it may need
AGAIN_SHARE = 0.75  # likewise, with further looks at what is undecided
FINISH_SHARE = 1.1  # likewise, at the end: an answer is worth a few seconds beyond the budget
TOGETHER_SHARE = 0.85  # of the budget at most is spent when the best combinations begin to race
RACE_SHARE = 0.95  # of the budget, by which the race ends, so that there is time to check the winner
FINAL_ROUNDS = 3
MAX_FINALISTS = 3
BEHIND = 1.15  # times slower than the best so far: what is slower still does not race, nor is tried if it promises so
MAX_LOOK_S = 2.0  # of timing each arm, unless a verdict needs more
SLOW_TO_BUILD_S = 0.3  # with a first call: a program that takes longer is not built as often in a look
OVERHEAD_S, OVERHEAD_STEPS = 0.5, 9  # of an arm beside its timing, until the first group was timed
FIRST_GROUP = 4  # candidates of the group that shows what an arm costs
SPARE = 1.5  # times the seconds of the fewest pairs: an answer then stands although one pair was disturbed
SHORT_S = 0.1  # of an iteration: shorter ones would show how an epoch begins
NO_TIME = "no time to try it"
MUCH_SLOWER = "slower: a step takes about four times as long as your program's, or more"
# The order in which levels are tried: the first ones of techniques that often pay, their next ones, others, and last
# the unlikely ones.
FIRST, OFTEN, SELDOM, LAST = range(4)
FEW_TIMES = 3  # the fewest pairs that decide: with fewer, an interval does not narrow as it does with many
MOST_TIMES = 20.0  # the pairs so far: where a verdict needs more, no budget is named


@dataclass(kw_only=True)
class Iteration:
    """An iteration of the baseline: its items, None where they are not known, and in how many parts it is timed.

    A program chooses an iteration that is long enough to show how its batches are loaded. Where nothing of that is
    switched, a part of it is timed, so that there are more pairs in the same time. ``rebuild_s`` are the seconds of
    building the baseline and of its first call, ``step_s`` those of a later one. ``compares_outputs`` is False where
    the first trial found that the program does not repeat itself.
    """

    items: float | None = None
    parts: int = 1
    rebuild_s: float = 0.0
    step_s: float = 0.0
    compares_outputs: bool = True

    def items_of(self, configurations: Iterable[Configuration], space: SearchSpace) -> float | None:
        """Return the items of an iteration in a trial of these configurations."""
        if self.items is None or any(map(space.loads_otherwise, configurations)):
            return self.items
        return self.items / self.parts

    def note(self, items: float, step_s: float, wanted: float | None, space: SearchSpace) -> None:
        """Note the items of a baseline's iteration and its seconds, where so many items were ``wanted``.

        A part has one of the program's batches at least. A program that states the number of its batches keeps it.
        """
        if self.items is not None:
            self.parts = self.parts if wanted in (None, items) else 1
            return
        self.items = items
        batches = items / space.batch_size if space.batch_size else 1
        while step_s / (2 * self.parts) >= SHORT_S and batches / (2 * self.parts) >= 1:
            self.parts *= 2


@dataclass(frozen=True, kw_only=True)
class Alone:
    """One technique at one level, alone over the program.

    ``judgement`` is None where it was not timed: ``reason`` says why. ``pays`` answers whether it is worth a change of
    the program: None where that is undecided. Then ``needed_s`` are the seconds that an answer would take beyond those
    spent, by estimate, None where none can be had. ``cold_s`` and ``step_s`` are the seconds of a slow
    first call and of a later one; the first is repaid after ``repaid_items``, None where it is not shown to be faster.
    """

    technique: str
    level: str
    judgement: Judgement | None = None
    reason: str = ""
    pays: bool | None = None
    needed_s: float | None = None
    cold_s: float | None = None
    step_s: float | None = None
    repaid_items: float | None = None
    is_unlikely: bool = False


def out_of_time(budget_s: float) -> Unavailable:
    """Return the error of a search whose time was up too early."""
    return Unavailable(
        f"the budget of {minutes(budget_s)} was over before there was an answer; give it more time, such "
        f"as --budget {round(3 * budget_s)}s"
    )


def find_whether_it_pays(judgement: Judgement) -> bool | None:
    """Return whether a speedup pays: it is shown to be a gain that may be worth it, or shown to be no such gain.

    The two claims overlap: a gain between 1 % and 5 % can be shown to be either, so every speedup can be decided.
    """
    if judgement.high < 1 + WORTH:
        return False
    return True if judgement.low > 1 + NOISE else None


def times_to_decide(judgement: Judgement) -> float | None:
    """Return about how many times the pairs would show whether a speedup pays; None where nothing can be told.

    As in `certainty.times_the_pairs`, an interval narrows with the square root of the pairs.
    """
    if not judgement.low > 0 or math.isinf(judgement.high):
        return None
    centre, gain, worth = math.log(judgement.speedup), math.log1p(NOISE), math.log1p(WORTH)
    below, above = centre - math.log(judgement.low), math.log(judgement.high) - centre
    ways = [reach / room for reach, room in ((below, centre - gain), (above, worth - centre)) if room > 0]
    return max(1.0, min(ways) ** 2)


def _items_to_repay(look: Observation, speedup: float) -> float | None:
    """Return the items after which a first call has cost no more time than it has saved; None where it is not known."""
    if not (look.cold_s and look.step_s and look.items):
        return None
    saved_s = look.step_s * (speedup - 1) / look.items  # for each item
    return max(0.0, look.cold_s - look.step_s * speedup) / saved_s


@dataclass(kw_only=True)
class ProgramSearch(Search):
    """One search for a user's program.

    ``judge`` evaluates configurations with as many pairs as a verdict needs, ``confirm`` does so with every check and
    weighs them for memory. The budget starts at ``start_s``, with the start of the worker. ``iteration`` is what the
    evaluations time, and ``limit`` ends one that takes too long. ``untried`` maps techniques alone for which there was
    no time, or too little, to the seconds that they need. ``is_cut_short`` says that the time was up in the middle of
    a trial. ``left_before_race`` are the configurations that nothing spoke against when the race began.
    """

    judge: Evaluate
    confirm: Evaluate
    start_s: float
    iteration: Iteration = field(default_factory=Iteration)
    limit: Callable[[float], TimeLimit] = TimeLimit
    untried: dict[Configuration, float] = field(default_factory=dict, init=False)
    is_cut_short: bool = field(default=False, init=False)
    left_before_race: list[Configuration] = field(default_factory=list, init=False)

    def _search(self) -> None:
        self._try_baseline()
        self._judge_alone(FIRST, ALONE_SHARE)
        self._judge_alone(OFTEN, ALONE_SHARE)
        self._judge_again(AGAIN_SHARE)
        self._judge_together()
        self._race()
        self._check_winner()
        for least_promising in (OFTEN, SELDOM, LAST):
            self._judge_alone(least_promising, 1.0)
            self._judge_again(FINISH_SHARE)

    def judge_gain(self, configuration: Configuration) -> Judgement | None:
        """Return the judgement of a configuration over the program as it stands.

        A technique alone is judged whether or not it is chosen, so that all of its trials count; of a combination,
        those count that did not choose it.
        """
        if configuration == self.space.baseline:
            return None
        is_alone = len(self.space.changes(configuration)) == 1
        return self.observations.judge_over_baseline(configuration, alpha=ALPHA, noise=NOISE, every_trial=is_alone)

    def answer_so_far(self) -> Configuration:
        """Return the best configuration compared so far, and note the time that each untried technique needs.

        Raises:
            Unavailable: the program as it stands was not measured, or the answer must be checked for repeating itself.
        """
        looks = self.observations.first_looks
        if not looks or self.find_objection is not None:
            raise out_of_time(self.budget_s)
        self.untried |= {each: self._predict_alone_s(each) for each in self.space.alone() if each not in looks}
        return self._choose_simplest()

    def list_alone(self) -> list[Alone]:
        """Return what every technique alone does to the program, the techniques in their order."""
        return [self._describe(each) for each in sorted(self.space.alone(), key=self._place)]

    def find_untried_together(self) -> Levels:
        """Return the techniques that pay and keep the limits, if no two were tried together; none if fewer than two."""
        together = self._find_untried_together()
        return self.space.changes(together) if together else {}

    def predict_budget_together_s(self) -> float | None:
        """Return a budget in which these would be tried together, by estimate; None if there are none."""
        together = self._find_untried_together()
        if not together:
            return None
        needed_s = self._predict_s([together], self._least_look_s([together]))
        return max((self.budget.spent_s + needed_s) / TOGETHER_SHARE, needed_s / (TOGETHER_SHARE - AGAIN_SHARE))

    def _find_untried_together(self) -> Configuration | None:
        looks, observations = self.observations.first_looks, self.observations
        if any(len(self.space.changes(each)) > 1 for each in looks):
            return None
        out = observations.failed if self.find_objection is None else observations.eliminated
        allowed = (each for each in self.space.alone() if each in looks and each not in out)
        paying = [each for each in allowed if self._keeps_limits(each) and self._describe(each).pays]
        together = self.space.combine(sorted(paying, key=observations.estimate, reverse=True))
        return together if len(self.space.changes(together)) > 1 else None

    def _place(self, configuration: Configuration) -> tuple[int, int]:
        (place,) = (place for place, level in enumerate(configuration) if level != self.space.baseline[place])
        return place, self.space.axes[place].levels.index(configuration[place])

    def _describe(self, configuration: Configuration) -> Alone:
        ((technique, level),) = self.space.changes(configuration).items()
        look = self.observations.first_looks.get(configuration)
        if look is None:
            needed_s = self.untried.get(configuration)
            is_unlikely = self._promise(configuration) == LAST
            return Alone(technique=technique, level=level, reason=NO_TIME, needed_s=needed_s, is_unlikely=is_unlikely)
        if not look.is_measured:
            is_given_up, starts_slowly = look.outcome == "given-up", self.space.is_slow_to_start(configuration)
            reason = MUCH_SLOWER if is_given_up and not starts_slowly else look.reason
            needed_s = self.untried.get(configuration) if is_given_up and starts_slowly else None
            return Alone(technique=technique, level=level, reason=reason, needed_s=needed_s)
        judgement = self.observations.judge_over_baseline(configuration, alpha=ALPHA, noise=SAME, every_trial=True)
        if judgement is None:
            return Alone(technique=technique, level=level, reason="never timed beside your program")
        pays = find_whether_it_pays(judgement)
        needed_s = self._predict_answer_s(configuration, judgement) if pays is None else None
        return Alone(
            technique=technique,
            level=level,
            judgement=judgement,
            pays=pays,
            needed_s=needed_s,
            cold_s=look.cold_s if self.space.is_slow_to_start(configuration) else None,
            step_s=look.step_s,
            repaid_items=_items_to_repay(look, judgement.speedup) if pays else None,
        )

    def _predict_answer_s(self, configuration: Configuration, judgement: Judgement) -> float | None:
        """Return the seconds that an undecided comparison still needs, None if it is too close to be decided."""
        times, pairs = times_to_decide(judgement), judgement.pairs
        needed = self._fewest if times is None else times * pairs
        if pairs < FEW_TIMES * self._fewest:
            needed = min(needed, SPARE * self._fewest)  # an end may be that of one disturbed pair
        if needed > MOST_TIMES * pairs:
            return None
        pair_s = self._step_s_of([configuration]) * (1 + 1 / judgement.speedup)
        return self.budget.predict_overhead_s([self.space.baseline, configuration]) + needed * pair_s

    def _try_baseline(self) -> None:
        """Measure the program as it stands, alone: that bears the costs that occur once in a process.

        Where these are so high that it seems slow to build again, or something may have disturbed it so that there
        seems to be no time for anything, it is measured once more.
        """
        self.budget.start(self.start_s)
        baseline = self.space.baseline
        self.report("your program as it stands")
        self._look_at_baseline()
        look = self.observations.first_looks[baseline]
        if not look.is_measured:
            raise NoBaseline(look, "your program")
        took_s, first = self.budget.longest[0], self._in_order(self.space.alone())[:1]
        is_slow_to_build = self.iteration.rebuild_s > max(self._step_s, SLOW_TO_BUILD_S)
        fits = self._affordable(first, self._fewest_pairs_s(first), FINISH_SHARE)
        room_s = BASELINE_AGAIN_SHARE * self.budget_s if fits else self._left_s(1.0)
        if (is_slow_to_build or not fits) and took_s < room_s:
            self._look_at_baseline()

    def _in_order(self, alone: Iterable[Configuration]) -> list[Configuration]:
        """Return techniques in the order in which they are tried, what is slow to start last.

        Those that a user named keep the order of their names, where their promise is the same.
        """
        asked_at = {axis.technique: axis.asked_at or 0 for axis in self.space.axes}

        def order(each: Configuration) -> tuple[bool, int, int]:
            (name,) = self.space.changes(each)
            return self.space.is_slow_to_start(each), self._promise(each), asked_at[name]

        return sorted(alone, key=order)

    def _look_at_baseline(self) -> None:
        self._look([self.space.baseline], 0.0, FIRST_PATIENCE * self.budget_s, self.judge)
        self.budget.assume_overhead_s(OVERHEAD_S + OVERHEAD_STEPS * self._step_s)

    @property
    def _fewest(self) -> int:
        return fewest_pairs(ALPHA)

    @property
    def _step_s(self) -> float:
        return self.observations.steps_s.get(self.space.baseline, 0.0)

    def _step_s_of(self, group: Sequence[Configuration]) -> float:
        """Return the seconds of an iteration of the program in a trial of these."""
        return self._step_s * (self.iteration.parts if any(map(self.space.loads_otherwise, group)) else 1)

    def _fewest_pairs_s(self, group: Sequence[Configuration]) -> float:
        """Return the seconds for each arm in which the fewest pairs that decide are timed."""
        return self._fewest * self._step_s_of(group)

    def _least_look_s(self, group: Sequence[Configuration]) -> float:
        """Return the seconds for each arm in which these pairs are timed, with some to spare."""
        return SPARE * self._fewest_pairs_s(group)

    def _judge_alone(self, least_promising: int, share: float) -> None:
        """Judge techniques one by one: those that pay most often first, and last what is slow to start, by itself.

        Those for which this share of the budget has no room are left with what they would cost.
        """
        looks = self.observations.first_looks
        new = [each for each in self.space.alone() if each not in looks and self._promise(each) <= least_promising]
        left, is_costed = self._in_order(new), len(looks) > 1
        while left:
            alike = [each for each in left if self._kind(each) == self._kind(left[0])]
            is_slow = self.space.is_slow_to_start(left[0])
            group = alike[: 1 if is_slow else MAX_CANDIDATES if is_costed else FIRST_GROUP]
            if is_slow:
                self._judge_together_before(group)
            look_s = self._share_look_s(group, share, len(left))
            within = max(share, COMPILE_SHARE) if is_slow else share
            group = self._affordable(group, look_s, within if is_costed else 1.0)  # one answer is better than none
            if not group and not is_costed:
                look_s = self._fewest_pairs_s(left[:1])
                group = self._affordable(left[:1], look_s, FINISH_SHARE)
            if group:
                self._judge_over_baseline(group, look_s, within)
                is_costed = True
            else:
                group = [left[0]]
                self.untried[left[0]] = self._predict_alone_s(left[0])
            left = [each for each in left if each not in group]

    def _predict_alone_s(self, configuration: Configuration) -> float:
        """Return the seconds that a technique alone takes in a group, which is timed beside one baseline."""
        shared = (1 + 1 / MAX_CANDIDATES) / 2
        return shared * self._predict_s([configuration], self._least_look_s([configuration]))

    def _kind(self, configuration: Configuration) -> tuple[bool, bool]:
        """Return what configurations of one trial have in common: how they start, and which iteration shows them."""
        return self.space.is_slow_to_start(configuration), self.space.loads_otherwise(configuration)

    def _promise(self, configuration: Configuration) -> int:
        """Return how soon a technique alone is tried, from ``FIRST`` to ``LAST``.

        One that a user named counts as one that often pays, and so do all of its levels but those below the program's.
        """
        ((name, level),) = self.space.changes(configuration).items()
        axis = next(axis for axis in self.space.axes if axis.technique == name)
        rank = axis.by_promise().index(level)
        if axis.is_below_own(level):
            return LAST
        if axis.asked_at is not None:
            return min(OFTEN, rank)
        if rank and level in axis.slow:
            return LAST
        is_usual = axis.often_pays and (rank == 0 or (level.isdecimal() and axis.present.isdecimal()))
        return min(LAST, rank if is_usual else rank + SELDOM)

    def _judge_again(self, share: float) -> None:
        """Give techniques without an answer further looks, in other builds, those that need the least first."""
        while undecided := sorted(filter(self._is_open, self.space.alone()), key=self._needed_s):
            group = [each for each in undecided if self._kind(each) == self._kind(undecided[0])]
            group = group[: 1 if self.space.is_slow_to_start(group[0]) else MAX_CANDIDATES]
            look_s = max(self._least_look_s(group), MAX_LOOK_S)
            group = self._affordable(group, look_s, share)
            if not group:
                return
            self._judge_over_baseline(group, look_s, share)

    def _needed_s(self, configuration: Configuration) -> float:
        needed_s = self._describe(configuration).needed_s
        return math.inf if needed_s is None else needed_s

    def _is_open(self, configuration: Configuration) -> bool:
        look = self.observations.first_looks.get(configuration)
        is_allowed = look is not None and look.is_measured and self._keeps_limits(configuration)
        return is_allowed and self._describe(configuration).needed_s is not None

    def _judge_together(self) -> None:
        """Try the techniques that pay together: the sure ones first, then all, without each one, and two at a time.

        Those are left out that would be far behind if every technique gained together what it gains alone.
        """
        paying = self._paying()
        sure = [each for each in paying if self._describe(each).pays]
        several = [sure, paying, *combinations(paying, max(2, len(paying) - 1)), *combinations(paying, 2)]
        gains = {self.space.combine(each): sum(map(self.observations.estimate, each)) for each in several if each[1:]}
        least = max(gains.values(), default=0.0) - math.log(BEHIND)
        self._time_together([each for each, gain in gains.items() if gain > least])

    def _judge_together_before(self, slow: Sequence[Configuration]) -> None:
        """Try what surely pays together before something that is slow to start, if there may be no time after it."""
        sure = [each for each in self._paying() if self._describe(each).pays]
        if len(sure) < 2 or self.observations.is_final:
            return
        together = self.space.combine(sure)
        together_s = self._predict_s([together], self._least_look_s([together]), self._reference(together))
        slow_s = SLOW_TIMES * self._predict_s(slow, self._least_look_s(slow))
        if slow_s + together_s > self._left_s(TOGETHER_SHARE):
            self._time_together([together])

    def _time_together(self, combined: Iterable[Configuration]) -> None:
        """Time the combinations that are new beside what computes the same, as far as there is time before the race."""
        new = [each for each in combined if each not in self.observations.first_looks]
        for reference, group in self._group_by_reference(new):
            look_s = self._least_look_s(group)
            fitting = self._affordable(group, look_s, TOGETHER_SHARE, reference)
            if fitting:
                self.report(f"{plural(len(fitting), 'combination')} of what pays")
                self._look([reference, *fitting], self._patience_s(look_s), look_s, self.judge)

    def _reference(self, configuration: Configuration) -> Configuration:
        """Return what computes the same as a combination; the program as it stands, if that was never measured."""
        reference = super()._reference(configuration)
        look = self.observations.first_looks.get(reference)
        return reference if look is not None and look.is_measured else self.space.baseline

    def _paying(self) -> list[Configuration]:
        """Return the best level of each technique that pays alone, or seems to; the best technique first."""
        best: dict[int, Configuration] = {}
        for each in self.observations.rank():
            changed = [place for place, level in enumerate(each) if level != self.space.baseline[place]]
            if len(changed) == 1 and self._seems_to_pay(each):
                best.setdefault(changed[0], each)
        return [*best.values()]

    def _seems_to_pay(self, configuration: Configuration) -> bool:
        pays = self._describe(configuration).pays
        return self.observations.estimate(configuration) > math.log1p(SAME) if pays is None else pays

    def _race(self) -> None:
        """Time the best again in fresh builds, beside the program, and drop what is shown to be slower.

        Techniques alone that are undecided are timed beside them: that takes an arm, another look would take two.
        """
        self.left_before_race = self.observations.rank()
        finalists = [each for each in self._choose_finalists() if each != self.space.baseline]
        if not finalists:
            return
        self.observations.begin_elimination(len(finalists) + 1)
        for left in range(FINAL_ROUNDS, 0, -1):
            each_s = self._left_s(RACE_SHARE) / (2 * left * (len(finalists) + 1))
            look_s = max(self._least_look_s(finalists), min(MAX_LOOK_S, each_s))
            fitting = self._affordable(finalists, look_s, RACE_SHARE)
            if not fitting:
                return
            self._eliminate_others(finalists[len(fitting) :], "behind so far, and no time to race it on")
            self.report(f"{plural(len(fitting), 'configuration')} in the race")
            timed = self._affordable([*fitting, *self._open_beside(fitting)], look_s, RACE_SHARE)
            ordered = sorted(timed, key=self.space.tolerance)  # outputs are checked in turn
            self._look([self.space.baseline, *ordered], self._patience_s(look_s), look_s, self.judge)
            survivors = self._select_survivors(fitting, is_last=left == 1)
            finalists = [each for each in survivors if each != self.space.baseline]
            if not finalists or (len(finalists) == 1 and self._is_decided(finalists[0])):
                return

    def _check_winner(self) -> None:
        """Time the best once more with every check, and weigh it for memory; then another one, if that is best now.

        What seems better still, and was never timed beside the program, comes first. If the best fails, all that
        nothing but their speed speaks against can be the best again.
        """
        weighed = {each for each, look in self.observations.first_looks.items() if look.memory_bytes is not None}
        checked = {self.space.baseline, *weighed}
        while self.observations.is_final and (best := self._choose_to_check(checked)) not in checked:
            look_s = self._least_look_s([best])
            if not self._affordable([best], look_s, FINISH_SHARE):
                return
            self.report(f"{self.space.label(best)} with every check")
            self._look([self.space.baseline, best], self._patience_s(look_s), look_s, self.confirm)
            checked.add(best)
            if best in self.observations.failed:
                self.observations.reinstate(filter(self._keeps_limits, self.left_before_race))

    def _choose_to_check(self, checked: set[Configuration]) -> Configuration:
        """Return the most promising, or what seems faster and was never timed beside the program, if there is time."""
        best = self._choose_promising()
        leader = next(iter(self.observations.rank()), best)
        is_new = leader not in checked and self.judge_gain(leader) is None
        is_ahead = is_new and self._slowdown(best, leader) > 1 + NOISE
        fits = is_ahead and self._affordable([leader], self._least_look_s([leader]), FINISH_SHARE)
        return leader if fits else best

    def _open_beside(self, finalists: Sequence[Configuration]) -> list[Configuration]:
        """Return the undecided techniques alone that the finalists' trial can time without becoming slower."""
        is_long = any(map(self.space.loads_otherwise, finalists))
        fitting = [
            each
            for each in filter(self._is_open, self.space.alone())
            if each not in finalists and self._kind(each) in {(False, False), (False, is_long)}
        ]
        return sorted(fitting, key=self._needed_s)[: MAX_CANDIDATES - len(finalists)]

    def _is_decided(self, configuration: Configuration) -> bool:
        gain = self.judge_gain(configuration)
        return gain is not None and gain.verdict != "undecided"

    def _finalists_wanted(self, ranking: Sequence[Configuration]) -> int:
        """Return how many of the fastest race: those that seem to pay and are not far behind the best, but few."""
        paying = [each for each in ranking if self.observations.estimate(each) > math.log1p(SAME)]
        return min(MAX_FINALISTS, sum(self._slowdown(each, ranking[0]) < BEHIND for each in paying))

    def _choose_simplest(self) -> Configuration:
        """Return the most promising, if it is shown to pay; else the program as it stands, unless that is out."""
        best = self._choose_promising()
        is_out = self.space.baseline in self.observations.eliminated
        return best if is_out or self._is_shown_to_pay(best) else self.space.baseline

    def _choose_promising(self) -> Configuration:
        """Return the fastest that is shown to pay, or one that is as fast and is to be preferred.

        If the race leaves none, the fastest of those that it began with. If none of them is shown to pay, the
        fastest that seems to pay; the program as it stands if none does.
        """
        ranking = list(filter(self._is_shown_to_pay, self.observations.rank()))
        if not ranking and self.find_objection is None:
            left = (each for each in self.left_before_race if each not in self.observations.failed)
            paying = (each for each in left if self._is_shown_to_pay(each) and self._keeps_limits(each))
            ranking = sorted(paying, key=self.observations.estimate, reverse=True)
        if ranking:
            return self._choose_preferred(ranking)
        best = super()._choose_simplest()
        gain = self.judge_gain(best)
        seems_to_pay = gain is not None and gain.speedup > 1 + WORTH
        return best if seems_to_pay or self.space.baseline in self.observations.eliminated else self.space.baseline

    def _choose_preferred(self, ranking: Sequence[Configuration]) -> Configuration:
        """Return the fastest of some that are shown to pay, or another one whose gain is the same within the noise.

        Of these, one with the least switched is chosen, of these one whose gain is surest, and of these one that leaves
        what is learnt alone. The gains are those that the answer states.
        """
        gains = {each: gain for each in ranking if (gain := self.judge_gain(each)) is not None}
        least = max(gain.speedup for gain in gains.values()) / (1 + NOISE)
        equals = [each for each, gain in gains.items() if gain.speedup >= least]
        fewest = min(len(self.space.changes(each)) for each in equals)
        simplest = [each for each in equals if len(self.space.changes(each)) == fewest]
        surest = max(gains[each].low for each in simplest) / (1 + NOISE)
        sure = (each for each in simplest if gains[each].low >= surest)
        return min(sure, key=lambda each: not self.space.leaves_outputs(each))

    def _is_shown_to_pay(self, configuration: Configuration) -> bool:
        gain = self.judge_gain(configuration)
        return gain is not None and find_whether_it_pays(gain) is True

    def _keeps_limits(self, configuration: Configuration) -> bool:
        look = self.observations.first_looks[configuration]
        return not self.limits.find_violation(look.memory_bytes, look.error)

    def _judge_over_baseline(self, group: list[Configuration], look_s: float, share: float) -> None:
        """Time a group beside the program; what is slow to start, no longer than this share of the budget has room."""
        self.report("; ".join(map(self.space.label, group)) + " over your program")
        arms = [self.space.baseline, *sorted(group, key=self.space.tolerance)]
        if not any(map(self.space.is_slow_to_start, group)):
            self._look(arms, self._patience_s(look_s), look_s, self.judge)
            return
        left_s = self._left_s(share)
        limit = self.limit(left_s)
        try:
            with limit:
                self._look(arms, self._patience_s(look_s), look_s, self.judge)
        except KeyboardInterrupt:
            if not limit.is_over:
                raise
            why = f"not timed within {minutes(left_s)}, its first call included"
            failed = {each: Observation(outcome="given-up", reason=why) for each in group}
            self.untried |= dict.fromkeys(group, GIVEN_UP_TIMES * left_s)
            self.observations.add({self.space.baseline: self.observations.first_looks[self.space.baseline]} | failed)

    def _patience_s(self, look_s: float) -> float:
        return max(look_s, FINAL_PATIENCE * self._step_s)

    def _left_s(self, share: float) -> float:
        return share * self.budget_s - self.budget.spent_s

    def _share_look_s(self, group: Sequence[Configuration], share: float, left: int) -> float:
        """Return the seconds for each arm that let all candidates that are left have their turn."""
        return max(self._least_look_s(group), min(MAX_LOOK_S, self._left_s(share) / (3 * left)))

    def _affordable(
        self, group: Sequence[Configuration], look_s: float, share: float, beside: Configuration | None = None
    ) -> list[Configuration]:
        """Return as many of a group as can be timed beside another configuration within this share of the budget."""
        count = len(group)
        while count and self._predict_s(group[:count], look_s, beside) > self._left_s(share):
            count -= 1
        return [*group[:count]]

    def _predict_s(self, group: Sequence[Configuration], look_s: float, beside: Configuration | None = None) -> float:
        """Return the seconds that a look at a group takes."""
        arms = [*chain([beside or self.space.baseline], group)]
        return self.budget.predict_overhead_s(arms) + len(arms) * look_s
