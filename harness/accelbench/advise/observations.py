"""What the trials of a search showed of every configuration, and how two configurations compare."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accelbench.advise.space import Configuration
from accelbench.measuring.statistics import Judgement, Spread, judge_groups
from accelbench.measuring.visit_statistics import VisitPairs, judge_visits, prior_of_effects
from accelbench.moderated_variance import Prior
from accelbench.schema.result import OUT_OF_REACH, WORKER_LOST, Outcome

ENOUGH_BUILDS = 3  # of a candidate, which tell how much its own builds differ
MIN_FREEDOM = 3  # of a spread estimated from the elimination alone; first looks are short, so their spread is wider
PERMANENT_FAILURES = (*OUT_OF_REACH, *WORKER_LOST)  # another attempt would end the same way


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one trial showed of a configuration.

    ``log_ratios`` are its log speedups per item over the first configuration of the trial, one for each round; the
    first itself has none. ``reason`` says why it was not measured, "" where it was. ``step_s`` are the seconds of a
    step of ``items``, ``cold_s`` those of the first call.
    """

    outcome: Outcome = "measured"
    reason: str = ""
    log_ratios: tuple[float, ...] = ()
    items: float | None = None
    step_s: float | None = None
    cold_s: float | None = None
    memory_bytes: float | None = None
    error: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the configuration ran and was timed."""
        return self.outcome == "measured"

    @property
    def is_permanent_failure(self) -> bool:
        """Whether another attempt would fail, too."""
        return self.outcome in PERMANENT_FAILURES


TrialObservations = Mapping[Configuration, Observation]  # the first is what the others were paired with
LogRatios = Mapping[Configuration, np.ndarray]  # of one trial: log speedups over its first configuration, by round


@dataclass(kw_only=True)
class Observations:
    """All observations of a search.

    ``first_looks`` has the first observation of each configuration. ``eliminated`` maps the configurations that are
    out to the reason; of these, ``failed`` were not measured. ``trials`` are the log ratios of all trials,
    ``final_trials`` of those since the elimination began. ``steps_s`` has the latest time of a step of each.
    """

    baseline: Configuration
    first_looks: dict[Configuration, Observation] = field(default_factory=dict)
    eliminated: dict[Configuration, str] = field(default_factory=dict)
    failed: set[Configuration] = field(default_factory=set)
    trials: list[LogRatios] = field(default_factory=list)
    final_trials: list[LogRatios] = field(default_factory=list)
    steps_s: dict[Configuration, float] = field(default_factory=dict)
    _finalists: int = 0  # until the elimination begins
    _estimates: dict[Configuration, float] = field(default_factory=dict)  # until the next trial

    def add(self, trial: TrialObservations) -> None:
        """Add what a trial showed."""
        rounds = max((len(each.log_ratios) for each in trial.values()), default=0)
        reference = next(iter(trial))
        ratios = {each: np.asarray(look.log_ratios) for each, look in trial.items() if look.log_ratios}
        self.trials.append({reference: np.zeros(rounds)} | ratios)
        if self.is_final:
            self.final_trials.append(self.trials[-1])
        self._estimates.clear()
        for configuration, observation in trial.items():
            if observation.step_s is not None:
                self.steps_s[configuration] = observation.step_s
            first = self.first_looks.setdefault(configuration, observation)
            if first.memory_bytes is None and observation.memory_bytes is not None:
                self.first_looks[configuration] = replace(first, memory_bytes=observation.memory_bytes)
            # A reference that was measured before failed because of another configuration in the same worker.
            if not observation.is_measured and (configuration != reference or first is observation):
                self.eliminated.setdefault(configuration, observation.reason)
                self.failed.add(configuration)

    @property
    def is_final(self) -> bool:
        """Whether the elimination has begun."""
        return self._finalists > 0

    def is_raced(self, configuration: Configuration) -> bool:
        """Whether a trial of the elimination timed this configuration."""
        return any(configuration in trial for trial in self.final_trials)

    def begin_elimination(self, finalists: int) -> None:
        """Base estimates and judgements on trials from now on, which did not decide who became a finalist."""
        self._finalists = finalists
        self._estimates.clear()

    def judge(self, candidate: Configuration, other: Configuration, *, alpha: float, noise: float) -> Judgement | None:
        """Return the judgement of a candidate against another, or None where no trial had both.

        Every trial builds its configurations afresh, and builds differ: each trial is a group of its own, and the
        spread between groups is estimated from all configurations. Before the elimination, first looks are used.

        Args:
            candidate: a configuration.
            other: what it is compared with.
            alpha: error rate of all judgements together. The leader is selected by its times, so any two
                configurations may come to be compared (Bonferroni).
            noise: ratios within this fraction of 1 count as the same.
        """
        is_final = bool(self.final_trials)
        trials = self.final_trials if is_final else self.trials
        rivals = self._finalists if is_final else len(self.first_looks)
        shared, each = _log_ratios_of(trials, candidate, other), alpha / max(1, math.comb(rivals, 2))
        return judge_groups(shared, alpha=each, noise=noise, spread=self._spread()) if shared else None

    def judge_over_baseline(
        self, candidate: Configuration, *, alpha: float, noise: float, every_trial: bool = False
    ) -> Judgement | None:
        """Return the judgement of one candidate against the baseline, or None where no trial had both.

        The trials of the elimination decide, where there are any, since earlier ones chose the finalists. What is
        judged whether or not it was chosen rests on ``every_trial``.

        A candidate of at least three builds is judged as an effect of several visits is: by their medians, with its own
        variance moderated by that of all candidates, so that one slow build widens the interval of no other. So is one
        of fewer builds, if the variances of all candidates are alike. Else the spread between its builds is that of all
        trials, or of those before the elimination for a candidate that was not in it; where too few of them tell it,
        the judgement holds for the builds that were timed.
        """
        is_raced = self.is_raced(candidate)
        rests_on_race = is_raced and not every_trial
        shared = _log_ratios_of(self.final_trials if rests_on_race else self.trials, candidate, self.baseline)
        if not any(map(len, shared)):
            return None
        builds, prior = _builds(shared), self._prior()
        if len(builds) >= ENOUGH_BUILDS or prior.freedom >= MIN_FREEDOM:
            return judge_visits(builds, prior=prior, alpha=alpha, noise=noise)
        before_race = self.trials[: len(self.trials) - len(self.final_trials)]
        spread = self._spread() if rests_on_race else spread_between(self.trials if is_raced else before_race)
        if spread.freedom < MIN_FREEDOM:
            return judge_groups([np.concatenate(shared)], alpha=alpha, noise=noise)
        return judge_groups(shared, alpha=alpha, noise=noise, spread=spread)

    def estimate(self, configuration: Configuration) -> float:
        """Return the estimated log speedup over the baseline, through a third configuration if no trial had both."""
        if configuration not in self._estimates:
            self._estimates[configuration] = self._estimate(configuration)
        return self._estimates[configuration]

    def _estimate(self, configuration: Configuration) -> float:
        if configuration == self.baseline:
            return 0.0
        direct = _log_ratios_of(self.final_trials, configuration, self.baseline)
        direct = direct or _log_ratios_of(self.trials, configuration, self.baseline)
        if direct:
            return _mean_of_medians(direct)
        reference = next(next(iter(trial)) for trial in self.trials if configuration in trial)
        return _mean_of_medians(_log_ratios_of(self.trials, configuration, reference)) + self.estimate(reference)

    def _spread(self) -> Spread:
        """Return the spread of the difference of two configurations' medians from trial to trial."""
        final = spread_between(self.final_trials)
        return final if final.freedom >= MIN_FREEDOM else spread_between(self.trials)

    def _prior(self) -> Prior:
        """Return what all candidates say about the variance of a speedup over the baseline, as if that were certain.

        Builds have so few pairs here that these explain most of the variance, and how much is known. In simulated
        searches an interval then misses the truth as seldom as it claims.
        """
        candidates = dict.fromkeys(each for trial in self.trials for each in trial if each != self.baseline)
        builds = [_builds(_log_ratios_of(self.trials, each, self.baseline)) for each in candidates]
        return replace(prior_of_effects([(each, ()) for each in builds if each]), most_freedom=math.inf)

    def rank(self) -> list[Configuration]:
        """Return the configurations that are not eliminated, the fastest first."""
        left = [each for each in self.first_looks if each not in self.eliminated]
        return sorted(left, key=self.estimate, reverse=True)

    def eliminate(self, configurations: Iterable[Configuration], reason: str) -> None:
        """Take configurations out of the search, for one reason; an earlier reason stays."""
        for each in configurations:
            self.eliminated.setdefault(each, reason)

    def reinstate(self, configurations: Iterable[Configuration]) -> None:
        """Take configurations back into the search that were only slower than others."""
        for each in configurations:
            if each not in self.failed:
                self.eliminated.pop(each, None)


