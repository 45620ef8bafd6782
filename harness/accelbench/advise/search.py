"""Which configurations to measure, and which to drop: first looks at as many as the budget allows, then elimination.

First looks are halved as in Karnin, Koren and Somekh 2013, "Almost optimal exploration in multi-armed bandits"
(sequential halving). The finalists race as in Maron and Moore 1994, "Hoeffding races": configurations that are shown to
be slower are dropped, and the others share the time. The bound is the referee's sequence of paired signs instead of
Hoeffding's, since times have no known range. A space that is too large for the budget is searched by iterated racing
(López-Ibáñez et al. 2016, "The irace package"): half of each set of new configurations is what a linear surrogate of
the looks so far predicts to be fastest, the rest is random or near the best so far, in one technique or two at once. So
two techniques that pay only together can be found together; a search along one technique at a time would miss them.
Levels that compile when they start are tried last, with the best of the rest, if the budget allows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from random import Random

import numpy as np

from accelbench.advise.observations import Observation, Observations, TrialObservations
from accelbench.advise.space import Configuration, SearchSpace
from accelbench.errors import Unavailable
from accelbench.measuring.statistics import Judgement
from accelbench.units import error, percent, plural, ratio, size, speedup

MAX_CANDIDATES = 7  # candidates in one trial, all of which are in memory at once
MAX_REFERENCES = 3  # references in one trial: few, since each may take longer than those before
REFERENCE_SHARE = 0.3  # of the budget at most goes into references
QUICK_SHARE = 0.4  # of the budget at most goes into what starts quickly, if there are other levels
EXPLORATION_SHARE = 0.6  # of the budget at most goes into first looks
OVERRUN = 1.3  # times the budget, within which an elimination must end to be started
MAX_FINALISTS, MIN_FINALISTS = 12, 4  # at most, and even if they are far behind
FAR_BEHIND = 1.5  # times slower than the fastest at a first look, whose error is smaller unless it was disturbed
MIN_CONFIGURATIONS = 2  # configurations in a trial of first looks, however short the time is
PATIENCE = 4  # an arm whose step takes about this many times as long as the reference's is given up
FINAL_PATIENCE = 20  # the same for finalists, whose first look may have been disturbed
BASELINE_PATIENCE = 0.2  # of the budget, for a step of the baseline
FIRST_PATIENCE = 0.05  # of the budget, for a step about which nothing else is known
MAX_LOOK_S = 0.3
SLOW_START_S = 10.0  # assumed for an arm that compiles, until one was observed: a small network on two cores
LARGE_SPACE = 200  # configurations; in larger spaces looks get no shorter
SAMPLE_SIZE = 200  # random configurations from which the surrogate chooses
ELITES = 3  # of the best so far, whose neighbours are tried
SHRINKAGE = 0.1  # of the surrogate's ridge (Hoerl and Kennard 1970), for levels that were observed rarely
ALPHA = 0.01  # of a whole search
NOISE = 0.01
PERMANENT = ("failed", "unavailable")  # outcomes of a baseline that more time would not change

# Times configurations side by side, the first being what the others are paired with and checked against: for the first
# number of seconds each, giving up those whose single step takes longer than the second number of seconds. Returns
# several trials where a worker was lost and the configurations were tried again in smaller groups.
Evaluate = Callable[[Sequence[Configuration], float, float], Sequence[TrialObservations]]


class NoBaseline(Unavailable):
    """The baseline was not measured. ``is_permanent`` says whether more time would not help."""

    def __init__(self, baseline: Observation, what: str = "the baseline") -> None:
        self.reason = baseline.reason
        self.is_permanent = baseline.outcome in PERMANENT
        where = " in this budget" if baseline.outcome == "given-up" else ""
        super().__init__(f"{what} cannot be measured{where}: {baseline.reason}")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most memory and the largest relative error that are allowed; None allows any."""

    memory_bytes: float | None = None
    error: float | None = None

    def find_violation(self, memory_bytes: float | None, relative_error: float | None) -> str:
        """Return which limit a configuration breaks, "" if none.

        Memory that could not be measured breaks its limit; an error that was not measured is the reference's own.
        """
        if self.memory_bytes is not None:
            if memory_bytes is None:
                return "its memory could not be measured"
            if memory_bytes > self.memory_bytes:
                return f"takes {size(memory_bytes)}, {size(self.memory_bytes)} is allowed"
        if self.error is not None and (relative_error or 0.0) > self.error:
            return f"costs an error of {error(relative_error or 0.0)}, {percent(self.error)} is allowed"
        return ""


