"""How much neighbouring runs resemble each other, and what that does to what can be concluded from them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

MOST = 0.9  # beyond this a series is too short to tell


def residuals(values: NDArray[np.float64], bounds: list[int]) -> NDArray[np.float64]:
    """Return values less the median of their segment; ``bounds`` begin with 0 and end with the number of values."""
    return np.concatenate([values[start:end] - np.median(values[start:end]) for start, end in pairwise(bounds)])


def autocorrelation(left: NDArray[np.float64], fitted: int = 1) -> float:
    """Return the correlation of the ranks of neighbours in residuals from which so many parameters were fitted.

    An estimate from few values is too low by (1 + 3 φ) / n for a fitted mean (Marriott and Pope 1954, Biometrika 41),
    which is made good here for each one. A standard error comes on top, since few runs hardly tell and too low a
    correlation makes changes out of nothing. A negative one counts as none: it would only sharpen what is concluded.
    """
    number = len(left)
    ranks = stats.rankdata(left) - (number + 1) / 2
    total = float(ranks @ ranks)
    if not total or number <= 4 * fitted:
        return 0.0
    found = float(ranks[1:] @ ranks[:-1]) / total
    phi = min(max((found + fitted / number) / (1 - 3 * fitted / number), 0.0), MOST)
    return min(phi + math.sqrt((1 - phi**2) / number), MOST)


def inflation(numbers: tuple[int, int], phi: float) -> float:
    """Return by what the variance of a difference of two segments' means exceeds that of independent values.

    That of a first-order autoregression: a mean of n values varies by (1 + φ)/(1 − φ) − 2 φ (1 − φⁿ)/(n (1 − φ)²).
    """
    before, after = (_of_mean(number, phi) / number for number in numbers)
    return (before + after) / (1 / numbers[0] + 1 / numbers[1])


def _of_mean(number: int, phi: float) -> float:
    return (1 + phi) / (1 - phi) - 2 * phi * (1 - phi**number) / (number * (1 - phi) ** 2)
