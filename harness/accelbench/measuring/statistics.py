"""Statistics of paired samples: an e-value on signs, the interval that inverts it, and the verdict.

If two arms are the same, the sign of their difference in a coin-ordered pair is the coin's, whatever else the machine
does. A Beta(½, ½) mixture over the coin's bias turns sign counts into an e-value, which may be read after every
pair at no cost in error rate (Ville 1939; Robbins 1970; Howard et al. 2021, "Time-uniform, nonparametric,
nonasymptotic confidence sequences"). Everything here works on log speedups, so that 2× and ½× are equally far from 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from accelbench import student_t
from accelbench.core import Plan
from accelbench.schema.result import Effect, Timing, Verdict
from accelbench.schema.verdict import verdict

PAIRS_OF_VISIT = 1  # at least, since an interval over several visits rests on one number of each
UNBOUNDED = math.log(1e15)  # an end beyond this means nothing, and no result file may contain it


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A speedup with its interval at confidence ``1 - alpha``, which is (0, inf) where there are too few pairs."""

    speedup: float
    low: float
    high: float
    verdict: Verdict
    pairs: int

    @property
    def kept_high(self) -> float | None:
        """The interval's upper end for JSON: None where it is infinite."""
        return self.high if math.isfinite(self.high) else None

    @property
    def half_width(self) -> float:
        """Half the interval's width on the log scale, about the relative precision of the speedup."""
        return (math.log(self.high) - math.log(self.low)) / 2 if self.low > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The spread of the medians of groups: a standard deviation with its degrees of freedom."""

    deviation: float
    freedom: int

    def reach(self, groups: int, alpha: float) -> float:
        """Return the half-width of the confidence interval of the mean of ``groups``, by Student's t."""
        if self.freedom < 1:
            return math.inf
        return student_t.quantile(self.freedom, alpha) * self.deviation / math.sqrt(groups)


def log_e_value(heads: int, tosses: int) -> float:
    """Return the log of the Beta(½, ½)-mixture e-value against a fair coin."""
    tails = tosses - heads
    return (
        tosses * math.log(2)
        + math.lgamma(heads + 0.5)
        + math.lgamma(tails + 0.5)
        - math.lgamma(tosses + 1)
        - math.log(math.pi)
    )