NO_LIMITS = Limits()


@dataclass(kw_only=True)
class Budget:
    """The time of one search, and what its next trials will cost, predicted from those before.

    ``longest`` is the trial that took longest: its seconds and its last configuration.
    """

    space: SearchSpace
    budget_s: float
    clock: Callable[[], float]
    _overhead_s: float = 0.0  # of an arm beside its timing, in the latest trial
    _slow_start_s: float = SLOW_START_S  # the same of an arm that is slow to start
    _start_s: float = field(init=False)
    longest: tuple[float, Configuration] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self, at_s: float | None = None) -> None:
        """Start the budget now, or at an earlier reading of the clock."""
        self._start_s = self.clock() if at_s is None else at_s
        self.longest = 0.0, self.space.baseline

    @property
    def spent_s(self) -> float:
        """Seconds of the budget that have passed."""
        return self.clock() - self._start_s

    @property
    def look_s(self) -> float:
        """Seconds of a first look: at most half of the exploration goes into timing."""
        return min(MAX_LOOK_S, EXPLORATION_SHARE * self.budget_s / (2 * min(self.space.size, LARGE_SPACE)))

    def count_affordable(self, share: float) -> int:
        """Return how many first looks at quick arms fit into this share of the budget."""
        return int((share * self.budget_s - self.spent_s) / max(1e-9, self._overhead_s + self.look_s))

    def predict_overhead_s(self, configurations: Sequence[Configuration]) -> float:
        """Return what arms will cost beside their timing."""
        slow = sum(map(self.space.is_slow_to_start, configurations))
        return slow * self._slow_start_s + (len(configurations) - slow) * self._overhead_s

    def fits(self, configurations: Sequence[Configuration], share: float) -> bool:
        """Return whether a look at these ends before this share of the budget is spent."""
        cost_s = self.predict_overhead_s(configurations) + len(configurations) * self.look_s
        return self.spent_s + cost_s <= share * self.budget_s

    def assume_overhead_s(self, most_s: float) -> None:
        """Predict at most this for an arm beside its timing, until the next trial shows it."""
        self._overhead_s = min(self._overhead_s, most_s)

    def record(self, configurations: Sequence[Configuration], look_s: float, duration_s: float) -> None:
        """Update the predictions by what a trial took."""
        self.longest = max(self.longest, (duration_s, configurations[-1]))
        overhead_s = max(0.0, duration_s - look_s * len(configurations))
        slow = sum(map(self.space.is_slow_to_start, configurations))
        if slow:
            quick_s = (len(configurations) - slow) * self._overhead_s
            self._slow_start_s = max(0.0, overhead_s - quick_s) / slow
        else:
            self._overhead_s = overhead_s / len(configurations)


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Proposes configurations to look at."""

    space: SearchSpace
    observations: Observations
    rng: Random

    @property
    def has_begun(self) -> bool:
        """Whether anything but the references has been looked at."""
        return not self.observations.first_looks.keys() <= set(self.space.references())

    def propose(self, affordable: int) -> list[Configuration]:
        """Return what to look at next, when ``affordable`` more looks fit into the budget: a third of them at a time.

        The first proposal is every technique alone. In later ones, the surrogate chooses half, a quarter is near the
        best so far, and a quarter is random.
        """
        unknown = self.space.size - len(self.observations.first_looks)
        if (
            not self.has_begun
            and unknown > MAX_CANDIDATES
            and (alone := self._neighbours(self._fastest_reference(), 1))
        ):
            return alone
        if unknown <= affordable or not self.has_begun:
            return self._filter(self.space.configurations())
        if affordable < 1:
            return []
        count = max(affordable // 3, min(MAX_CANDIDATES, affordable))
        chosen = self._most_promising(math.ceil(count / 2))
        near = [self._neighbours(elite) for elite in self.observations.rank()[:ELITES]]
        new = dict.fromkeys(each for row in zip(*near, strict=False) for each in row if each not in chosen)
        chosen += [*new][: (count - len(chosen) + 1) // 2]
        return [*chosen, *self._sample(count - len(chosen), [*self.observations.first_looks, *chosen])]

    def is_candidate(self, configuration: Configuration) -> bool:
        """Return whether a configuration is new, and no level of it always failed."""
        return bool(self._filter([configuration]))

    def _most_promising(self, count: int) -> list[Configuration]:
        """Return the configurations with the highest predictions, among neighbours of the best and a random sample."""
        nearby = chain(*(self.space.neighbours(elite) for elite in self.observations.rank()[:ELITES]))
        sample = self.space.sample(SAMPLE_SIZE, self.rng, self.observations.first_looks)
        candidates = self._filter(dict.fromkeys([*nearby, *sample]))
        if not candidates:
            return []
        order = np.argsort(-predict(self.space, self.observations, candidates), kind="stable")
        return [candidates[place] for place in order[:count]]

    def _fastest_reference(self) -> Configuration:
        """Return the fastest reference that is not eliminated, else the fastest that was measured."""
        looks, eliminated = self.observations.first_looks, self.observations.eliminated
        measured = [each for each in self.space.references() if each in looks and looks[each].is_measured]
        return max(measured, key=lambda each: (each not in eliminated, self.observations.estimate(each)))

    def _sample(self, count: int, exclude: list[Configuration]) -> list[Configuration]:
        """Return random configurations of the fastest references: trials of few would mostly time references."""
        sample = self._filter(self.space.sample(count * len(self.space.references()), self.rng, exclude))
        return sorted(sample, key=lambda each: -self.observations.estimate(self.space.reference(each)))[:count]

    def _neighbours(self, elite: Configuration, most: int = 2) -> list[Configuration]:
        near = self._filter(self.space.neighbours(elite, most))
        self.rng.shuffle(near)
        return near

    def _filter(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Return those that are candidates."""
        failing = self._failing_levels()
        return [each for each in configurations if self._is_new(each) and failing.isdisjoint(enumerate(each))]

    def _is_new(self, configuration: Configuration) -> bool:
        reference = self.observations.first_looks.get(self.space.reference(configuration))
        is_known = configuration in self.observations.first_looks
        return not is_known and reference is not None and reference.is_measured

    def _failing_levels(self) -> set[tuple[int, str]]:
        """Return axes with levels at which two or more configurations failed permanently, and none was measured."""
        looks = self.observations.first_looks.items()
        measured = {place for each, look in looks if look.is_measured for place in enumerate(each)}
        failures = (place for each, look in looks if look.is_permanent_failure for place in enumerate(each))
        return {place for place, times in Counter(failures).items() if times > 1 and place not in measured}


