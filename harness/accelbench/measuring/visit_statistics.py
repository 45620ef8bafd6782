"""The interval of an effect that was measured in several visits, by moderated variances.

What counts is the variance of a run's mean over visits. Two sources estimate it: the spread between the visits, and the
spread between this mean and those of earlier runs under the same conditions, which also carries what changes from run
to run. Two to four visits and a few runs say little about one effect. So every effect's variance is moderated by the
variances of all effects of the run. An effect whose pairs scatter within a visit also scatters more between visits, so
the moderating variance follows the one within visits.

Where earlier runs measured the same code and show the same effect, they join the run: the mean of all runs is the
effect, and its variance is the smaller, the more runs there are (the mean of a random-effects model, in which every run
weighs the same: Hartung and Knapp 2001, "A refined method for the meta-analysis of controlled clinical trials").
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from accelbench.measuring.statistics import Judgement, Spread, judgement_of
from accelbench.moderated_variance import Prior, Variance, fit_prior
from accelbench.schema.verdict import NEGLIGIBLE

MEDIAN_COST = math.pi / 2  # the variance of a median over that of a mean, of normal values
# The mean distance between the quartiles of n normal values of deviation 1 is 1.349 (1 - 1/n)^1.3, within 6 %.
QUARTILES_APART, FEW_VALUES = 1.349, 1.3
APART = 0.01  # how seldom a run that shows the same as earlier ones is taken to lie apart from them
ENOUGH_RUNS = 2  # that have joined, to show by themselves how much runs differ
FEW_SIDES = 4  # values, of which all must lie on one side of 1 for an interval that does
_MOST_FREEDOM = 1000  # where Student's t is the normal distribution within 0.2 %


@dataclass(frozen=True, kw_only=True)
class VisitPairs:
    """The paired log speedups of one contrast in one visit, by the builds of its arms."""

    builds: tuple[tuple[float, ...], ...]

    @cached_property
    def log_ratios(self) -> tuple[float, ...]:
        """The log speedups of all builds."""
        return tuple(chain(*self.builds))

    @cached_property
    def median(self) -> float:
        """The log speedup of the visit."""
        return statistics.median(self.log_ratios)

    @cached_property
    def variance_of_median(self) -> float:
        """The variance that the median has from its own pairs alone, by their quartiles; 0 for a single pair."""
        count = len(self.log_ratios)
        if count == 1:
            return 0.0
        low, _, high = statistics.quantiles(self.log_ratios, method="inclusive")
        deviation = (high - low) / (QUARTILES_APART * (1 - 1 / count) ** FEW_VALUES)
        return float(MEDIAN_COST * deviation**2 / count)


def variance_within(visits: Sequence[VisitPairs]) -> float:
    """Return the variance that the mean over visits has from their pairs alone."""
    return statistics.fmean(visit.variance_of_median for visit in visits) / len(visits)


def variance_of_mean(medians: Sequence[float], earlier: Sequence[float] = ()) -> Variance:
    """Return the variance of the mean over a run's visits; ``earlier`` are the means of earlier runs.

    With earlier runs it is that between runs, since visits of one run do not show what changes from run to run.
    """
    if earlier:
        return _variance_between([statistics.fmean(medians), *earlier])
    return _variance_between(medians, each_of=len(medians))


def _variance_between(values: Sequence[float], *, each_of: int = 1) -> Variance:
    if len(values) < 2:
        return Variance()
    return Variance(value=float(np.var(values, ddof=1)) / each_of, freedom=len(values) - 1)


def prior_of_effects(effects: Sequence[tuple[Sequence[VisitPairs], Sequence[float]]]) -> Prior:
    """Return the prior that effects give, each by its visits and the log speedups of earlier runs."""
    return fit_prior(
        [variance_of_mean([visit.median for visit in visits], earlier) for visits, earlier in effects],
        within=[variance_within(visits) for visits, _ in effects],
        visits=statistics.fmean(len(visits) for visits, _ in effects) if effects else 1.0,
    )


def lies_apart(visits: Sequence[VisitPairs], earlier: Sequence[float], prior: Prior) -> bool:
    """Return whether a run is unlike the earlier ones, of which there is at least one.

    This is judged by what the run's visits, the earlier runs among themselves and other effects show, so that a change
    does not hide itself by its own variance.
    """
    medians = [visit.median for visit in visits]
    known = _variance_between(medians, each_of=len(medians)), _variance_between(earlier)
    variance = prior.moderate(*known, visits=len(medians), within=variance_within(visits))
    of_distance = replace(variance, value=variance.value * (1 + 1 / len(earlier)))
    return abs(statistics.fmean(medians) - statistics.fmean(earlier)) > _spread(of_distance).reach(1, APART)


def join_runs(visits: Sequence[VisitPairs], earlier: Sequence[float], prior: Prior) -> Sequence[float]:
    """Return the log speedups of the earlier runs that a run joins: none where it lies apart from them."""
    return () if not earlier or lies_apart(visits, earlier, prior) else earlier


def judge_visits(
    visits: Sequence[VisitPairs],
    *,
    prior: Prior,
    alpha: float,
    noise: float,
    earlier: Sequence[float] = (),
    joined: Sequence[float] = (),
) -> Judgement:
    """Judge an effect by the medians of its visits, by Student's t with the moderated variance.

    ``earlier`` are the log speedups of earlier runs, ``joined`` those whose mean with this run's is the effect. The
    interval is at least as wide as what the pairs within visits explain, of which there are many more than visits;
    from three runs on, what differs between them contains that. Where few visits, or runs, lie on both sides of 1, the
    interval contains 1.
    """
    medians = [visit.median for visit in visits]
    runs = [statistics.fmean(medians), *joined]
    centre, within = statistics.fmean(runs), variance_within(visits)
    variance = prior.moderate(variance_of_mean(medians, earlier), visits=len(medians), within=within)
    reach = _spread(variance).reach(1, alpha)
    if within and len(joined) < ENOUGH_RUNS:
        pairs_beyond_first = sum(len(visit.log_ratios) - 1 for visit in visits)
        reach = max(reach, _spread(Variance(value=within, freedom=pairs_beyond_first)).reach(1, alpha))
    reach /= math.sqrt(len(runs))
    low, high = centre - reach, centre + reach
    sides = runs if joined else medians
    if len(sides) <= FEW_SIDES and min(sides) <= 0 <= max(sides):
        low, high = min(low, 0.0), max(high, 0.0)
    return judgement_of(
        centre, low, high, noise=noise, pairs=sum(len(visit.log_ratios) for visit in visits), same=NEGLIGIBLE
    )


def _spread(variance: Variance) -> Spread:
    return Spread(deviation=math.sqrt(variance.value), freedom=min(int(variance.freedom), _MOST_FREEDOM))
