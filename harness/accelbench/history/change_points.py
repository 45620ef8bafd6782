"""Search one series of runs for what changed: level shifts, transients (a level that came back), and a slow drift.

**Candidates** are the segment borders of a least-squares segmentation of the values' normal scores (ruptures: Truong,
Oudre and Vayatis 2020, Signal Processing 167; pruned exact search: Killick, Fearnhead and Eckley 2012, JASA 107).
Scores instead of values keep one outlier from becoming a segment. The penalty is low enough to propose too many.

**A boundary is kept** where the Wilcoxon test between its two segments stays significant after two corrections: its
normal deviate is divided by the inflation due to the neighbours' autocorrelation, and its p-value is multiplied by the
number of places where the boundary might have been. The more alike neighbouring runs are, the less the tests at nearby
places differ, and the fewer places count: fewer by the factor by which a mean's standard error grows, which kept the
level in simulated first-order autoregressions. The least significant boundary is removed first, until all hold. Of
these, boundaries that a random walk explains as well are removed too.

**A drift** is a trend inside the segments. A staircase of steps fits any drift, and a drift fits a step somewhat, so
each is tried, and both together, and the best fit counts.

**A transient** is a pair of level shifts after which the old level is back: a neighbour's load, a hot afternoon. While
it lasts, it cannot be told from a level shift. It is then compared with the transients that are over: what is no larger
and has lasted no longer may be one more, and everything else is a level shift. The same holds for the first few runs of
a series. Nothing here is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy  # its modules load at their first use

from accelbench.history.run_statistics import (
    MAX_AUTOCORRELATION,
    Values,
    autocorrelation,
    ranks_of,
    residuals,
    robust_scale,
    variance_inflation,
)
from accelbench.schema.verdict import ratio_of

MIN_SEGMENT = 5  # runs
MARGIN = 0.01  # logarithm; smaller changes are not reported
SHIFT_ALPHA = 0.05  # chance of a false level shift in a stationary series, however long it is
DRIFT_ALPHA = 0.01  # chance of a false drift in a stationary series
_CONFIDENCE = 0.99  # of the intervals
_PENALTY = 2.0  # times log n: the least gain for which a boundary is proposed, in variances of the scores
_FAR = 4.0  # standard deviations from both levels, at which a value is clipped when a boundary is dated
_SD_PER_DISTANCE = 0.954  # median distance of two independent normal values, in standard deviations
_MAX_EXACT = 8  # values in the smaller segment up to which the rank test is exact
_SEPARATED = 0.95  # share of pairs across a boundary in the same order, from which ranks do not show the distance
_MIN_FREEDOM = 3.0  # degrees of freedom, after autocorrelation, from which the distance of medians is tested
# Drift
_DRIFT_RUNS = 100  # over which a drift is reported
_MIN_DRIFT_RUNS = 4 * MIN_SEGMENT  # below which a drift cannot be told from two steps
_DRIFT_ROUNDS = 2  # alternate between the steps without the drift and the drift between these steps
# Random walk
_GAINS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)  # of exponential smoothing
_SMOOTHING_START = 5  # values whose mean starts the smoothed level
_STEP_COST = 3.5  # times log n for a level and its place; 3 if values were independent (Zhang and Siegmund 2007,
# Biometrics 63), and a little more since a random walk is not exactly a smoothed level
# Transients
_MAX_TRANSIENT = 4 * MIN_SEGMENT  # runs; what lasts longer is a level of its own
_OPENING_SHARE = 5  # a first level shorter than one in this many runs may be the end of a transient
_RETURN_SHARE = 0.1  # share of a transient's size by which the level after it may differ from the one before
_RETURN_ALPHA = 0.001  # chance that a level which came back is taken for another one: many are tested


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """The index of the first value after a change, the test's corrected p-value and the variance inflation."""

    at: int
    p_value: float
    inflation: float


