"""Where one series changes its level: candidates from an optimal segmentation, each one put to a rank test.

Candidates are the segments of least squares of the values' normal scores (ruptures: Truong, Oudre and Vayatis 2020,
Signal Processing 167; pruned exact search: Killick, Fearnhead and Eckley 2012, JASA 107). Scores instead of values keep
one outlier from being a segment. The penalty is low enough to propose too many, since the test decides:

A boundary is kept where the Wilcoxon test between its two segments stays significant once it is corrected twice: its
normal deviate is divided by what the neighbours' autocorrelation does to it, and its p-value multiplied by the number
of places where the boundary might have been. The least significant one is taken out first, until all that are left
hold. Nothing here is drawn by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import ruptures
from numpy.typing import NDArray
from scipy import stats

from harness.reading.history.autocorrelation import autocorrelation, inflation, residuals

SHORTEST = 5  # runs in a segment
_PENALTY = 2.0  # times log n: the least that a boundary must gain to be proposed, in variances of the scores
_FAR = 4.0  # spreads from the median, beyond which a value counts as that far off when a boundary is dated
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
        worst = max(tested, key=lambda boundary: boundary.p_value)
        if worst.p_value <= alpha:
            return tested
        found = _dated(values, [place for place in found if place != worst.at])
    return []


def _candidates(values: NDArray[np.float64]) -> list[int]:
    number = len(values)
    if number < 2 * SHORTEST:
        return []
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(_scores(values)[:, None])
    return [int(place) for place in search.predict(pen=_PENALTY * math.log(number))[:-1]]


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

    Scores would date worse, for they draw in what lies only a little off, too.
    """
    number = len(values)
    before = np.arange(SHORTEST, number - SHORTEST + 1)
    sums = np.cumsum(_drawn_in(values))[before - 1]
    return int(before[np.argmax(sums**2 / (before * (number - before)))])


def _drawn_in(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values about 0, none farther from the median than some spreads, as neighbours tell the spread."""
    reach = _FAR * np.median(np.abs(np.diff(values))) / _OF_NEIGHBOURS
    middle = np.median(values)
    clipped = np.clip(values, middle - reach, middle + reach) if reach else _scores(values)
    return np.asarray(clipped - clipped.mean())


def _tested(values: NDArray[np.float64], found: list[int], alike: float) -> list[Boundary]:
    bounds = [0, *found, len(values)]
    phi = max(autocorrelation(residuals(values, bounds), fitted=len(bounds) - 1), alike)
    places = len(values) - 2 * SHORTEST + 1
    tested = []
    for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        inflated = inflation((at - start, end - at), phi)
        p_value = _p_value(values[start:at], values[at:end], inflated)
        tested.append(Boundary(at=at, p_value=min(1.0, places * p_value), inflation=inflated))
    return tested


def _p_value(before: NDArray[np.float64], after: NDArray[np.float64], inflated: float) -> float:
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
