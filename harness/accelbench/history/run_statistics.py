"""Statistics of runs: robust levels, the spread between unchanged runs, the likeness of neighbours, and tests.

Matrices have the shape ``(runs, cases)`` and hold NaN where a run lacks a case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its modules load at their first use
from numpy.typing import NDArray

from accelbench.moderated_variance import Prior, Variance, fit_prior

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

MAX_RUNS = 200  # nobody waits for more to decide a question
MAX_AUTOCORRELATION = 0.9  # a series with more is too short to estimate it
_FENCE = 3.0  # robust standard deviations; a run further out is moved to this distance
_SD_PER_MEDIAN = 1 / NormalDist().inv_cdf(0.75)  # of absolute deviations of normal values (Hampel 1974)
_MIN_RUNS_FOR_FENCE = 8  # the median absolute deviation of fewer is too uncertain (Croux & Rousseeuw 1992)
_MIN_VARIANCE = 1e-8  # of logarithms: 0.01 %, which no clock resolves
_MIN_RUNS_FOR_RANKS = 5  # fewer say nothing about how much neighbours are alike


@dataclass(frozen=True, kw_only=True)
class RunSpread:
    """For each case the standard deviation between unchanged runs, and its degrees of freedom.

    ``prior`` is the variance that all cases share, with the degrees of freedom with which it counts.
    """

    deviation: Matrix
    freedom: Matrix
    prior: Prior

    def moderate(self, variance: Matrix, freedom: Matrix) -> Matrix:
        """Return variances of cases, each moved towards the variance that all cases share."""
        total = np.maximum(freedom + self.prior.freedom, 1)
        moved = (freedom * variance + self.prior.freedom * self.prior.value) / total
        return np.asarray(np.maximum(moved, _MIN_VARIANCE))


def column_medians(values: Matrix) -> Values:
    """Return the median of each column of shape ``(rows, columns)`` over its finite values; NaN where it has none.

    NumPy's own treats each column separately where there are few rows.
    """
    counts = np.isfinite(values).sum(axis=0)
    if not len(values):
        return np.full(values.shape[1], np.nan)
    ordered = np.sort(np.where(np.isfinite(values), values, np.inf), axis=0)  # missing values come last
    middle = [np.maximum(counts - 1, 0) // 2, np.minimum(counts // 2, len(values) - 1)]
    low, high = (np.take_along_axis(ordered, places[None], axis=0)[0] for places in middle)
    return np.where(counts, (low + high) / 2, np.nan)


def column_means(values: Matrix) -> Values:
    """Return the mean of each column over its finite values; NaN where it has none."""
    counts = np.isfinite(values).sum(axis=0)
    return np.where(counts, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)


def robust_scale(deviations: Matrix) -> Values:
    """Return the standard deviation of each column of deviations from a centre, by their median absolute value."""
    return np.asarray(_SD_PER_MEDIAN * column_medians(np.abs(deviations)))


def winsorize(values: Matrix) -> Matrix:
    """Return values with those far outside moved to a fence around the median of their case."""
    enough = np.isfinite(values).sum(axis=0) >= _MIN_RUNS_FOR_FENCE
    if not enough.any():
        return values
    chosen = values[:, enough]
    centre = column_medians(chosen)
    reach = _FENCE * robust_scale(chosen - centre)
    reach = np.where(reach > 0, reach, np.inf)  # more than half of the runs are equal to the last digit
    fenced = values.copy()
    fenced[:, enough] = np.clip(chosen, centre - reach, centre + reach)
    return fenced


def estimate_spread(values: Matrix, states: NDArray[Any]) -> RunSpread:
    """Return how much unchanged runs differ.

    ``states``, of the same shape, are equal for runs of one configuration; only these are compared with each other. An
    outlier is moved to a fence first (Winsor; Tukey & McLaughlin 1963, *Sankhyā* A 25). A case's own variance is then
    moved towards that of all cases, as far as these are alike.
    """
    squares, freedom = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for state in np.unique(states):
        own = winsorize(np.where(states == state, values, np.nan))
        squares += np.nansum((own - column_means(own)) ** 2, axis=0)
        freedom += np.maximum(np.isfinite(own).sum(axis=0) - 1, 0)
    variance = np.maximum(squares / np.maximum(freedom, 1), _MIN_VARIANCE)
    known = zip(variance.tolist(), freedom.tolist(), strict=True)
    prior = fit_prior([Variance(value=value, freedom=count) for value, count in known])
    total = np.minimum(freedom + prior.freedom, prior.most_freedom)
    spread = RunSpread(deviation=variance, freedom=total, prior=prior)
    return replace(spread, deviation=np.sqrt(spread.moderate(variance, freedom)))


def residuals(values: Values, bounds: list[int]) -> Values:
    """Return values less the median of their segment; ``bounds`` run from 0 to the number of values."""
    return np.concatenate([values[start:end] - np.median(values[start:end]) for start, end in pairwise(bounds)])


def ranks_of(values: Values) -> Values:
    """Return the rank of each value, from 1 on; equal values share the mean of their ranks."""
    return np.asarray(pd.Series(values).rank(), dtype=np.float64)


def autocorrelation(left: Values, fitted: int = 1) -> float:
    """Return the correlation of the ranks of neighbouring residuals, from which ``fitted`` parameters were estimated.

    An estimate from few values is too low by (1 + 3 φ) / n for each fitted mean (Marriott and Pope 1954, Biometrika
    41), which is corrected. A standard error is added, since too low an estimate makes changes out of nothing. A
    negative correlation counts as none.
    """
    number = len(left)
    ranks = ranks_of(left) - (number + 1) / 2
    total = float(ranks @ ranks)
    if not total or number <= 4 * fitted:
        return 0.0
    estimate = float(ranks[1:] @ ranks[:-1]) / total
    phi = min(max((estimate + fitted / number) / (1 - 3 * fitted / number), 0.0), MAX_AUTOCORRELATION)
    return min(phi + math.sqrt((1 - phi**2) / number), MAX_AUTOCORRELATION)


def mean_autocorrelation(values: Matrix) -> float:
    """Return the autocorrelation of the ranks of neighbouring runs: the mean over cases, since one case is too noisy.

    It is corrected as in :func:`autocorrelation`, with a standard error added.
    """
    numbers = np.isfinite(values).sum(axis=0)
    ranks = pd.DataFrame(values).rank().to_numpy() - (numbers + 1) / 2
    products, squares = np.nansum(ranks[1:] * ranks[:-1], axis=0), np.nansum(ranks**2, axis=0)
    usable = (numbers >= _MIN_RUNS_FOR_RANKS) & (squares > 0)
    if not usable.any():
        return 0.0
    estimates = (products[usable] / squares[usable] + 1 / numbers[usable]) / (1 - 3 / numbers[usable])
    return float(np.clip(estimates.mean() + 1 / np.sqrt(numbers[usable].sum()), 0.0, MAX_AUTOCORRELATION))


def variance_inflation(numbers: tuple[int, int], phi: float) -> float:
    """Return the factor by which autocorrelation raises the variance of a difference of two segments' means.

    In a first-order autoregression the mean of n values varies by (1 + φ)/(1 − φ) − 2 φ (1 − φⁿ)/(n (1 − φ)²).
    """
    before, after = (
        ((1 + phi) / (1 - phi) - 2 * phi * (1 - phi**number) / (number * (1 - phi) ** 2)) / number for number in numbers
    )
    return (before + after) / (1 / numbers[0] + 1 / numbers[1])


def rank_test(newest: Matrix, reference: Matrix) -> Values:
    """Return for each case the chance that unchanged runs lie as much on one side of earlier ones, either way.

    Both matrices are in the order in which the runs were made. It is the exact Wilcoxon test, its normal deviate
    reduced by how much neighbours are alike. Ranks ignore distances, so outliers and skew do not weaken them.
    """
    phi = mean_autocorrelation(reference)
    new, old = np.sort(newest, axis=0), np.sort(reference, axis=0)  # missing values come last
    chances = np.full(reference.shape[1], np.nan)
    counts = np.stack([np.isfinite(new).sum(axis=0), np.isfinite(old).sum(axis=0)])
    for numbers in np.unique(counts[:, counts.all(axis=0)], axis=1).T:
        cases = (counts == numbers[:, None]).all(axis=0)
        exact = wilcoxon_p_values(new[: numbers[0], cases], old[: numbers[1], cases])
        inflation = variance_inflation((int(numbers[0]), int(numbers[1])), phi)
        weakened = -scipy.special.ndtri(exact / 2) / np.sqrt(inflation)
        chances[cases] = 2 * scipy.special.ndtr(-weakened)
    return chances


def wilcoxon_p_values(left: Matrix, right: Matrix) -> Values:
    """Return for each column the exact two-sided p-value of the Wilcoxon rank-sum test of two samples without NaN.

    The numbers of orders with each rank sum are the coefficients of a Gaussian binomial, a product of the factors
    (1 - qⁿ⁺ⁱ) / (1 - qⁱ) (Mann and Whitney 1947, *Annals of Mathematical Statistics* 18, 50). Floats hold them exactly
    below 2⁵³ orders. Of tied values an order without ties is assumed, as in SciPy.
    """
    few, many = sorted((len(left), len(right)))
    orders = np.zeros(few * many + 1)
    orders[0] = 1
    for factor in range(1, few + 1):
        orders[many + factor :] -= orders[: -many - factor].copy()
        for start in range(factor):
            orders[start::factor] = np.cumsum(orders[start::factor])
    ranks = pd.DataFrame(np.concatenate([left, right])).rank().to_numpy()
    wins = ranks[: len(left)].sum(axis=0) - len(left) * (len(left) + 1) / 2
    furthest = np.maximum(wins, few * many - wins).astype(int)
    chances = np.cumsum(orders / math.comb(few + many, few))
    return np.asarray(np.minimum(2 * chances[few * many - furthest], 1))


def adjust_p_values(p_values: Values) -> Values:
    """Return p-values adjusted for the false-discovery rate of all of them together; NaN stays NaN.

    Benjamini and Hochberg 1995, *Journal of the Royal Statistical Society* B 57, 289. The rate holds although effects
    of one trial share its baseline, since that makes them rise and fall together (Benjamini and Yekutieli 2001, *Annals
    of Statistics* 29).
    """
    adjusted, known = np.full(len(p_values), np.nan), np.isfinite(p_values)
    if known.any():
        values = p_values[known]
        order = np.argsort(values)[::-1]
        shares = values[order] * (len(values) / np.arange(len(values), 0, -1))
        values[order] = np.minimum(np.minimum.accumulate(shares), 1)
        adjusted[known] = values
    return adjusted


def fewest_runs(half_widths: Matrix, room: Values, runs: NDArray[np.int_]) -> Values:
    """Return for each series the least number of runs that narrows its interval enough; infinity where none does.

    ``half_widths``, of shape ``(series, numbers)``, is half the interval expected from each number in ``runs``, and
    ``room`` how wide that half may be.
    """
    enough = half_widths <= room[:, None]
    return np.where(enough.any(axis=1), runs[enough.argmax(axis=1)].astype(float), np.inf)
