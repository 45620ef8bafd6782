"""The search for a user's program: every technique alone over the program as it stands, then what pays together.

A user asks two questions: which technique pays, and what to write at the end. So each technique is judged beside the
program with the pairs that a verdict needs, those that pay are combined, and the best combinations race.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

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
from accelbench.advise.space import Configuration
from accelbench.certainty import times_the_pairs
from accelbench.measuring.statistics import Judgement, fewest_pairs
from accelbench.units import plural

SAME = 0.03  # speedups within this fraction of 1 count as the same: less is not worth a change of a program
ALONE_SHARE = 0.6  # of the budget at most goes into techniques alone, in a first look at each
AGAIN_SHARE = 0.7  # likewise, with a second look at what is undecided
TOGETHER_SHARE = 0.85  # of the budget at most is spent when the best combinations begin to race
# Techniques that usually pay, where they pay at all, in the order in which they are tried. The others follow.
USUAL = (
    *("amp", "mixed_precision", "dtype", "workers", "memory_format", "threads", "batch_size"),
    *("pin_memory", "loop", "optimizer"),
)
FINAL_ROUNDS = 3
MAX_FINALISTS = 4
MAX_LOOK_S = 2.0  # of timing each arm, unless a verdict needs more
OVERHEAD_S, OVERHEAD_STEPS = 0.5, 6  # of an arm beside its timing, until the first group was timed
FIRST_GROUP = 3  # candidates of the group that shows what an arm costs
SPARE = 1.5  # times the seconds of the fewest pairs, since some pairs are disturbed
MUCH_SLOWER = "slower: a step takes about four times as long as your program's, or more"
MOST_TIMES = 20.0  # the pairs so far: where a verdict needs more, no budget is named


@dataclass(frozen=True, kw_only=True)
class Alone:
    """One technique at one level, alone over the program.

    ``judgement`` is None where it was not timed: ``reason`` says why. ``needed_s`` are the seconds that a verdict would
    take beyond those spent, by estimate, None where there is a verdict or none can be had.
    """

    technique: str
    level: str
    judgement: Judgement | None = None
    reason: str = ""
    needed_s: float | None = None


@dataclass(kw_only=True)
class ProgramSearch(Search):
    """One search for a user's program.

    ``judge`` evaluates configurations with as many pairs as a verdict needs, ``confirm`` does so with every check and
    weighs them for memory. The budget starts at ``start_s``, with the start of the worker. ``untried`` maps techniques
    that there was no time to try alone to the seconds that they need. ``is_cut_short`` says that the time was up in the
    middle of a trial.
    """

    judge: Evaluate
    confirm: Evaluate
    start_s: float
    untried: dict[Configuration, float] = field(default_factory=dict, init=False)
    is_cut_short: bool = field(default=False, init=False)

    def _search(self) -> None:
        self._try_baseline()
        self._judge_alone(ALONE_SHARE)
        self._judge_again()
        self._judge_together()
        self._race()
        self._judge_alone(1.0)

    def judge_gain(self, configuration: Configuration) -> Judgement | None:
        """Return the judgement of a configuration over the program as it stands."""
        if configuration == self.space.baseline:
            return None
        return self.observations.judge_over_baseline(configuration, alpha=ALPHA, noise=NOISE)

    def list_alone(self) -> list[Alone]:
        """Return what every technique alone does to the program, the techniques in their order."""
        return [self._describe(each) for each in sorted(self.space.alone(), key=self._place)]

    def _place(self, configuration: Configuration) -> tuple[int, int]:
        (place,) = (place for place, level in enumerate(configuration) if level != self.space.baseline[place])
        return place, self.space.axes[place].levels.index(configuration[place])

    def _describe(self, configuration: Configuration) -> Alone:
        ((technique, level),) = self.space.changes(configuration).items()
        look = self.observations.first_looks.get(configuration)
        if look is None:
            needed_s = self.untried.get(configuration)
            return Alone(technique=technique, level=level, reason="no time to try it", needed_s=needed_s)
        if not look.is_measured:
            reason = MUCH_SLOWER if look.outcome == "given-up" else look.reason
            return Alone(technique=technique, level=level, reason=reason)
        judgement = self.observations.judge_over_baseline(configuration, alpha=ALPHA, noise=SAME)
        needed_s = None
        if judgement is not None and judgement.verdict == "undecided":
            needed_s = self._predict_verdict_s(judgement)
        return Alone(technique=technique, level=level, judgement=judgement, needed_s=needed_s)

    def _predict_verdict_s(self, judgement: Judgement) -> float | None:
        """Return the seconds that an undecided comparison still needs, None if it is too close to be decided."""
        times = times_the_pairs(judgement.speedup, judgement.low, judgement.high, SAME)
        needed = self._fewest if times is None else times * judgement.pairs
        if needed > MOST_TIMES * judgement.pairs:
            return None
        pair_s = self._step_s * (1 + 1 / judgement.speedup)
        return self.budget.predict_overhead_s([self.space.baseline] * 2) + needed * pair_s

    def _try_baseline(self) -> None:
        """Measure the program as it stands, alone: that bears the costs that occur once in a process."""
        self.budget.start(self.start_s)
        baseline = self.space.baseline
        self.report("your program as it stands")
        self._look([baseline], 0.0, FIRST_PATIENCE * self.budget_s, self.judge)
        look = self.observations.first_looks[baseline]
        if not look.is_measured:
            raise NoBaseline(look, "your program")
        self.budget.assume_overhead_s(OVERHEAD_S + OVERHEAD_STEPS * self._step_s)

    @property
    def _fewest(self) -> int:
        return fewest_pairs(ALPHA)

    @property
    def _step_s(self) -> float:
        return self.observations.first_looks[self.space.baseline].step_s or 0.0

    @property
    def _least_look_s(self) -> float:
        """Seconds for each arm in which the fewest pairs that decide are timed."""
        return SPARE * self._fewest * self._step_s

    def _judge_alone(self, share: float) -> None:
        """Judge techniques one by one: the most promising level of each first; what compiles in groups of its own.

        Those for which this share of the budget has no room are left with what they would cost.
        """
        new = [each for each in self.space.alone() if each not in self.observations.first_looks]
        ordered = sorted(new, key=self._promise)  # a stable sort
        firsts = sum(self._promise(each)[0] == 0 for each in ordered if not self.space.is_slow_to_start(each))
        quick, slow = (
            [each for each in ordered if self.space.is_slow_to_start(each) == is_slow] for is_slow in (False, True)
        )
        left = [*quick[:firsts], *slow[:1], *quick[firsts:], *slow[1:]]
        is_costed = len(self.observations.first_looks) > 1
        while left:
            first = left[0]
            alike = [each for each in left if not self.space.is_slow_to_start(each)]
            most = MAX_CANDIDATES if is_costed else FIRST_GROUP
            group = [first] if self.space.is_slow_to_start(first) else alike[:most]
            look_s = self._share_look_s(share, len(left))
            group = self._affordable(group, look_s, share if is_costed else 1.0)  # one answer is better than none
            if group:
                self._judge_over_baseline(group, look_s)
                is_costed = True
            else:
                group = [first]
                shared = (1 + 1 / MAX_CANDIDATES) / 2  # a group is timed beside one baseline
                self.untried[first] = shared * self._predict_s(group, self._least_look_s)
            left = [each for each in left if each not in group]

    def _promise(self, configuration: Configuration) -> tuple[int, int]:
        """Return where a technique alone stands in the order of those that usually pay."""
        ((name, level),) = self.space.changes(configuration).items()
        axis = next(axis for axis in self.space.axes if axis.technique == name)
        rank = axis.by_promise().index(level)
        return (0, USUAL.index(name)) if name in USUAL and rank == 0 else (1, rank)

    def _judge_again(self) -> None:
        """Give techniques without a verdict another look, in another build: those that promise most first."""
        undecided = [each for each in self.space.alone() if self._is_open(each)]
        for candidate in sorted(undecided, key=self.observations.estimate, reverse=True):
            look_s = max(self._least_look_s, MAX_LOOK_S)
            if self._affordable([candidate], look_s, AGAIN_SHARE):
                self._judge_over_baseline([candidate], look_s)

    def _is_open(self, configuration: Configuration) -> bool:
        look = self.observations.first_looks.get(configuration)
        if look is None or not look.is_measured or configuration in self.observations.eliminated:
            return False
        judgement = self.observations.judge_over_baseline(configuration, alpha=ALPHA, noise=SAME)
        return judgement is not None and judgement.verdict == "undecided"

    def _judge_together(self) -> None:
        """Try the techniques that pay together, all of them first, then without each one, then two at a time."""
        paying = self._paying()
        if len(paying) < 2:
            return
        chosen = [paying, *([*combinations(paying, len(paying) - 1)]), *combinations(paying, 2)]
        together = [*dict.fromkeys(map(self.space.combine, chosen))]
        new = [each for each in together if each not in self.observations.first_looks]
        for reference, group in self._group_by_reference(new):
            look_s = self._least_look_s
            fitting = self._affordable(group, look_s, TOGETHER_SHARE, reference)
            if fitting:
                self.report(f"{plural(len(fitting), 'combination')} of what pays")
                self._look([reference, *fitting], self._patience_s(look_s), look_s, self.judge)

    def _paying(self) -> list[Configuration]:
        """Return the best level of each technique that pays alone, or seems to; the best technique first."""
        best: dict[int, Configuration] = {}
        for each in self.observations.rank():
            changed = [place for place, level in enumerate(each) if level != self.space.baseline[place]]
            if len(changed) == 1 and self.observations.estimate(each) > math.log1p(SAME):
                best.setdefault(changed[0], each)
        return [*best.values()]

    def _race(self) -> None:
        """Time the best again in fresh builds, beside the program, and drop what is shown to be slower."""
        finalists = [each for each in self._choose_finalists() if each != self.space.baseline]
        if not finalists:
            return
        self.observations.begin_elimination(len(finalists) + 1)
        for left in range(FINAL_ROUNDS, 0, -1):
            look_s = max(self._least_look_s, min(MAX_LOOK_S, self._left_s(1.0) / (2 * left * (len(finalists) + 1))))
            fitting = self._affordable(finalists, look_s, 1.0)
            if not fitting:
                return
            self._eliminate_others(finalists[len(fitting) :], "behind so far, and no time to race it on")
            self.report(f"{plural(len(fitting), 'configuration')} in the race")
            ordered = sorted(fitting, key=self.space.tolerance)  # outputs are checked in turn
            self._look([self.space.baseline, *ordered], self._patience_s(look_s), look_s, self.confirm)
            survivors = self._select_survivors(fitting, is_last=left == 1)
            finalists = [each for each in survivors if each != self.space.baseline]
            if not finalists or (len(finalists) == 1 and self._is_decided(finalists[0])):
                return

    def _is_decided(self, configuration: Configuration) -> bool:
        gain = self.judge_gain(configuration)
        return gain is not None and gain.verdict != "undecided"

    def _finalists_wanted(self, ranking: Sequence[Configuration]) -> int:
        """Return how many of the fastest race: those that seem to pay, four at most."""
        paying = [each for each in ranking if self.observations.estimate(each) > math.log1p(SAME)]
        return min(MAX_FINALISTS, len(paying))

    def _choose_simplest(self) -> Configuration:
        """Return the fastest, or the simplest of those that are as fast; the program as it stands if nothing pays."""
        best = super()._choose_simplest()
        gain = self.judge_gain(best)
        pays = gain is not None and (gain.verdict == "faster" or gain.speedup > 1 + SAME)
        return best if pays or self.space.baseline in self.observations.eliminated else self.space.baseline

    def _judge_over_baseline(self, group: list[Configuration], look_s: float) -> None:
        self.report("; ".join(map(self.space.label, group)) + " over your program")
        ordered = sorted(group, key=self.space.tolerance)
        self._look([self.space.baseline, *ordered], self._patience_s(look_s), look_s, self.judge)

    def _patience_s(self, look_s: float) -> float:
        return max(look_s, FINAL_PATIENCE * self._step_s)

    def _left_s(self, share: float) -> float:
        return share * self.budget_s - self.budget.spent_s

    def _share_look_s(self, share: float, left: int) -> float:
        """Return the seconds for each arm that let all candidates that are left have their turn."""
        return max(self._least_look_s, min(MAX_LOOK_S, self._left_s(share) / (3 * left)))

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