@dataclass(frozen=True, kw_only=True)
class LevelShift:
    """A change of level: ``at`` is the index of the first value after it.

    ``ratio`` is the level after over the level before, the Hodges-Lehmann estimate between the two segments, with its
    rank interval at 99 %, widened for autocorrelation; unbounded where the segments are too short for one. ``p_value``
    is corrected for the search over the series. For a transient, ``end`` is the index of the first value at which the
    old level was back, or the number of values where it may still last; None for a lasting shift. ``after_opening``
    says that the level before it is only that of the first few runs, which may be the end of an earlier transient.
    """

    at: int
    ratio: float
    low: float
    high: float
    p_value: float
    end: int | None = None
    after_opening: bool = False


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A trend: ``ratio`` is the level over the one 100 runs earlier, with its interval at 99 %.

    ``per_run`` is the slope of the logarithm.
    """

    per_run: float
    ratio: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Segmentation:
    """A series without its drift, the boundaries between its levels, and the drift."""

    detrended: Values
    boundaries: tuple[Boundary, ...]
    drift: Drift | None

    @property
    def bounds(self) -> list[int]:
        """Where the segments begin, and the end of the last."""
        return [0, *(boundary.at for boundary in self.boundaries), len(self.detrended)]

    @property
    def autocorrelation(self) -> float:
        """How alike neighbours are within the segments."""
        return autocorrelation(residuals(self.detrended, self.bounds), fitted=len(self.boundaries) + 1)


@dataclass(frozen=True, kw_only=True)
class _Transient:
    """The values from ``start`` to before ``end``, which depart from the level around them by ``size``."""

    start: int
    end: int
    size: float

    def contains(self, at: int) -> bool:
        """Return whether a boundary lies inside the transient or ends it."""
        return self.start < at <= self.end


def segment(values: Values, *, min_autocorrelation: float = 0.0) -> Segmentation:
    """Return the boundaries between the levels of a series of natural logarithms, and its drift.

    Steps, a drift, and both together are compared by Schwarz's criterion (1978) with the absolute residuals, which
    outliers distort least. ``min_autocorrelation`` is used where a series alone estimates a smaller one.
    """
    stepped = Segmentation(
        detrended=values, boundaries=tuple(_find_boundaries(values, min_autocorrelation)), drift=None
    )
    if len(values) < _MIN_DRIFT_RUNS:
        return stepped
    starts = [Segmentation(detrended=values, boundaries=(), drift=None), *([stepped] if stepped.boundaries else [])]
    drifting = [_detrend(values, start, min_autocorrelation) for start in starts]
    best = min([stepped, *filter(None, drifting)], key=_misfit)
    return best if best.boundaries or not best.drift or _misfit(best) < _misfit_of_one_step(values) else stepped


def measure_level_shifts(segmentation: Segmentation) -> list[LevelShift]:
    """Return the level shifts of a segmentation, in order; the end of a transient is none of its own."""
    values = segmentation.detrended
    transients = _find_transients(values, segmentation.boundaries)
    ends = {each.start: each.end for each in transients}
    chances = {boundary.at: boundary.p_value for boundary in segmentation.boundaries}
    bounds = segmentation.bounds
    shifts = []
    for boundary, start, next_start in zip(segmentation.boundaries, bounds[:-2], bounds[2:], strict=True):
        if any(each.contains(boundary.at) for each in transients):
            continue
        end = ends.get(boundary.at)
        # A transient is as certain as the less certain of its two ends.
        p_value = max(boundary.p_value, chances.get(end or 0, 0.0))
        shift = _measure_shift(boundary, values[start : boundary.at], values[boundary.at : end or next_start])
        opening = start == 0 and end is None and boundary.at <= min(_MAX_TRANSIENT, len(values) / _OPENING_SHARE)
        shifts.append(replace(shift, end=end, p_value=p_value, after_opening=opening))
    return [shift for shift in shifts if abs(math.log(shift.ratio)) > MARGIN]


def _find_boundaries(values: Values, min_autocorrelation: float = 0.0) -> list[Boundary]:
    """Return where the level changes, in order."""
    places = _refine_places(values, _propose_places(values))
    while places:
        tested = _test_places(values, places, min_autocorrelation)
        doubtful = [boundary for boundary in tested if boundary.p_value > SHIFT_ALPHA] or _explained_by_walk(
            values, tested
        )
        if not doubtful:
            return tested
        worst = max(doubtful, key=lambda boundary: boundary.p_value)
        places = _refine_places(values, [place for place in places if place != worst.at])
    return []


def _propose_places(values: Values) -> list[int]:
    """Return where the level may change, in the whole series and then within each segment alone.

    Beside a large step the scores of a smaller one are too close together for it to be proposed at once.
    """
    number = len(values)
    if number < 2 * MIN_SEGMENT:
        return []
    import ruptures  # here, since it takes half a second to load, and a short history is not searched

    scores = scipy.special.ndtri(ranks_of(values) / (number + 1))
    scores = np.asarray(scores / (scores.std() or 1.0))
    search = ruptures.KernelCPD(kernel="linear", min_size=MIN_SEGMENT).fit(scores[:, None])
    bounds = [0, *map(int, search.predict(pen=_PENALTY * math.log(number)))]
    if len(bounds) == 2:
        return []
    inside = [start + place for start, end in pairwise(bounds) for place in _propose_places(values[start:end])]
    return sorted([*bounds[1:-1], *inside])


def _refine_places(values: Values, places: list[int]) -> list[int]:
    """Return each boundary where it separates the values between its neighbours best."""
    bounds = [0, *places, len(values)]
    for place in range(1, len(bounds) - 1):
        start, end = bounds[place - 1], bounds[place + 1]
        bounds[place] = start + _best_split(values[start:end])
    return bounds[1:-1]


def _best_split(values: Values) -> int:
    """Return where two levels separate the values best, by least squares of the values with outliers clipped.

    Outliers lie far from both levels. The levels are found from the ranks, which a few outliers do not disturb, and
    from the values, which show a large step of a few runs ago. The split with the smaller absolute residuals counts.
    """
    places = [_least_squares(ranks_of(values)), _least_squares(values)]
    places = [_least_squares(_clip_outliers(values, place)) for place in places]
    return min(places, key=lambda place: float(np.abs(residuals(values, [0, place, len(values)])).sum()))


def _clip_outliers(values: Values, split: int) -> Values:
    """Return the values, none far from both levels before and after a split."""
    levels = np.median(values[:split]), np.median(values[split:])
    reach = _FAR * np.median(np.abs(np.diff(values))) / _SD_PER_DISTANCE or np.inf
    return np.asarray(np.clip(values, min(levels) - reach, max(levels) + reach))


def _least_squares(values: Values) -> int:
    """Return where two means separate the values best."""
    number = len(values)
    before = np.arange(MIN_SEGMENT, number - MIN_SEGMENT + 1)
    sums = np.cumsum(values - values.mean())[before - 1]
    return int(before[np.argmax(sums**2 / (before * (number - before)))])


def _test_places(values: Values, places: list[int], min_autocorrelation: float) -> list[Boundary]:
    bounds = [0, *places, len(values)]
    phi = max(autocorrelation(residuals(values, bounds), fitted=len(bounds) - 1), min_autocorrelation)
    searched = max(1.0, (len(values) - 2 * MIN_SEGMENT + 1) / math.sqrt((1 + phi) / (1 - phi)))
    tested = []
    for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        inflation = variance_inflation((at - start, end - at), phi)
        p_value = _chance_of_same_level(values[start:at], values[at:end], inflation)
        tested.append(Boundary(at=at, p_value=min(1.0, searched * p_value), inflation=inflation))
    return tested


def _chance_of_same_level(before: Values, after: Values, inflation: float) -> float:
    """Return the chance of two such segments where the level is the same."""
    numbers = len(before), len(after)
    exact = min(numbers) <= _MAX_EXACT and len(np.unique(np.concatenate([before, after]))) == sum(numbers)
    test = scipy.stats.mannwhitneyu(before, after, method="exact" if exact else "asymptotic")
    deviate = -scipy.special.ndtri(max(test.pvalue, 1e-300) / 2) / math.sqrt(inflation)
    by_ranks = float(2 * scipy.special.ndtr(-deviate))
    if abs(test.statistic / math.prod(numbers) - 0.5) < _SEPARATED - 0.5:
        return by_ranks
    return min(by_ranks, _chance_by_medians(before, after, inflation))


def _chance_by_medians(before: Values, after: Values, inflation: float) -> float:
    """Return the chance of the medians' distance, which ranks do not show for segments that hardly overlap.

    A normal sample's median varies π/2 times as much as its mean.
    """
    numbers = len(before), len(after)
    freedom = sum(numbers) / inflation - 2
    if freedom < _MIN_FREEDOM:
        return 1.0
    left = residuals(np.concatenate([before, after]), [0, numbers[0], sum(numbers)])
    (deviation,) = robust_scale(left[:, None])
    spread = deviation * math.sqrt(math.pi / 2 * inflation * sum(1 / n for n in numbers))
    distance = abs(np.median(after) - np.median(before))
    return float(2 * scipy.special.stdtr(freedom, -distance / spread)) if spread else 1.0


def _explained_by_walk(values: Values, tested: list[Boundary]) -> list[Boundary]:
    """Return the boundaries that a random walk explains as well as a step."""
    bounds = [0, *(boundary.at for boundary in tested), len(values)]
    around = [(values[start:end], at - start) for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False)]
    return [
        boundary
        for boundary, (near, at) in zip(tested, around, strict=True)
        if is_random_walk(_clip_outliers(near, at), at)
    ]


def is_random_walk(values: Values, at: int) -> bool:
    """Return whether a wandering level predicts the values as well as one that steps at a place.

    What is left beside steps says little about wandering, since steps absorb its slow part. So both are compared as
    forecasts: a step with autocorrelated neighbours, against one level that follows the runs (exponential smoothing,
    the forecast of an ARIMA(0, 1, 1): Muth 1960, JASA 55) or to which they return (a first-order autoregression).
    """
    number, before, after = len(values), values[:at], values[at:]
    stepped = _autoregression_error(np.concatenate([before - before.mean(), after - after.mean()]))
    smoothed = (_smoothing_error(values, gain) for gain in _GAINS)
    wandering = min(_autoregression_error(values - values.mean()), *smoothed)
    return bool(stepped) and number * math.log(wandering / stepped) < _STEP_COST * math.log(number)


def _autoregression_error(left: Values) -> float:
    """Return the sum of squared errors of a first-order autoregression, whose first value is as likely as any."""
    products, squares = float(left[1:] @ left[:-1]), float(left[1:-1] @ left[1:-1])
    phi = min(max(products / squares, 0.0), MAX_AUTOCORRELATION) if squares else 0.0
    return float(left @ left) - 2 * phi * products + phi**2 * squares


def _smoothing_error(values: Values, gain: float) -> float:
    """Return the sum of squared errors with which a smoothed level predicts the next value."""
    left = values - values[:_SMOOTHING_START].mean()
    level = scipy.signal.lfilter([gain], [1.0, gain - 1.0], left)
    missed = left - np.concatenate([[0.0], level[:-1]])
    return float(missed @ missed)


def _measure_shift(boundary: Boundary, before: Values, after: Values) -> LevelShift:
    """Return a level shift with its size.

    Hodges and Lehmann 1963, Annals of Mathematical Statistics 34; the interval is Moses' (Hollander, Wolfe and Chicken
    2014, Nonparametric Statistical Methods, section 4.3).
    """
    shifts = np.sort(np.subtract.outer(after, before), axis=None)
    numbers = len(before), len(after)
    spread = math.sqrt(math.prod(numbers) * (sum(numbers) + 1) / 12 * boundary.inflation)
    outside = math.floor(len(shifts) / 2 + scipy.special.ndtri((1 - _CONFIDENCE) / 2) * spread)
    low, high = (shifts[outside], shifts[-1 - outside]) if outside >= 0 else (-math.inf, math.inf)
    middle, low, high = (ratio_of(float(value)) for value in (np.median(shifts), low, high))
    return LevelShift(at=boundary.at, ratio=middle, low=low, high=high, p_value=boundary.p_value)


def _detrend(values: Values, start: Segmentation, min_autocorrelation: float) -> Segmentation | None:
    """Return the series without the drift inside its segments, and the steps that are left; None without a drift."""
    current = start
    for _ in range(_DRIFT_ROUNDS):
        trend = _find_trend(values, current.bounds, min_autocorrelation)
        if trend is None or abs(trend.per_run) * len(values) <= MARGIN:
            return None
        detrended = values - trend.per_run * np.arange(len(values))
        boundaries = tuple(_find_boundaries(detrended, min_autocorrelation))
        current = Segmentation(detrended=detrended, boundaries=boundaries, drift=trend)
    return current


def _misfit(segmentation: Segmentation) -> float:
    left = np.abs(residuals(segmentation.detrended, segmentation.bounds)).sum()
    parameters = 1 + 2 * len(segmentation.boundaries) + (segmentation.drift is not None)
    return _criterion(left, len(segmentation.detrended), parameters)


def _misfit_of_one_step(values: Values) -> float:
    left = np.abs(residuals(values, [0, _best_split(values), len(values)])).sum()
    return _criterion(left, len(values), 3)


def _criterion(left: float, number: int, parameters: int) -> float:
    return 2 * number * math.log(max(left, 1e-300)) + parameters * math.log(number)


def _find_trend(values: Values, bounds: list[int], min_autocorrelation: float) -> Drift | None:
    """Return the common trend inside the segments, or None where it is not significant.

    Sen's slope and interval over the pairs of each segment, as for seasons (Hirsch, Slack and Smith 1982; Gilbert 1987,
    Statistical Methods for Environmental Pollution Monitoring, chapter 17); the variance of the test is corrected for
    autocorrelation (Hamed and Rao 1998, Journal of Hydrology 204).
    """
    if not _may_have_trend(values, bounds):
        return None
    slopes = np.sort(np.concatenate([_slopes(values[start:end]) for start, end in pairwise(bounds)]))
    slope = float(np.median(slopes))
    left = residuals(values - slope * np.arange(len(values)), bounds)
    phi = max(autocorrelation(left, fitted=len(bounds)), min_autocorrelation)
    spread = math.sqrt(sum(_kendall_variance(end - start, phi) for start, end in pairwise(bounds)))
    p_value = float(2 * scipy.special.ndtr((1 - abs(float(np.sign(slopes).sum()))) / spread))
    if p_value > DRIFT_ALPHA:
        return None
    reach = -scipy.special.ndtri((1 - _CONFIDENCE) / 2) * spread / 2
    low, high = (slopes[round(min(max(len(slopes) / 2 + side, 0), len(slopes) - 1))] for side in (-reach, reach))
    ratio, low, high = (ratio_of(_DRIFT_RUNS * value) for value in (slope, low, high))
    return Drift(per_run=slope, ratio=ratio, low=low, high=high, p_value=p_value)


def _may_have_trend(values: Values, bounds: list[int]) -> bool:
    """Return whether a cheap test finds a trend before the correction for autocorrelation, which only weakens it."""
    parts = [values[start:end] for start, end in pairwise(bounds)]
    sums = [scipy.stats.kendalltau(np.arange(len(part)), part).statistic * math.comb(len(part), 2) for part in parts]
    spread = math.sqrt(sum(_kendall_variance(len(part), 0.0) for part in parts))
    return bool(2 * scipy.special.ndtr(-abs(float(np.nansum(sums))) / spread) <= DRIFT_ALPHA)


def _slopes(values: Values) -> Values:
    early, late = np.triu_indices(len(values), 1)
    return np.asarray((values[late] - values[early]) / (late - early))


def _kendall_variance(number: int, phi: float) -> float:
    """Return the variance of Kendall's statistic of that many values, as Hamed and Rao correct it."""
    lags = np.arange(1, number - 2)
    terms = (number - lags) * (number - lags - 1.0) * (number - lags - 2) * phi**lags
    inflation = 1 + 2 / (number * (number - 1) * (number - 2)) * terms.sum()
    return float(number * (number - 1) * (2 * number + 5) / 18 * inflation)


