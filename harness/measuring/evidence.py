"""What paired samples say: an e-value on signs, the interval that inverts it, and the verdict.

If two arms are the same, the sign of their difference in a coin-ordered pair is the coin's, whatever the drift or the
neighbours. A Beta(½, ½) mixture over the coin's bias turns sign counts into an e-value, which may be read after every
pair at no cost in error rate (Ville 1939; Robbins 1970; Howard et al. 2021, "Time-uniform, nonparametric,
nonasymptotic confidence sequences"). Everything here works on log speedups, so that 2× and ½× are equally far from 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.record import Verdict
from harness.verdict import verdict

UNBOUNDED = math.log(1e15)  # an upper end beyond this says nothing, and no result file may hold it


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A speedup with its interval at confidence ``1 - alpha``; an interval that too few pairs bound is (0, inf)."""

    speedup: float
    low: float
    high: float
    verdict: Verdict
    pairs: int

    @property
    def kept_high(self) -> float | None:
        """The interval's upper end as JSON can hold it: None where there is none."""
        return self.high if math.isfinite(self.high) else None

    @property
    def half_width(self) -> float:
        """Half the interval's width on the log scale, about the relative precision of the speedup."""
        return (math.log(self.high) - math.log(self.low)) / 2 if self.low > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How far the medians of groups lie apart: a standard deviation, and of how many degrees of freedom it is."""

    deviation: float
    freedom: int

    def reach(self, groups: int, alpha: float) -> float:
        """Return how far the mean of so many groups may be off to either side, by Student's t."""
        from scipy import special  # here, since it takes half a second and some workers need none of it

        if self.freedom < 1:
            return math.inf
        return float(special.stdtrit(self.freedom, 1 - alpha / 2)) * self.deviation / math.sqrt(groups)


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
    """Return how many pairs, all of one sign, can give a verdict at ``alpha``."""
    pairs = 1
    while heads_needed(pairs, alpha) is None:
        pairs += 1
    return pairs


def interval(log_ratios: Sequence[float] | np.ndarray, alpha: float) -> tuple[float, float]:
    """Return the confidence sequence for the median, from order statistics; unbounded where pairs are too few."""
    ordered = np.sort(np.asarray(log_ratios, dtype=float))
    heads = heads_needed(len(ordered), alpha) if len(ordered) else None
    if heads is None:
        return -math.inf, math.inf
    return float(ordered[len(ordered) - heads]), float(ordered[heads - 1])


def judge(
    log_ratios: Sequence[float] | np.ndarray,
    *,
    alpha: float,
    noise: float,
    together: int = 1,
    quiet: Sequence[bool] | np.ndarray | None = None,
) -> Judgement:
    """Judge paired log speedups measured in one process, by the means of so many pairs ``together``.

    If the arms are the same, the sign of such a mean is a fair coin's as the sign of each pair is. Pairs that are left
    over wait for the next look.

    ``quiet`` says which pairs nothing disturbed. Where others were, the interval is the hull of that of all pairs and
    that of the quiet ones alone, and the speedup is theirs. A neighbour that slows one arm more than the other can so
    make a verdict undecided but not wrong; and since the hull holds the interval of all pairs, the error rate is not
    touched by how the quiet ones were chosen, which is by readings of the machine and never by the samples.
    """
    masks = None if quiet is None else [quiet]
    return judge_groups([log_ratios], alpha=alpha, noise=noise, together=[together], quiet=masks)


def judge_groups(
    groups: Sequence[Sequence[float] | np.ndarray],
    *,
    alpha: float,
    noise: float,
    together: Sequence[int] | None = None,
    quiet: Sequence[Sequence[bool] | np.ndarray] | None = None,
    spread: Spread | None = None,
) -> Judgement:
    """Judge the same comparison repeated in several fresh workers, or over several builds of its arms.

    There is one group of log speedups for each of them. The interval covers both the pairs within groups, so many of
    each group's ``together``, and, by Student's t on the groups' medians, the spread between them: it is the hull of
    the two. ``quiet`` is as for ``judge``; groups without a quiet pair fall out, and two at least must be left.
    ``spread`` is that between groups, where more is known of it than these groups tell.
    """
    counts = together or [1] * len(groups)
    pairs = [np.asarray(group, dtype=float) for group in groups]
    low, high, centre = _across(pairs, counts, alpha, spread)
    if quiet is not None and not all(map(all, quiet)):
        calm = [group[np.asarray(mask, dtype=bool)] for group, mask in zip(pairs, quiet, strict=True)]
        calm_low, calm_high, calm_centre = _across(calm, counts, alpha, spread)
        low, high = min(low, calm_low), max(high, calm_high)
        centre = centre if math.isnan(calm_centre) else calm_centre
    return _judgement(centre, low, high, noise, sum(map(len, groups)))


def _across(
    groups: Sequence[np.ndarray], together: Sequence[int], alpha: float, spread: Spread | None
) -> tuple[float, float, float]:
    """Return the interval of all groups' means, unbounded where all but one are empty, and its centre, NaN of none."""
    means = [_means(group, count) for group, count in zip(groups, together, strict=True) if len(group)]
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


def _means(pairs: np.ndarray, together: int) -> np.ndarray:
    whole = len(pairs) // together * together
    return pairs[:whole].reshape(-1, together).mean(axis=1) if whole else pairs


def _judgement(centre: float, low: float, high: float, noise: float, pairs: int) -> Judgement:
    return Judgement(
        speedup=math.exp(centre),
        low=math.exp(low),
        high=math.exp(high) if high < UNBOUNDED else math.inf,
        verdict=verdict(low, high, noise),
        pairs=pairs,
    )
