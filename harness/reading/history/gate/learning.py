"""How far unchanged runs lie apart: learnt from a history, and shrunk towards what all its cases show together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import norm

from harness.reading.history.medians import median

Matrix = NDArray[np.float64]

_FENCE = 3.0  # robust standard deviations beyond which a run counts as one at the fence
_ROBUST = 1 / norm.ppf(0.75)  # standard deviations per median absolute deviation (Hampel 1974)
_LEAST_FOR_A_FENCE = 8  # runs; the median absolute deviation of fewer says too little (Croux & Rousseeuw 1992)
_LEAST_TOGETHER = 3  # cases from which a common spread is learnt
_MOST_FREEDOM = 1e6  # in place of infinity
_FLOOR = 1e-8  # of a variance of logarithms: 0.01 %, which no clock resolves


@dataclass(frozen=True, kw_only=True)
class Spread:
    """For each case the standard deviation of the logarithm between unchanged runs, and its degrees of freedom.

    ``common`` is the variance that all cases have in common, and ``weight`` the degrees of freedom for which it counts.
    """

    deviation: Matrix
    freedom: Matrix
    common: float
    weight: float

    def with_others(self, variance: Matrix, freedom: Matrix) -> Matrix:
        """Return variances of cases, each moved towards what all cases have in common."""
        total = np.maximum(freedom + self.weight, 1)
        return np.asarray(np.maximum((freedom * variance + self.weight * self.common) / total, _FLOOR))


def learn(values: Matrix, states: NDArray[Any]) -> Spread:
    """Return what unchanged runs differ by, of values of shape ``(runs, cases)``, not a number where missing.

    ``states`` tells, in the same shape, runs of one configuration from those of another: only runs of one are
    compared. A run far outside counts as one at a fence (Winsor; Tukey & McLaughlin 1963, *Sankhyā* A 25). A case's
    own variance is then moved towards that of all cases, as far as these are alike: the moderated t-statistic of
    Smyth 2004, *Statistical Applications in Genetics and Molecular Biology* 3(1), 3.
    """
    squares, freedom = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for state in np.unique(states):
        own = fenced(np.where(states == state, values, np.nan))
        counted = np.isfinite(own).sum(axis=0)
        centre = mean(own)
        squares += np.nansum((own - centre) ** 2, axis=0)
        freedom += np.maximum(counted - 1, 0)
    variance = np.maximum(squares / np.maximum(freedom, 1), _FLOOR)
    common, weight = _together(variance[freedom > 0], freedom[freedom > 0])
    total = np.minimum(freedom + weight, _MOST_FREEDOM)
    spread = Spread(deviation=variance, freedom=total, common=common, weight=weight)
    return replace(spread, deviation=np.sqrt(spread.with_others(variance, freedom)))


def fenced(values: Matrix) -> Matrix:
    """Return values of shape ``(runs, cases)`` with those far outside moved to a fence around their case's median."""
    enough = np.isfinite(values).sum(axis=0) >= _LEAST_FOR_A_FENCE
    if not enough.any():
        return values
    chosen = values[:, enough]
    centre = median(chosen)
    reach = _FENCE * _ROBUST * median(np.abs(chosen - centre))
    reach = np.where(reach > 0, reach, np.inf)  # more than half of the runs alike to the last digit
    kept = values.copy()
    kept[:, enough] = np.clip(chosen, centre - reach, centre + reach)
    return kept


def mean(values: Matrix) -> Matrix:
    """Return the mean of each case over the runs that have it; not a number where none has."""
    counted = np.isfinite(values).sum(axis=0)
    return np.where(counted, np.nansum(values, axis=0) / np.maximum(counted, 1), np.nan)


def _together(variance: Matrix, freedom: Matrix) -> tuple[float, float]:
    """Return the variance that cases have in common and how many degrees of freedom it counts for (Smyth 2004, 6.2)."""
    if len(variance) < _LEAST_TOGETHER:
        return 0.0, 0.0
    half = freedom / 2
    logs = np.log(variance) - digamma(half) + np.log(half)
    beyond_chance = float(np.var(logs, ddof=1) - np.mean(polygamma(1, half)))
    weight = _MOST_FREEDOM
    if beyond_chance > polygamma(1, _MOST_FREEDOM / 2):
        weight = 2 * float(brentq(lambda at: polygamma(1, at) - beyond_chance, 1e-3, _MOST_FREEDOM / 2))
    return float(np.exp(np.mean(logs) + digamma(weight / 2) - np.log(weight / 2))), weight