@lru_cache(maxsize=4096)
def heads_needed(tosses: int, alpha: float) -> int | None:
    """Return the fewest heads that reject a fair coin at ``alpha``, or None where no count does."""
    needed = -math.log(alpha)
    if log_e_value(tosses, tosses) < needed:
        return None
    return bisect_left(range(tosses), needed, lo=tosses // 2 + 1, key=lambda heads: log_e_value(heads, tosses))


def fewest_pairs(alpha: float) -> int:
    """Return the smallest number of pairs, all of one sign, that gives a verdict at ``alpha``."""
    pairs = 1
    while heads_needed(pairs, alpha) is None:
        pairs += 1
    return pairs


def fewest_pairs_of(plan: Plan, alpha: float) -> int:
    """Return the smallest number of pairs that is of use: one of several visits needs no verdict of its own."""
    return fewest_pairs(alpha) if plan.visits == 1 else PAIRS_OF_VISIT


def interval(log_ratios: Sequence[float] | np.ndarray, alpha: float) -> tuple[float, float]:
    """Return the confidence sequence for the median, from order statistics; unbounded where pairs are too few."""
    heads = heads_needed(len(log_ratios), alpha) if len(log_ratios) else None
    if heads is None:
        return -math.inf, math.inf
    ordered = np.sort(np.asarray(log_ratios, dtype=float))
    return float(ordered[len(ordered) - heads]), float(ordered[heads - 1])


def judge_groups(
    groups: Sequence[Sequence[float] | np.ndarray],
    *,
    alpha: float,
    noise: float,
    pairs_per_mean: int = 1,
    slowdowns: Sequence[np.ndarray] | None = None,
    spread: Spread | None = None,
) -> Judgement:
    """Judge a comparison by its paired log speedups, in groups if it was repeated in fresh workers or builds.

    The interval is that of the means of each group's ``pairs_per_mean``. If the arms are the same, the sign of such a
    mean is a fair coin's, as the sign of each pair is. An incomplete mean at the end is left out. Of several groups,
    the interval is the hull of two: that one, and that of the groups' medians by Student's t, which carries the spread
    between groups. ``spread`` replaces the spread between these groups, where a better estimate of it is known.

    ``slowdowns`` are the logs of how much slower one arm of each pair may have been than on an undisturbed machine: 0
    for a pair that nothing disturbed, infinite where it cannot be known. If some were disturbed, the interval is the
    hull of two: that of all pairs, and the narrower of two that the disturbance cannot explain. One of these is that of
    the undisturbed pairs. The other is that of all pairs, widened as if each slowdown had hit one of the arms alone.
    The speedup is that of the undisturbed pairs. Other work on the machine that slows one arm more than the other can
    then make a verdict undecided, but not wrong. Since the hull contains the interval of all pairs, the error rate does
    not depend on how pairs were found to be disturbed; readings of the machine decide that, never the samples. Groups
    without an undisturbed pair are left out of the undisturbed ones; of several groups, at least two must remain.
    """
    pairs = [np.asarray(group, dtype=float) for group in groups]
    low, high, centre = _across(pairs, pairs_per_mean, alpha, spread)
    if slowdowns is not None and any(slowed.any() for slowed in slowdowns):
        known = [np.minimum(slowed, 2 * UNBOUNDED) for slowed in slowdowns]  # infinite ones have no standard deviation
        kept = [group[slowed == 0] for group, slowed in zip(pairs, known, strict=True)]
        least = [group - slowed for group, slowed in zip(pairs, known, strict=True)]
        most = [group + slowed for group, slowed in zip(pairs, known, strict=True)]
        kept_low, kept_high, kept_centre = _across(kept, pairs_per_mean, alpha, spread)
        low = min(low, max(kept_low, _across(least, pairs_per_mean, alpha, spread)[0]))
        high = max(high, min(kept_high, _across(most, pairs_per_mean, alpha, spread)[1]))
        centre = centre if math.isnan(kept_centre) else kept_centre
    return judgement_of(centre, low, high, noise=noise, pairs=sum(map(len, groups)))


def _across(
    groups: Sequence[np.ndarray], pairs_per_mean: int, alpha: float, spread: Spread | None
) -> tuple[float, float, float]:
    """Return the interval of all groups' means, unbounded where all but one are empty, and its centre or NaN."""
    means = [_means(group, pairs_per_mean) for group in groups if len(group)]
    medians = np.array([np.median(group) for group in means])
    centre = float(np.mean(medians)) if means else math.nan
    if len(means) < min(2, len(groups)):
        return -math.inf, math.inf, centre
    low, high = interval(np.concatenate(means), alpha)
    if spread is None and len(means) > 1:
        spread = Spread(deviation=float(np.std(medians, ddof=1)), freedom=len(means) - 1)
    if spread is not None:
        reach = spread.reach(len(means), alpha)
        low, high = min(low, centre - reach), max(high, centre + reach)
    return low, high, centre


EARLY_SHARE = 0.25  # of the error rate, spent on looks before the last one
TRIMMED_SHARE = 0.1  # of the builds is left out at each end of their order, since some may have been disturbed


def judge_builds(
    medians: Sequence[float] | np.ndarray,
    *,
    alpha: float,
    noise: float,
    pairs: int,
    undisturbed: Sequence[bool] | np.ndarray,
    last: bool,
) -> Judgement:
    """Judge a comparison by the median log speedup of each build of its arms.

    The sign of such a median is a fair coin's if the arms are the same and coins decide the order in which they are
    built and timed. So the interval of the signs may be read after every build. It costs width, and a quarter of
    ``alpha``; the ``last`` look, once the time is up, uses the rest for the interval of the trimmed mean by Student's t
    (Tukey and McLaughlin 1963, "Less vulnerable confidence and significance procedures for location based on a single
    sample"). ``undisturbed`` marks the builds that nothing disturbed.
    """
    values, kept = np.asarray(medians, dtype=float), np.asarray(undisturbed, dtype=bool)
    low, high, centre = _of_builds(values, alpha, last=last)
    if not kept.all() and kept.sum() >= 2:
        kept_low, kept_high, centre = _of_builds(values[kept], alpha, last=last)
        low, high = min(low, kept_low), max(high, kept_high)
    return judgement_of(centre, low, high, noise=noise, pairs=pairs)


def _of_builds(medians: np.ndarray, alpha: float, *, last: bool) -> tuple[float, float, float]:
    """Return the interval of builds' medians and its centre."""
    if not last:
        return *interval(medians, EARLY_SHARE * alpha), float(np.median(medians))
    return _of_trimmed_mean(medians, (1 - EARLY_SHARE) * alpha)


def _of_trimmed_mean(values: np.ndarray, alpha: float) -> tuple[float, float, float]:
    """Return the interval of the trimmed mean by Student's t, unbounded for a single value, and that mean."""
    ordered, count = np.sort(values), len(values)
    cut = int(TRIMMED_SHARE * count)
    kept = ordered[cut : count - cut]
    centre = float(np.mean(kept))
    if count < 2:
        return -math.inf, math.inf, centre
    winsorized = np.clip(values, kept[0], kept[-1])
    spread = Spread(deviation=float(np.std(winsorized, ddof=1)), freedom=len(kept) - 1)
    reach = spread.reach(count, alpha) * count / len(kept)
    return centre - reach, centre + reach, centre


def _means(pairs: np.ndarray, pairs_per_mean: int) -> np.ndarray:
    whole = len(pairs) // pairs_per_mean * pairs_per_mean
    return pairs[:whole].reshape(-1, pairs_per_mean).mean(axis=1) if whole else pairs


def judgement_of(
    centre: float, low: float, high: float, *, noise: float, pairs: int, same: float | None = None
) -> Judgement:
    """Return the judgement on an interval of log speedups, with the zones of `accelbench.schema.verdict.verdict`."""
    return Judgement(
        speedup=math.exp(centre),
        low=math.exp(low) if low > -UNBOUNDED else 0.0,
        high=math.exp(high) if high < UNBOUNDED else math.inf,
        verdict=verdict(low, high, noise, same),
        pairs=pairs,
    )


STRETCHES = 40  # of a time series, enough to see a drift or a step
QUANTILES = 21  # every 5 %, enough to draw a distribution and small enough to keep


def timing_across(timings: Sequence[Timing], samples_s: Sequence[float]) -> Timing:
    """Return one timing for an arm that several workers timed: all samples, and the median costs of starting."""
    return Timing(
        median_s=float(np.median(samples_s)),
        quantiles_s=quantiles(samples_s),
        blocks=len(samples_s),
        iterations_per_block=timings[0].iterations_per_block,
        cold_s=float(np.median([timing.cold_s for timing in timings])),
        build_s=float(np.median([timing.build_s for timing in timings])),
        warmup_blocks=max(timing.warmup_blocks for timing in timings),
        warmup_settled=all(timing.warmup_settled for timing in timings),
        warmup_s=timings[0].warmup_s,
        device_s=_known_median(timing.device_s for timing in timings),
        page_faults=_known_median(timing.page_faults for timing in timings),
        events_s=_known_median(timing.events_s for timing in timings),
    )


def _known_median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def effect_of(
    judgement: Judgement, groups: Sequence[Sequence[float]], against: Mapping[str, str], *, builds: int = 1
) -> Effect:
    """Return the effect that a result stores for a judgement of an arm against the arm at other levels.

    Stretches of the log speedups end where ``groups`` of them end.
    """
    return Effect(
        against=dict(against),
        speedup=judgement.speedup,
        low=judgement.low,
        high=judgement.kept_high,
        verdict=judgement.verdict,
        pairs=judgement.pairs,
        builds=builds,
        log_ratios=quantiles(list(chain(*groups))),
        log_ratios_in_order=in_order(*groups),
    )


def quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """Return evenly spaced quantiles, from the least to the greatest, to six significant digits."""
    return _round_significant(np.quantile(values, np.linspace(0, 1, QUANTILES)), digits=6)


def in_order(*groups: Sequence[float]) -> tuple[float, ...]:
    """Return values in the order in which they were measured: all, or the medians of stretches of equal length.

    Of several groups, each has the same number of stretches, at most 40 together unless there are more groups.
    """
    each = min(max(1, STRETCHES // len(groups)), *map(len, groups))
    return tuple(chain(*(_stretches(group, each) for group in groups)))


def _stretches(values: Sequence[float], count: int) -> tuple[float, ...]:
    if len(values) == count:
        return _round_significant(values, digits=4)
    ends = np.rint(np.linspace(0, len(values), count + 1)).astype(int)
    return _round_significant((np.median(values[first:end]) for first, end in pairwise(ends)), digits=4)


def _round_significant(values: Iterable[float], *, digits: int) -> tuple[float, ...]:
    return tuple(float(f"{value:.{digits}g}") for value in values)