def _find_transients(values: Values, boundaries: Sequence[Boundary]) -> list[_Transient]:
    over = list(_transients_that_ended(values, boundaries))
    return [*over, *_transients_at_the_ends(values, [boundary.at for boundary in boundaries], over)]


def _transients_that_ended(values: Values, boundaries: Sequence[Boundary]) -> Iterator[_Transient]:
    """Yield the transients that are over; one may have several levels, as when two neighbours' loads overlap.

    A transient is no longer than the runs around it together, and the level is back afterwards: without the transient
    it changes by no more than the margin, or not significantly.
    """
    ends = [*(boundary.at for boundary in boundaries[1:]), len(values)]
    level_start = 0
    for place, first in enumerate(boundaries):
        if first.at <= level_start:  # inside a transient, or its end
            continue
        before = values[level_start : first.at]
        level_start = first.at
        for last, end in zip(boundaries[place + 1 :], ends[place + 1 :], strict=True):
            inside, after = values[first.at : last.at], values[last.at : end]
            size = float(np.median(inside) - np.median(np.concatenate([before, after])))
            is_short = len(inside) <= min(_MAX_TRANSIENT, len(before) + len(after))
            inflation = max(first.inflation, last.inflation)
            if is_short and _is_same_level(before, after, inflation, max(MARGIN, _RETURN_SHARE * abs(size))):
                yield _Transient(start=first.at, end=last.at, size=size)
                level_start = last.at
                break


