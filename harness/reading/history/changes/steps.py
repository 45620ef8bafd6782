"""Steps of one series: from which value on its level is another, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness.reading.history.changes.drift import Course, course, ratio_of
from harness.reading.history.changes.episodes import episodes, is_short
from harness.reading.history.changes.splitting import Boundary

ALPHA = 0.05  # chance of a false step in a stationary series, at most about this, however long it is
_CONFIDENCE = 0.99  # of the intervals, as everywhere

Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A change of level: ``at`` is the index of the first value after it.

    ``ratio`` is the level after over the level before, the Hodges–Lehmann estimate between the two segments, with its
    rank interval at 99 %, widened for autocorrelation; unbounded where the segments are too short for one.
    ``p_value`` is corrected for the search over the series. ``over`` is the index of the first value at which the level
    was back, if the step was an episode, and the number of values where it may be one that still goes on; None of a
    change. ``opening`` says that the level before it is that of the first few values alone, and may have been an
    episode that began earlier.
    """

    at: int
    ratio: float
    low: float
    high: float
    p_value: float
    over: int | None = None
    opening: bool = False


def steps(values: Values, *, margin: float = 0.01, alpha: float = ALPHA) -> list[Step]:
    """Return the steps of a series of natural logarithms, in order; one of no more than ``margin`` is none.

    Episodes are among them. A slow drift is no step: where a series has one, the steps are those of the
    series without it.
    """
    return sized(course(values, margin=margin, alpha=alpha), margin=margin)


def sized(seen: Course, *, margin: float) -> list[Step]:
    """Return the steps of a series that are larger than a margin; the end of an episode is none of its own."""
    told = episodes(seen.levelled, seen.found, margin)
    begun = {each.start: each.end for each in told}
    sure = {boundary.at: boundary.p_value for boundary in seen.found}
    found = []
    for boundary, start, end in zip(seen.found, seen.bounds[:-2], seen.bounds[2:], strict=True):
        if not any(each.explains(boundary.at) for each in told):
            over = begun.get(boundary.at)
            after = seen.levelled[boundary.at : over or end]
            step = _step(boundary, seen.levelled[start : boundary.at], after, over, sure.get(over or 0, 0.0))
            opening = start == 0 and over is None and is_short(boundary.at, len(seen.levelled))
            found.append(replace(step, opening=opening))
    return [step for step in found if abs(math.log(step.ratio)) > margin]


def _step(boundary: Boundary, before: Values, after: Values, over: int | None, p_over: float) -> Step:
    """Return a step with its size; an episode is as sure as its less sure end.

    Hodges and Lehmann 1963, Annals of Mathematical Statistics 34; the interval is Moses' (Hollander, Wolfe and Chicken
    2014, Nonparametric Statistical Methods, section 4.3).
    """
    shifts = np.sort(np.subtract.outer(after, before), axis=None)
    numbers = len(before), len(after)
    spread = math.sqrt(math.prod(numbers) * (sum(numbers) + 1) / 12 * boundary.inflation)
    outside = math.floor(len(shifts) / 2 - stats.norm.isf((1 - _CONFIDENCE) / 2) * spread)
    low, high = (shifts[outside], shifts[-1 - outside]) if outside >= 0 else (-math.inf, math.inf)
    middle, low, high = (ratio_of(float(value)) for value in (np.median(shifts), low, high))
    p_value = max(boundary.p_value, p_over)
    return Step(at=boundary.at, ratio=middle, low=low, high=high, p_value=p_value, over=over)
