"""Samples and ratios as they are kept: quantiles, courses in time, an arm's timing, a comparison's effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from harness.measuring.evidence import Judgement
from harness.record import Effect, Timing

STRETCHES = 40  # of a course in time, enough to see a drift or a step
QUANTILES = 21  # every 5 %, enough to draw a distribution and small enough to keep


def timing_across(timings: Sequence[Timing], samples_s: Sequence[float]) -> Timing:
    """Return one timing for an arm that several workers timed: all of its samples, the typical cost of starting."""
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
    )


def _known_median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def effect_of(judgement: Judgement, log_ratios: Sequence[float], *, builds: int = 1) -> Effect:
    """Return a judgement as it is kept."""
    return Effect(
        speedup=judgement.speedup,
        low=judgement.low,
        high=judgement.kept_high,
        verdict=judgement.verdict,
        pairs=judgement.pairs,
        builds=builds,
        log_ratios=quantiles(log_ratios),
        log_ratios_in_order=in_order(log_ratios),
    )


def quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """Return evenly spaced quantiles, from the least to the greatest, to six significant digits."""
    return _rounded(np.quantile(values, np.linspace(0, 1, QUANTILES)), digits=6)


def in_order(values: Sequence[float]) -> tuple[float, ...]:
    """Return values in the order in which they were taken: all, or the medians of stretches of equal length."""
    if len(values) <= STRETCHES:
        return _rounded(values, digits=4)
    ends = np.rint(np.linspace(0, len(values), STRETCHES + 1)).astype(int)  # where builds end, of ten as of eight
    return _rounded((np.median(values[first:end]) for first, end in pairwise(ends)), digits=4)


def _rounded(values: Iterable[float], *, digits: int) -> tuple[float, ...]:
    return tuple(float(f"{value:.{digits}g}") for value in values)
