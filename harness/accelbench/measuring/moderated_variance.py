"""The interval of an effect that was measured in several visits, by moderated variances.

What counts is the variance of a run's mean over visits. Two sources estimate it: the spread between the visits, and the
spread between this mean and those of earlier runs under the same conditions, which also carries what changes from run
to run. Two to four visits and a few runs say little about one effect. So every effect's variance is moderated by the
variances of all effects of the run (Smyth 2004, "Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments"; the method of limma). An effect whose pairs scatter within a visit also scatters
more between visits, so the moderating variance follows the one within visits (as limma's trend does: Law et al. 2014,
"voom: precision weights unlock linear model analysis tools for RNA-seq read counts").

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
from accelbench.schema.verdict import NEGLIGIBLE

MEDIAN_COST = math.pi / 2  # the variance of a median over that of a mean, of normal values
# The mean distance between the quartiles of n normal values of deviation 1 is 1.349 (1 - 1/n)^1.3, within 6 %.
QUARTILES_APART, FEW_VALUES = 1.349, 1.3
APART = 0.01  # how seldom a run that shows the same as earlier ones is taken to lie apart from them
ENOUGH_RUNS = 2  # that have joined, to show by themselves how much runs differ
FEW_SIDES = 4  # values, of which all must lie on one side of 1 for an interval that does
FEWEST_OF_TREND = 10  # effects, below which their variances within visits are not looked at
_SERIES_FROM = 10.0  # where the asymptotic series of the digamma and trigamma functions are exact to 1e-10
_MOST_FREEDOM = 1000  # where Student's t is the normal distribution within 0.2 %


@dataclass(frozen=True, kw_only=True)
class Variance:
    """An estimated variance with its degrees of freedom; without any, nothing is known."""

    value: float = 0.0
    freedom: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Prior(Variance):
    """What the effects of a run say about the variance of one mean; ``visits`` is their mean number of visits.

    The value is that of an effect whose mean has the variance ``within`` from its pairs alone. For other effects it
    grows with that variance, to the power of ``growth``. ``most_freedom`` is that of all effects' variances together.
    """

    most_freedom: float = math.inf
    visits: float = 1.0
    within: float = 0.0
    growth: float = 0.0

    def of_mean(self, visits: int, within: float = 0.0) -> Variance:
        """Return the variance of a mean over visits, which is larger where there are fewer than usual.

        ``within`` is what the mean's pairs alone explain, 0 where it is not known.
        """
        trend = (within / self.within) ** self.growth if within and self.within else 1.0
        return Variance(value=self.value * trend * max(1.0, self.visits / visits), freedom=self.freedom)

    def moderate(self, *known: Variance, visits: int, within: float) -> Variance:
        """Return the moderated variance of a mean over visits, of which these estimates are known.

        A few effects that happen to agree say no more than all of them together (as in limma's eBayes).
        """
        variance = pool(*known, self.of_mean(visits, within))
        return replace(variance, freedom=min(variance.freedom, self.most_freedom))


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


def fit_prior(variances: Sequence[Variance], *, within: Sequence[float] = (), visits: float = 1.0) -> Prior:
    """Return the prior that moderates each of these variances: their common value, and what it is worth.

    They belong to means over this many ``visits``, on average, which have the variances ``within`` from their pairs
    alone. The variances are taken as draws from a scaled inverse chi-square distribution around a power of those, which
    is fitted by the moments of their logarithms (Smyth 2004, section 6.2). Where they differ by no more than chance,
    the prior has 2000 degrees of freedom.
    """
    known = [
        (each, inside)
        for each, inside in zip(variances, within or [0.0] * len(variances), strict=True)
        if each.freedom > 0 and each.value > 0
    ]
    if len(known) < 2:
        return Prior()
    halves = [each.freedom / 2 for each, _ in known]
    logs = np.array(
        [math.log(each.value) - digamma(half) + math.log(half) for (each, _), half in zip(known, halves, strict=True)]
    )
    typical, growth, trend = _fit_trend(logs, np.array([inside for _, inside in known]))
    left = logs - trend
    spread = float(np.sum((left - left.mean()) ** 2)) / (len(logs) - (2 if growth else 1))
    half = inverse_trigamma(spread - float(np.mean([trigamma(half) for half in halves])))
    value = math.exp(float(left.mean()) + digamma(half) - math.log(half))
    most_freedom = sum(each.freedom for each, _ in known)
    return Prior(value=value, freedom=2 * half, most_freedom=most_freedom, visits=visits, within=typical, growth=growth)


def _fit_trend(logs: np.ndarray, within: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the typical variance within visits, the power by which others grow with it, and what it explains of them.

    An effect whose variance within visits is not known is taken to have the typical one. The power is between 0 and 1:
    what scatters between visits can be unrelated to what scatters within them, or proportional to it.
    """
    seen = within > 0
    nothing = 0.0, 0.0, np.zeros_like(logs)
    if np.count_nonzero(seen) < FEWEST_OF_TREND:
        return nothing
    typical = float(np.exp(np.mean(np.log(within[seen]))))
    relative = np.log(np.where(seen, within, typical) / typical)
    if not relative.any():
        return nothing
    growth = float(np.clip(relative @ (logs - logs.mean()) / (relative @ relative), 0.0, 1.0))
    return typical, growth, growth * relative


def pool(*variances: Variance) -> Variance:
    """Return the mean of estimates of one variance, each weighted by its degrees of freedom."""
    freedom = sum(each.freedom for each in variances)
    if freedom == 0:
        return Variance()
    return Variance(value=sum(each.freedom * each.value for each in variances) / freedom, freedom=freedom)


def join_runs(visits: Sequence[VisitPairs], earlier: Sequence[float], prior: Prior) -> Sequence[float]:
    """Return the log speedups of the earlier runs that a run joins: none where it lies apart from them.

    Whether it does is judged by what the run's visits, the earlier runs among themselves and other effects show, so
    that a change does not hide itself by its own variance.
    """
    if not earlier:
        return ()
    medians = [visit.median for visit in visits]
    known = _variance_between(medians, each_of=len(medians)), _variance_between(earlier)
    variance = prior.moderate(*known, visits=len(medians), within=variance_within(visits))
    of_distance = replace(variance, value=variance.value * (1 + 1 / len(earlier)))
    is_apart = abs(statistics.fmean(medians) - statistics.fmean(earlier)) > _spread(of_distance).reach(1, APART)
    return () if is_apart else earlier


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


def digamma(x: float) -> float:
    """Return the derivative of ``math.lgamma`` (Abramowitz and Stegun 1964, 6.3.5 and 6.3.18)."""
    below = 0.0
    while x < _SERIES_FROM:
        below -= 1 / x
        x += 1
    return below + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def trigamma(x: float) -> float:
    """Return the second derivative of ``math.lgamma`` (Abramowitz and Stegun 1964, 6.4.6 and 6.4.12)."""
    below = 0.0
    while x < _SERIES_FROM:
        below += 1 / x**2
        x += 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)


def inverse_trigamma(value: float) -> float:
    """Return where the trigamma function has this value, at most 1000; it falls from infinity to 0."""
    low, high = 1e-3, float(_MOST_FREEDOM)
    if value <= trigamma(high):
        return high
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return high