def _log_ratios_of(trials: Iterable[LogRatios], candidate: Configuration, other: Configuration) -> list[np.ndarray]:
    """Return the candidate's log speedups over another, for each trial in which both were timed.

    A coin decides the order in each round, so the sign of the difference of any two equal configurations is a fair
    coin's, which is all that the referee's judgement of a trial assumes.
    """
    both = ((trial[candidate], trial[other]) for trial in trials if candidate in trial and other in trial)
    return [first[: len(second)] - second[: len(first)] for first, second in both]


def _builds(groups: Iterable[np.ndarray]) -> list[VisitPairs]:
    return [VisitPairs(builds=(tuple(group.tolist()),)) for group in groups if len(group)]


def _mean_of_medians(groups: Sequence[np.ndarray]) -> float:
    return statistics.fmean(statistics.median(group.tolist()) for group in groups)


def spread_between(trials: Sequence[LogRatios]) -> Spread:
    """Return the spread of the difference of two configurations' medians from trial to trial.

    A two-way layout: the residuals of the medians beside an effect of each trial and one of each configuration.
    """
    medians = [
        (trial, each, statistics.median(ratios.tolist()))
        for trial, log_ratios in enumerate(trials)
        for each, ratios in log_ratios.items()
        if len(ratios)
    ]
    configurations = dict.fromkeys(each for _, each, _ in medians)
    column = {each: len(trials) + number for number, each in enumerate(configurations)}
    design = np.zeros((len(medians), len(trials) + len(column)))
    for row, (trial, each, _) in enumerate(medians):
        design[row, [trial, column[each]]] = 1
    values = np.array([median for *_, median in medians])
    effects, _, rank, _ = np.linalg.lstsq(design, values)
    residuals, freedom = values - design @ effects, len(medians) - int(rank)
    return Spread(deviation=math.sqrt(2 * float(residuals @ residuals) / max(freedom, 1)), freedom=freedom)
