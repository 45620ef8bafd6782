"""Steps of one series: from which value on its level is another, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness.reading.history.changes.drift import Course, course, ratio_of
from harness.reading.history.changes.splitting import Boundary

ALPHA = 0.05  # chance of a false step in a stationary series, at most about this, however long it is
_CONFIDENCE = 0.99  # of the intervals, as everywhere


@dataclass(frozen=True, kw_only=True)
class Step:
    """A change of level: ``at`` is the index of the first value after it.

    ``ratio`` is the level after over the level before, the Hodges–Lehmann estimate between the two segments, with its
    rank interval at 99 %, widened for autocorrelation; unbounded where the segments are too short for one.
    ``p_value`` is corrected for the search over the series.
    """

    at: int
    ratio: float
    low: float
    high: float
    p_value: float


def steps(values: NDArray[np.float64], *, margin: float = 0.01, alpha: float = ALPHA) -> list[Step]:
    """Return the steps of a series of natural logarithms, in order; one of no more than ``margin`` is none.

    A slow drift is no step: where a series has one, the steps are those of the series without it.
    """
    return sized(course(values, margin=margin, alpha=alpha), margin=margin)


def sized(seen: Course, *, margin: float) -> list[Step]:
    """Return the steps of a series that are larger than a margin."""
    parts = [seen.levelled[start:end] for start, end in pairwise(seen.bounds)]
    found = [_step(boundary, *pair) for boundary, pair in zip(seen.found, pairwise(parts), strict=True)]
    return [step for step in found if abs(math.log(step.ratio)) > margin]


def _step(boundary: Boundary, before: NDArray[np.float64], after: NDArray[np.float64]) -> Step:
    """Return a step with its size.

    Hodges and Lehmann 1963, Annals of Mathematical Statistics 34; the interval is Moses' (Hollander, Wolfe and Chicken
    2014, Nonparametric Statistical Methods, section 4.3).
    """
    shifts = np.sort(np.subtract.outer(after, before), axis=None)
    numbers = len(before), len(after)
    spread = math.sqrt(math.prod(numbers) * (sum(numbers) + 1) / 12 * boundary.inflation)
    outside = math.floor(len(shifts) / 2 - stats.norm.isf((1 - _CONFIDENCE) / 2) * spread)
    low, high = (shifts[outside], shifts[-1 - outside]) if outside >= 0 else (-math.inf, math.inf)
    middle, low, high = (ratio_of(float(value)) for value in (np.median(shifts), low, high))
    return Step(at=boundary.at, ratio=middle, low=low, high=high, p_value=boundary.p_value)
