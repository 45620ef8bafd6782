"""A slow drift of one series, told apart from steps: a trend that goes on inside the segments between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness.reading.history.autocorrelation import autocorrelation, residuals
from harness.reading.history.changes.splitting import SHORTEST, Boundary, best_split, boundaries

ALPHA = 0.01  # chance of a false drift in a stationary series
_PER = 100  # runs over which a drift is told
_FAR = 700.0  # logarithm beyond which a ratio is beyond floating point
_CONFIDENCE = 0.99
_SHORTEST = 4 * SHORTEST  # runs below which a drift cannot be told from two steps
_ROUNDS = 2  # steps of a series without its drift, its drift between these steps


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A trend: ``ratio`` is the level over the one 100 runs earlier, with its interval at 99 %.

    ``per_run`` is by how much the logarithm rises from run to run.
    """

    per_run: float
    ratio: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Course:
    """What a series does: ``levelled`` is the series without its drift, ``found`` where that changes its level."""

    levelled: NDArray[np.float64]
    found: tuple[Boundary, ...]
    drift: Drift | None

    @property
    def bounds(self) -> list[int]:
        """Where the segments begin, and the end of the last."""
        return [0, *(boundary.at for boundary in self.found), len(self.levelled)]

    @property
    def autocorrelation(self) -> float:
        """How much neighbours resemble each other in what is left."""
        return autocorrelation(residuals(self.levelled, self.bounds), fitted=len(self.found) + 1)


def course(values: NDArray[np.float64], *, margin: float, alpha: float, alike: float = 0.0) -> Course:
    """Return where a series of logarithms steps, and its drift if it has one.

    A staircase of steps fits any drift, and a drift fits a step somewhat. So each is tried, and both together, and what
    fits best counts (Schwarz's criterion 1978, with the absolute residuals, which outliers bend least). ``alike`` is
    the least autocorrelation that is reckoned with.
    """
    stepped = Course(levelled=values, found=tuple(boundaries(values, alpha, alike)), drift=None)
    whole = Course(levelled=values, found=(), drift=None)
    if len(values) < _SHORTEST:
        return stepped
    starts = [whole, stepped] if stepped.found else [whole]
    tried = [_straightened(values, start, margin, alpha, alike) for start in starts]
    best = min([stepped, *filter(None, tried)], key=_misfit)
    return best if best.found or not best.drift or _misfit(best) < _of_one_step(values) else stepped


def ratio_of(log: float) -> float:
    """Return the ratio of which this is the logarithm; an unbounded one stays so, and another stays a number."""
    if math.isinf(log):
        return math.inf if log > 0 else 0.0
    return math.exp(min(max(log, -_FAR), _FAR))


def drift(values: NDArray[np.float64], *, margin: float = 0.01, alpha: float = 0.05) -> Drift | None:
    """Return the drift of a series of natural logarithms; one of no more than ``margin`` in all is none."""
    return course(values, margin=margin, alpha=alpha).drift


def _straightened(
    values: NDArray[np.float64], seen: Course, margin: float, alpha: float, alike: float
) -> Course | None:
    """Return the series with the drift inside its segments taken out, and the steps that are left; None without one."""
    for _ in range(_ROUNDS):
        trend = _trend(values, seen.bounds, alike)
        if trend is None or abs(trend.per_run) * len(values) <= margin:
            return None
        levelled = values - trend.per_run * np.arange(len(values))
        seen = Course(levelled=levelled, found=tuple(boundaries(levelled, alpha, alike)), drift=trend)
    return seen


def _misfit(seen: Course) -> float:
    left = np.abs(residuals(seen.levelled, seen.bounds)).sum()
    return _criterion(left, len(seen.levelled), 1 + 2 * len(seen.found) + (seen.drift is not None))


def _of_one_step(values: NDArray[np.float64]) -> float:
    """Return the misfit of one step, sure of itself or not."""
    left = np.abs(residuals(values, [0, best_split(values), len(values)])).sum()
    return _criterion(left, len(values), 3)


def _criterion(left: float, number: int, parameters: int) -> float:
    return 2 * number * math.log(max(left, 1e-300)) + parameters * math.log(number)


def _trend(values: NDArray[np.float64], bounds: list[int], alike: float) -> Drift | None:
    """Return the trend inside the segments together; None where it may be none.

    Sen's slope and interval over the pairs of each segment, as for seasons (Hirsch, Slack and Smith 1982; Gilbert 1987,
    Statistical Methods for Environmental Pollution Monitoring, chapter 17), the test's variance corrected for
    autocorrelation (Hamed and Rao 1998, Journal of Hydrology 204).
    """
    if not _may_rise(values, bounds):
        return None
    slopes = np.sort(np.concatenate([_slopes(values[start:end]) for start, end in pairwise(bounds)]))
    slope = float(np.median(slopes))
    left = residuals(values - slope * np.arange(len(values)), bounds)
    phi = max(autocorrelation(left, fitted=len(bounds)), alike)
    spread = math.sqrt(sum(_variance(end - start, phi) for start, end in pairwise(bounds)))
    deviate = (abs(float(np.sign(slopes).sum())) - 1) / spread
    p_value = float(2 * stats.norm.sf(deviate))
    if p_value > ALPHA:
        return None
    reach = stats.norm.isf((1 - _CONFIDENCE) / 2) * spread / 2
    low, high = (slopes[round(min(max(len(slopes) / 2 + side, 0), len(slopes) - 1))] for side in (-reach, reach))
    ratio, low, high = (ratio_of(_PER * value) for value in (slope, low, high))
    return Drift(per_run=slope, ratio=ratio, low=low, high=high, p_value=p_value)


def _may_rise(values: NDArray[np.float64], bounds: list[int]) -> bool:
    """Say whether there is a trend before autocorrelation, which only weakens it, is looked at: the cheap question."""
    parts = [values[start:end] for start, end in pairwise(bounds)]
    found = [stats.kendalltau(np.arange(len(part)), part).statistic * math.comb(len(part), 2) for part in parts]
    spread = math.sqrt(sum(_variance(len(part), 0.0) for part in parts))
    return bool(2 * stats.norm.sf(abs(float(np.nansum(found))) / spread) <= ALPHA)


def _slopes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    early, late = np.triu_indices(len(values), 1)
    return np.asarray((values[late] - values[early]) / (late - early))


def _variance(number: int, phi: float) -> float:
    """Return the variance of Kendall's statistic of so many values, as Hamed and Rao correct it."""
    lags = np.arange(1, number - 2)
    kept = (number - lags) * (number - lags - 1.0) * (number - lags - 2) * phi**lags
    inflated = 1 + 2 / (number * (number - 1) * (number - 2)) * kept.sum()
    return float(number * (number - 1) * (2 * number + 5) / 18 * inflated)
