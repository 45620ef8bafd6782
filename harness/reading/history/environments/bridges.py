"""What links the numbers of one sub-era with those of the next: a factor with its interval.

A bridge compares what both sides measured. Runs of one day share a fast or a slow machine, and the cases of one
workload share their code, so that cases are no independent witnesses. Each workload therefore speaks once, with the
median over its cases of the difference of their medians, and the factor is the median of the workloads. Its interval
has two parts:

- over the workloads, the exact interval of a median by the binomial distribution (Conover 1999, *Practical
  Nonparametric Statistics*, 3.2);
- over the runs, Student's t of what a run has in common, with one spread for both sides. The median of a normal sample
  has up to π/2 times the variance of its mean (Serfling 1980, *Approximation Theorems of Mathematical Statistics*,
  2.3.3).

They are put together as the distances of both from the middle, squared and added (Zou and Donner 2008, *Statistics in
Medicine* 27: intervals of sums recover the variances). Where neighbouring runs resemble each other, the second part is
widened by how much; strong resemblance is seen too late in few runs, and of intervals at 99 % then 96 to 97 % hold in
made-up histories whose neighbours correlate by 0.8. Times of one run a side have no interval. Effects are ratios within
a run, which a slow machine leaves alone: their interval has the first part only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from harness import units
from harness.reading.history.autocorrelation import autocorrelation, inflation, residuals

CONFIDENCE = 0.99
FEWEST_WORKLOADS = math.ceil(1 - math.log2(1 - CONFIDENCE))  # all of fewer lie on one side too often by chance
_OF = {"times": "log_s", "effects": "log_effect"}
_WORKLOAD = ["framework", "workload"]


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """The factor from one side to the other, its interval, and over how many common cases of how many workloads.

    A factor of times below 1 is faster. Too few workloads or runs leave the interval unbounded.
    """

    of: Literal["times", "effects"]
    factor: float
    low: float
    high: float
    cases: int
    workloads: int

    @property
    def unchanged(self) -> bool:
        """Whether the interval holds 1."""
        return self.low <= 1 <= self.high

    @property
    def bounded(self) -> bool:
        """Whether there is an interval at all."""
        return self.low > 0 and math.isfinite(self.high)


def bridge(before: pd.DataFrame, after: pd.DataFrame, of: Literal["times", "effects"]) -> Bridge | None:
    """Return what links two sets of observations, None where they have no case in common."""
    if before.empty or after.empty:
        return None
    sides = [_by_case(side, _OF[of]) for side in (before, after)]
    common = sides[0].index.intersection(sides[1].index)
    if common.empty:
        return None
    first, second = (side.loc[common] for side in sides)
    differences = (second.median(axis=1) - first.median(axis=1)).groupby(level=_WORKLOAD, observed=True).median()
    middle = float(differences.median())
    shared = 0.0 if of == "effects" else _shared([first, second])
    low, high = _interval(differences, shared)
    factor, low, high = (math.exp(value) for value in (middle, low, high))
    return Bridge(of=of, factor=factor, low=low, high=high, cases=len(common), workloads=len(differences))


def in_words(times: Bridge | None, effects: Bridge | None) -> str:
    """Return both factors as the end of a sentence."""
    if times is None:
        return "no case in common, so that nothing links their times"
    said = f"times {_factor(times)} over {units.plural(times.cases, 'common case')}"
    if effects is None:
        return f"{said}{_unbounded(times)}"
    if not effects.bounded:
        return f"{said}, effects {_factor(effects)}{_unbounded(times, effects)}"
    changed = f"as before on the whole ({_factor(effects)})" if effects.unchanged else _factor(effects)
    return f"{said}{_unbounded(times)}, effects {changed}"


def _by_case(side: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return one row per case and one column per run, in the order in which they come."""
    told = side[np.isfinite(side[column].astype(float))]
    cases = [*_WORKLOAD, "case", *(["size"] if "size" in told else [])]
    found = told.pivot_table(index=cases, columns="run", values=column, aggfunc="median", observed=True)
    return found[told["run"].drop_duplicates()]


def _interval(differences: pd.Series, shared: float) -> tuple[float, float]:
    """Return the interval of the median, widened by half of that of what runs have in common."""
    middle = float(differences.median())
    found = stats.quantile_test(differences.to_numpy(), q=middle).confidence_interval(CONFIDENCE)
    low = -math.inf if math.isnan(found.low) else found.low
    high = math.inf if math.isnan(found.high) else found.high
    return middle - math.hypot(middle - low, shared), middle + math.hypot(high - middle, shared)


def _shared(sides: list[pd.DataFrame]) -> float:
    """Return half the interval of what all cases of a run have in common; infinite from one run a side."""
    common = [_common(side) for side in sides]
    before, after = (len(each) for each in common)
    freedom = before + after - 2
    if freedom < 1:
        return math.inf
    squared = sum(float(((each - each.mean()) ** 2).sum()) for each in common) / freedom
    resembling = autocorrelation(residuals(np.concatenate(common), [0, before, before + after]), fitted=2)
    of_medians = math.pi / 2 if max(before, after) > 2 else 1.0
    variance = squared * (1 / before + 1 / after) * of_medians * inflation((before, after), resembling)
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(variance)


def _common(side: pd.DataFrame) -> NDArray[np.float64]:
    """Return how far each run lies from the others of its side: the median over its workloads."""
    away = side.sub(side.median(axis=1), axis=0)
    return away.groupby(level=_WORKLOAD, observed=True).median().median().dropna().to_numpy()


def _factor(found: Bridge) -> str:
    return units.ratio(found.factor, found.low, found.high) if found.bounded else units.speedup(found.factor)


def _unbounded(*found: Bridge) -> str:
    """Return why there is no interval, once for all that have none."""
    few = f"fewer than {FEWEST_WORKLOADS} workloads"
    why = [
        few if each.workloads < FEWEST_WORKLOADS else f"{each.of} of one run a side"
        for each in found
        if not each.bounded
    ]
    return f" (no interval from {' and '.join(dict.fromkeys(why))})" if why else ""
