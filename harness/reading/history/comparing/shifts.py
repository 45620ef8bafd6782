"""How far the values of many series lie apart between two sides, with intervals and verdicts. The unit is the run."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, t

from harness.reading.history.comparing.sides import Side
from harness.reading.history.gate.learning import learn

FACTOR = 1.5  # between unchanged runs of a shared two-core machine, one effect in a hundred moved by 1.2 to 1.4
Floats = NDArray[np.float64]
_TAILS = 10.0  # degrees of freedom at most where one or two runs, not a mean of several, may lie far out
LEAST_RUNS, MOST_RUNS = 3, 200  # a side: what a spread can be learnt from, and what nobody will make


def shifts(
    values: pd.DataFrame, before: Side, after: Side, alpha: float, zones: Floats, doubts: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return for each series how much higher it lies after than before, from runs of which the spread is known.

    Takes logarithms, a row per series and a column per run; ``alpha``, the false-discovery rate over all series;
    ``zones``, how large a shift of each must be to matter; and in ``doubts`` the standard errors that the runs give
    themselves: a side too short to show its own spread is never taken to be surer than that. Intervals are Student's,
    or Welch's across machines, on the means of runs; how much runs of a machine spread is learnt over all series. The
    columns: ``before``, ``after``, ``shift``, ``low``, ``high``, ``p``, ``verdict`` (above 0 is ``faster``), and
    ``runs``: about how many a side would decide what is undecided.
    """
    errors, freedoms = zip(*(_error(values, side, doubts) for side in (before, after)), strict=True)
    error = np.hypot(*errors)
    freedom = np.minimum(*freedoms) if before.alike == after.alike else _welch(errors, freedoms)
    means = means_of(values, before, after)
    shift = means["after"] - means["before"]
    reach = np.nan_to_num(t.isf(alpha / 2, freedom) * error, nan=math.inf)
    p = 2 * t.sf(np.abs(shift) / error, freedom)
    found = means.assign(shift=shift, low=shift - reach, high=shift + reach, p=p)
    sizes = [values[list(side.runs)].notna().sum(axis=1) for side in (before, after)]
    per_run = error / np.sqrt(1 / sizes[0] + 1 / sizes[1])
    judged = found.assign(verdict=_verdicts(found, alpha, zones))
    return judged.assign(runs=_needed(judged, per_run, alpha, zones))


def shifts_of_unknown_spread(means: pd.DataFrame, low: pd.Series, high: pd.Series) -> pd.DataFrame:
    """Return shifts between runs of which nobody knows how much such runs spread.

    The interval then holds for these very runs alone. It decides nothing unless it lies beyond a factor of 1.5.
    """
    shift = means["after"] - means["before"]
    far = (low > math.log(FACTOR)) | (high < -math.log(FACTOR))
    verdict = np.where(far, _directions(shift), "undecided")
    runs = np.where(far, np.nan, float(LEAST_RUNS))
    return means.assign(shift=shift, low=low, high=high, p=np.nan, verdict=verdict, runs=runs)


def means_of(values: pd.DataFrame, before: Side, after: Side) -> pd.DataFrame:
    """Return the mean over the runs of each side, in columns ``before`` and ``after``."""
    sides = {"before": before, "after": after}
    return pd.DataFrame({name: values[list(side.runs)].mean(axis=1) for name, side in sides.items()})


def _error(values: pd.DataFrame, side: Side, doubts: pd.DataFrame | None) -> tuple[Floats, Floats]:
    """Return the standard error of a side's mean in each series, and its degrees of freedom."""
    told = values[[run for group in side.alike for run in group]].to_numpy(float).T
    states = np.repeat(np.arange(len(side.alike)), [len(group) for group in side.alike])
    spread = learn(told, np.broadcast_to(states[:, None], told.shape))
    variance = spread.deviation**2
    here = values[list(side.runs)].notna()
    if doubts is not None and side.is_short:
        own = doubts[list(side.runs)].pow(2).where(here).max(axis=1).to_numpy()
        variance = np.fmax(variance, own)
    most = _TAILS if side.is_short else np.inf
    return np.sqrt(variance / here.sum(axis=1).to_numpy()), np.minimum(spread.freedom, most)


def _welch(errors: tuple[Floats, ...], freedoms: tuple[Floats, ...]) -> Floats:
    """Return the degrees of freedom of a difference whose sides spread differently (Welch 1947, *Biometrika* 34)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = sum(error**4 / freedom for error, freedom in zip(errors, freedoms, strict=True))
        return np.asarray((errors[0] ** 2 + errors[1] ** 2) ** 2 / parts)


def _verdicts(found: pd.DataFrame, alpha: float, zones: Floats) -> Floats:
    """Return a verdict per series: significant among all of them, or the same within the smallest change.

    Effects of one trial share its baseline; the rate of Benjamini and Hochberg (1995) holds for such dependence
    (Benjamini and Yekutieli 2001, *Annals of Statistics* 29).
    """
    told = found["p"].notna()
    adjusted = found["p"].copy()
    adjusted[told] = false_discovery_control(found.loc[told, "p"]) if told.any() else adjusted[told]
    same = (found["low"] >= -zones) & (found["high"] <= zones)
    decided = np.where(adjusted <= alpha, _directions(found["shift"]), "undecided")
    return np.where(same, "same", decided)


def _directions(shift: pd.Series) -> Floats:
    return np.where(shift > 0, "faster", "slower")


def _needed(found: pd.DataFrame, per_run: pd.Series, alpha: float, zones: Floats) -> Floats:
    """Return about how many runs a side would decide an undecided shift that stays where it is; missing otherwise.

    It becomes the same once the interval fits between the borders of what matters, and faster or slower once it is the
    next among all series that is significant.
    """
    shift, pending = np.asarray(found["shift"].abs()), (found["verdict"] == "undecided").to_numpy()
    called = int(found["verdict"].isin(["faster", "slower"]).sum())
    same = _least(per_run, zones - shift, alpha)
    apart = _least(per_run, shift, alpha * (called + 1) / max(len(found), 1))
    return np.where(pending, np.minimum(same, apart), np.nan)


def _least(per_run: pd.Series, room: Floats, alpha: float) -> Floats:
    """Return the least number of runs a side at which half of an interval fits; infinity where 200 are too few."""
    runs = np.arange(LEAST_RUNS, MOST_RUNS + 1)
    reach = t.isf(alpha / 2, 2 * runs - 2) * np.sqrt(2 / runs)
    short = np.asarray(per_run)[:, None] * reach > room[:, None]
    return np.where(short.all(axis=1), math.inf, LEAST_RUNS + short.sum(axis=1))