def predict(space: SearchSpace, observations: Observations, configurations: Sequence[Configuration]) -> np.ndarray:
    """Return the log speedup that the surrogate predicts for each configuration: a ridge regression on the levels."""
    measured = [each for each, look in observations.first_looks.items() if look.is_measured]
    speedups = np.array([observations.estimate(each) for each in measured])
    encoded = _encode(space, measured)
    intercept, centre = speedups.mean(), encoded.mean(axis=0)
    centred = encoded - centre
    ridge = SHRINKAGE * np.eye(centred.shape[1])
    factors = np.linalg.solve(centred.T @ centred + ridge, centred.T @ (speedups - intercept))
    return np.asarray(intercept + (_encode(space, configurations) - centre) @ factors)


def _encode(space: SearchSpace, configurations: Sequence[Configuration]) -> np.ndarray:
    """Return which level each configuration has, 0 or 1, shape ``(configurations, levels of all axes)``."""
    places = [(place, level) for place, axis in enumerate(space.axes) for level in axis.levels]
    return np.array([[each[place] == level for place, level in places] for each in configurations], dtype=float)


@dataclass(kw_only=True)
class Search:
    """One search.

    ``find_objection`` returns what else speaks against a finalist, "" for nothing. ``report`` shows progress.
    """

    space: SearchSpace
    evaluate: Evaluate
    budget_s: float
    clock: Callable[[], float]
    rng: Random
    limits: Limits = NO_LIMITS
    find_objection: Callable[[Configuration], str] | None = None
    report: Callable[[str], None] = lambda _: None
    interrupted: bool = field(default=False, init=False)  # by Ctrl-C

    def __post_init__(self) -> None:
        self.observations = Observations(baseline=self.space.baseline)
        self.budget = Budget(space=self.space, budget_s=self.budget_s, clock=self.clock)

    def run(self) -> Configuration:
        """Return the best configuration that keeps the limits, of those that were tried until the end or Ctrl-C.

        Raises:
            Unavailable: the baseline could not be measured, or no configuration keeps the limits.
            KeyboardInterrupt: it came before two configurations were tried, or before any objection was looked for.
        """
        try:
            self._search()
        except KeyboardInterrupt:
            is_unchecked = self.find_objection is not None and not self.observations.is_final
            if self.observations.first_looks.keys() <= {self.space.baseline} or is_unchecked:
                raise
            self.interrupted = True
        return self._choose_simplest()

    def judge_gain(self, configuration: Configuration) -> Judgement | None:
        """Return the judgement of a configuration over the baseline, None without a trial of both."""
        if configuration == self.space.baseline:
            return None
        return self.observations.judge(configuration, self.space.baseline, alpha=ALPHA, noise=NOISE)

    def _search(self) -> None:
        self._try_references()
        quick = self.space.without_slow()
        self._explore(quick, QUICK_SHARE if quick.size < self.space.size else EXPLORATION_SHARE)
        self._try_slow_levels()
        if finalists := self._choose_finalists():
            self.observations.begin_elimination(len(finalists))
            self._eliminate(finalists)

    def _try_references(self) -> None:
        """Look at everything that can be computed, without any technique that leaves the output alone.

        The baseline is first and alone: it bears the costs that occur once in a process, and on a machine whose
        ceilings were never measured. The budget starts after it.
        """
        baseline, *others = self.space.without_slow().references()
        self._look([baseline], BASELINE_PATIENCE * self.budget_s)
        look = self.observations.first_looks[baseline]
        if not look.is_measured:
            raise NoBaseline(look)
        patience_s = max(FIRST_PATIENCE * self.budget_s, PATIENCE * (look.step_s or 0.0))
        self.budget.start()
        for number, group in enumerate(_split(others, MAX_REFERENCES)):
            if number == 0 or self.budget.fits([baseline, *group], REFERENCE_SHARE):
                self._look([baseline, *group], patience_s)

    def _explore(self, space: SearchSpace, share: float) -> None:
        sampler = Sampler(space=space, observations=self.observations, rng=self.rng)
        while candidates := sampler.propose(self.budget.count_affordable(share) - 1):
            for reference, group in self._group_by_reference(candidates):
                most = self.budget.count_affordable(share) - 1
                if most < 1 and sampler.has_begun:
                    return
                self._first_look(reference, group[: max(most, MIN_CONFIGURATIONS)], space.size)

    def _try_slow_levels(self) -> None:
        """Try the best so far with each level that is slow to start, while there is time before the elimination."""
        sampler = Sampler(space=self.space, observations=self.observations, rng=self.rng)
        for elite in self.observations.rank()[:MAX_FINALISTS]:
            for candidate in self.space.with_each_slow_level(elite):
                reference = self.space.reference(candidate)
                if sampler.is_candidate(candidate) and self.budget.fits([reference, candidate], EXPLORATION_SHARE):
                    self._first_look(reference, [candidate], self.space.size)

    def _first_look(self, reference: Configuration, candidates: list[Configuration], configurations: int) -> None:
        self.report(f"a first look at {plural(len(candidates), 'configuration')} of {configurations}")
        step_s = self.observations.first_looks[reference].step_s or 0.0
        self._look([reference, *candidates], max(self.budget.look_s, PATIENCE * step_s))

    def _group_by_reference(
        self, candidates: list[Configuration]
    ) -> Iterator[tuple[Configuration, list[Configuration]]]:
        """Yield groups of candidates that compute the same, the fastest reference first."""

        def order(configuration: Configuration) -> tuple[float, Configuration]:
            reference = self._reference(configuration)
            return -self.observations.estimate(reference), reference

        for (_, reference), group in groupby(sorted(candidates, key=order), key=order):
            for part in _split(list(group), MAX_CANDIDATES):
                yield reference, part

    def _reference(self, configuration: Configuration) -> Configuration:
        """Return what a configuration is timed beside at its first look."""
        return self.space.reference(configuration)

    def _look(
        self,
        configurations: list[Configuration],
        patience_s: float,
        look_s: float = 0.0,
        evaluate: Evaluate | None = None,
    ) -> None:
        start_s, look_s = self.clock(), look_s or self.budget.look_s
        trials = (evaluate or self.evaluate)(configurations, look_s, patience_s)
        self.budget.record(configurations, look_s, self.clock() - start_s)
        for trial in trials:
            self.observations.add(trial)
        for each, look in chain(*(trial.items() for trial in trials)):
            if reason := self.limits.find_violation(look.memory_bytes, self.observations.first_looks[each].error):
                self.observations.eliminate([each], reason)

    def _choose_finalists(self) -> list[Configuration]:
        """Return the best half, twelve at most, without those that are objected to.

        Few of the finalists are far behind the fastest, so that most of the time goes into those that may be the best.
        The baseline is a finalist too, since every trial times it anyway.
        """
        ranking = self.observations.rank()
        wanted = self._finalists_wanted(ranking)
        finalists: list[Configuration] = []
        for each in ranking:
            if len(finalists) >= wanted and each != self.space.baseline:
                self.observations.eliminate([each], "behind at the first look")
            elif self.find_objection and (reason := self.find_objection(each)):
                self.observations.eliminate([each], reason)
            else:
                finalists.append(each)
        return finalists

    def _finalists_wanted(self, ranking: Sequence[Configuration]) -> int:
        near = [each for each in ranking if self._slowdown(each, ranking[0]) < FAR_BEHIND]
        return min(MAX_FINALISTS, math.ceil(len(ranking) / 2), max(MIN_FINALISTS, len(near)))

    def _eliminate(self, finalists: list[Configuration]) -> None:
        """Time the finalists again and again, and drop those that are shown to be slower and the slower half."""
        if finalists == [self.space.baseline]:
            return
        rounds = math.ceil(math.log2(len(finalists))) + 1
        for left in range(rounds, 0, -1):
            count = self._count_fitting(finalists)
            groups = self._group_finalists(finalists[:count])
            arms = [*chain(*groups)]
            if not self.budget.fits(arms, 1.0 if left < rounds else OVERRUN):
                break
            self._eliminate_others(finalists[count:], "behind so far, and no time to race it on")
            finalists = finalists[:count]
            left_s = (self.budget_s - self.budget.spent_s) / left - self.budget.predict_overhead_s(arms)
            self.report(f"{plural(len(finalists), 'configuration')} in the race")
            for group in groups:
                self._look_again(group, max(self.budget.look_s, left_s / len(arms)))
            finalists = self._select_survivors(finalists, is_last=left == 1)
            if len(finalists) < 2:
                break

    def _group_finalists(self, finalists: list[Configuration]) -> list[list[Configuration]]:
        """Return which are timed together: all of them beside the baseline and the leader."""
        baseline, (leader, *others) = self.space.baseline, finalists
        groups = _split(others, MAX_CANDIDATES) or [[]]
        return [list(dict.fromkeys([baseline, leader, *group])) for group in groups]

    def _count_fitting(self, finalists: list[Configuration]) -> int:
        """Return for how many finalists a round fits into the budget: at least two, or one if there are no more."""
        count = len(finalists)
        while count > 2 and not self.budget.fits([*chain(*self._group_finalists(finalists[:count]))], 1.0):
            count -= 1
        return count

    def _eliminate_others(self, configurations: Sequence[Configuration], reason: str) -> None:
        """Drop all but the baseline, which every trial times anyway."""
        self.observations.eliminate([each for each in configurations if each != self.space.baseline], reason)

    def _look_again(self, group: list[Configuration], look_s: float) -> None:
        """Time finalists beside the baseline; the smallest tolerance comes first, since outputs are checked in turn."""
        baseline, *others = group
        steps_s = [self.observations.first_looks[each].step_s or 0.0 for each in others]
        patience_s = max([look_s, *(FINAL_PATIENCE * step_s for step_s in steps_s)])
        self._look([baseline, *sorted(others, key=self.space.tolerance)], patience_s, look_s)

    def _select_survivors(self, finalists: list[Configuration], *, is_last: bool) -> list[Configuration]:
        """Return those that are not shown to be slower, and not in the slower half; the fastest first."""
        ranking = [each for each in self.observations.rank() if each in finalists]
        if not ranking:
            return []
        leader, *others = ranking
        for each in others:
            judgement = self.observations.judge(each, leader, alpha=ALPHA, noise=NOISE)
            if judgement is not None and judgement.verdict == "slower":
                compared = ratio(judgement.speedup, judgement.low, judgement.high)
                self.observations.eliminate([each], f"slower than {self.space.label(leader)}: {compared}")
        left = [each for each in ranking if each not in self.observations.eliminated]
        count = len(left) if is_last else max(2, math.ceil(len(finalists) / 2))
        for each in left[count:]:
            of_best = speedup(1 / self._slowdown(each, leader))
            self._eliminate_others([each], f"in the slower half of the race, about {of_best} of the best")
        return [each for each in left if each not in self.observations.eliminated]

    def _slowdown(self, configuration: Configuration, leader: Configuration) -> float:
        """Return how many times slower a configuration is than another one, by the estimates."""
        return math.exp(self.observations.estimate(leader) - self.observations.estimate(configuration))

    def _choose_simplest(self) -> Configuration:
        """Return the fastest that is left, or one with less switched whose estimate is the same within the noise."""
        ranking = self.observations.rank()
        if not ranking:
            *others, reason = self.observations.eliminated.values()
            raise Unavailable(f"no configuration is left: {reason} ({plural(len(others), 'other')} tried)")
        least = self.observations.estimate(ranking[0]) - math.log1p(NOISE)
        equals = [each for each in ranking if self.observations.estimate(each) >= least]
        return min(equals, key=lambda each: len(self.space.changes(each)))


def _split(configurations: list[Configuration], most: int) -> list[list[Configuration]]:
    """Return as few groups of at most ``most`` configurations as possible, each a mix of them."""
    groups = math.ceil(len(configurations) / most)
    return [configurations[group::groups] for group in range(groups)]
