"""Where one series changes its level: candidates from an optimal segmentation, each one put to a rank test.

Candidates are the segments of least squares of the values' normal scores (ruptures: Truong, Oudre and Vayatis 2020,
Signal Processing 167; pruned exact search: Killick, Fearnhead and Eckley 2012, JASA 107). Scores instead of values keep
one outlier from being a segment. The penalty is low enough to propose too many, since the test decides:

A boundary is kept where the Wilcoxon test between its two segments stays significant once it is corrected twice: its
normal deviate is divided by what the neighbours' autocorrelation does to it, and its p-value multiplied by the number
of places where the boundary might have been. The more runs resemble each other, the less differ the tests at places
near each other, and the fewer places count: fewer by as much as a mean's standard error grows, with which first-order
autoregressions in simulations kept the level. The least significant boundary is taken out first, until all that are
left hold; of these, those that a level which wanders explains as well. Nothing here is drawn by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import ruptures
from numpy.typing import NDArray
from scipy import stats

from harness.reading.history.autocorrelation import autocorrelation, inflation, residuals
from harness.reading.history.changes.wandering import wanders

SHORTEST = 5  # runs in a segment
_PENALTY = 2.0  # times log n: the least that a boundary must gain to be proposed, in variances of the scores
_FAR = 4.0  # spreads from both levels, beyond which a value counts as that far off when a boundary is dated
_OF_NEIGHBOURS = 0.954  # median distance of two independent normal values, in standard deviations
_EXACT = 8  # values in the smaller segment up to which the test's distribution is enumerated
_APART = 0.95  # share of pairs across a boundary that are ordered alike, from which on ranks cannot tell how far apart
_FREEDOM = 3.0  # degrees of freedom, after autocorrelation, from which on the medians' distance is looked at


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """The place of the first value after a change, with the test's corrected p-value and the variance's inflation."""

    at: int
    p_value: float
    inflation: float


def boundaries(values: NDArray[np.float64], alpha: float, alike: float = 0.0) -> list[Boundary]:
    """Return where the level changes, in order; in a stationary series a false one is found with probability alpha.

    ``alike`` is the least autocorrelation that is reckoned with, where more is known than one series tells.
    """
    found = _dated(values, _candidates(values))
    while found:
        tested = _tested(values, found, alike)
        doubtful = [boundary for boundary in tested if boundary.p_value > alpha] or _wandering(values, tested)
        if not doubtful:
            return tested
        worst = max(doubtful, key=lambda boundary: boundary.p_value)
        found = _dated(values, [place for place in found if place != worst.at])
    return []


def _candidates(values: NDArray[np.float64]) -> list[int]:
    """Return where the level may change, in order: of the whole series, and within each segment of it by itself.

    Beside a large step the scores of a smaller one lie too close together to be proposed at once.
    """
    number = len(values)
    if number < 2 * SHORTEST:
        return []
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(_scores(values)[:, None])
    bounds = [0, *map(int, search.predict(pen=_PENALTY * math.log(number)))]
    if len(bounds) == 2:
        return []
    inside = [start + place for start, end in pairwise(bounds) for place in _candidates(values[start:end])]
    return sorted([*bounds[1:-1], *inside])


def _scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = stats.norm.ppf(stats.rankdata(values) / (len(values) + 1))
    return np.asarray(scores / (scores.std() or 1.0))


def _dated(values: NDArray[np.float64], found: list[int]) -> list[int]:
    """Return each boundary where it parts the values between its neighbours best."""
    bounds = [0, *found, len(values)]
    for place in range(1, len(bounds) - 1):
        start, end = bounds[place - 1], bounds[place + 1]
        bounds[place] = start + best_split(values[start:end])
    return bounds[1:-1]


def best_split(values: NDArray[np.float64]) -> int:
    """Return where two levels part the values best, by least squares of the values with what lies far off drawn in.

    What is far off lies far from both levels, which either the ranks or the values themselves tell about: the ranks
    where a few values are outliers, the values where a large step was made a few runs ago. Of both the place counts
    that leaves the least absolute residuals.
    """
    places = [_least_squares(stats.rankdata(values)), _least_squares(values)]
    places = [_least_squares(_drawn_in(values, place)) for place in places]
    return min(places, key=lambda place: float(np.abs(residuals(values, [0, place, len(values)])).sum()))


def _drawn_in(values: NDArray[np.float64], about: int) -> NDArray[np.float64]:
    """Return the values, none far from both levels before and after a place."""
    levels = np.median(values[:about]), np.median(values[about:])
    reach = _FAR * np.median(np.abs(np.diff(values))) / _OF_NEIGHBOURS or np.inf
    return np.asarray(np.clip(values, min(levels) - reach, max(levels) + reach))


def _least_squares(values: NDArray[np.float64]) -> int:
    """Return where two means part the values best."""
    number = len(values)
    before = np.arange(SHORTEST, number - SHORTEST + 1)
    sums = np.cumsum(values - values.mean())[before - 1]
    return int(before[np.argmax(sums**2 / (before * (number - before)))])


def _tested(values: NDArray[np.float64], found: list[int], alike: float) -> list[Boundary]:
    bounds = [0, *found, len(values)]
    phi = max(autocorrelation(residuals(values, bounds), fitted=len(bounds) - 1), alike)
    places = max(1.0, (len(values) - 2 * SHORTEST + 1) / math.sqrt((1 + phi) / (1 - phi)))
    tested = []
    for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        inflated = inflation((at - start, end - at), phi)
        p_value = chance(values[start:at], values[at:end], inflated)
        tested.append(Boundary(at=at, p_value=min(1.0, places * p_value), inflation=inflated))
    return tested


def _wandering(values: NDArray[np.float64], tested: list[Boundary]) -> list[Boundary]:
    """Return the boundaries that a level which wanders explains as well as a step."""
    bounds = [0, *(boundary.at for boundary in tested), len(values)]
    around = [(values[start:end], at - start) for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False)]
    return [boundary for boundary, (near, at) in zip(tested, around, strict=True) if wanders(_drawn_in(near, at), at)]


def chance(before: NDArray[np.float64], after: NDArray[np.float64], inflated: float) -> float:
    """Return the chance of two such segments where the level is the same, with the variance's inflation."""
    numbers = len(before), len(after)
    small = min(numbers) <= _EXACT and len(np.unique(np.concatenate([before, after]))) == sum(numbers)
    test = stats.mannwhitneyu(before, after, method="exact" if small else "asymptotic")
    deviate = stats.norm.isf(max(test.pvalue, 1e-300) / 2) / math.sqrt(inflated)
    by_ranks = float(2 * stats.norm.sf(deviate))
    if abs(test.statistic / math.prod(numbers) - 0.5) < _APART - 0.5:
        return by_ranks
    return min(by_ranks, _by_medians(before, after, inflated))


def _by_medians(before: NDArray[np.float64], after: NDArray[np.float64], inflated: float) -> float:
    """Return how unlikely the medians' distance is: what the ranks of segments that hardly overlap cannot tell.

    A normal sample's median varies π/2 times as much as its mean; 1.4826 times the median absolute deviation estimates
    its standard deviation.
    """
    numbers = len(before), len(after)
    freedom = sum(numbers) / inflated - 2
    if freedom < _FREEDOM:
        return 1.0
    left = residuals(np.concatenate([before, after]), [0, numbers[0], sum(numbers)])
    spread = 1.4826 * np.median(np.abs(left)) * math.sqrt(math.pi / 2 * inflated * sum(1 / n for n in numbers))
    distance = abs(np.median(after) - np.median(before))
    return float(2 * stats.t.sf(distance / spread, freedom)) if spread else 1.0