def _transients_at_the_ends(values: Values, places: list[int], over: Sequence[_Transient]) -> Iterator[_Transient]:
    """Yield what is like the transients that are over, but has no level before it, or none after it."""
    spans = list(pairwise([0, *places, len(values)]))
    if places and all(each.start != places[0] for each in over):
        yield from _similar_to_others(values, spans[:1], spans[1], over)
    for place, at in enumerate(places):
        if any(each.start == at or each.contains(at) for each in over):
            continue
        if lasting := list(_similar_to_others(values, spans[place + 1 :], spans[place], over)):
            yield from lasting
            break


def _similar_to_others(
    values: Values, spans: Sequence[tuple[int, int]], around: tuple[int, int], over: Sequence[_Transient]
) -> Iterator[_Transient]:
    """Yield spans as one transient if they are no larger and no longer than those in the same direction that are over.

    They may be longer by less than a segment, and larger by no more than the margin.
    """
    start, end = spans[0][0], spans[-1][1]
    sizes = [float(np.median(values[slice(*span)]) - np.median(values[slice(*around)])) for span in spans]
    size = max(sizes, key=abs)
    others = [each for each in over if each.size * size > 0]
    if not others or any(each * size <= 0 for each in sizes):
        return
    no_longer = end - start <= max(each.end - each.start for each in others) + MIN_SEGMENT
    if no_longer and abs(size) <= max(abs(each.size) for each in others) + MARGIN:
        yield _Transient(start=start, end=end, size=size)


def _is_same_level(before: Values, after: Values, inflation: float, margin: float) -> bool:
    close = abs(np.median(after) - np.median(before)) <= margin
    return bool(close or _chance_of_same_level(before, after, inflation) > _RETURN_ALPHA)
