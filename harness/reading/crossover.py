"""Size sweeps: from which size on a technique pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.reading.table import held_in_words, in_words

_BEYOND = 50.0  # the log of a ratio that stands for an interval without a bound


@dataclass(frozen=True, kw_only=True)
class SizeSweep:
    """One candidate over the sizes of a problem. ``arms`` is one row per size, in order, with a ``size`` column.

    ``crossover`` is the size at which the speedup crosses 1, interpolated on logarithmic axes, and None where the
    first and the last size fall on one side, it crosses more than once, or no size was decided to be faster. ``low``
    and ``high`` bound it by the speedups' own intervals; None is a bound outside the range. ``direction`` is "up"
    where the candidate is the faster one at the large sizes, "down" at the small ones; where there is no crossover it
    is "above" or "below" 1, "flat" where no size was decided either way, or "mixed".
    """

    test: str
    workload: str
    framework: str
    held: str
    level: str
    against: str
    axis: str
    arms: pd.DataFrame
    direction: str
    crossover: float | None = None
    low: float | None = None
    high: float | None = None


def size_sweeps(effects: pd.DataFrame) -> list[SizeSweep]:
    """Return every candidate that was measured on problems which differ in one number only.

    Takes the effects of one run.
    """
    if effects.empty:
        return []
    sweeps: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    for position in range(len(effects)):
        row = effects.iloc[position]
        for axis, size in _numbers(row["problem"]):
            sweeps.setdefault(_key(row, axis), []).append((size, position))
    found = []
    for (*_, axis), points in sweeps.items():
        if len({size for size, _ in points}) >= 2:
            points.sort()
            chosen = effects.iloc[[position for _, position in points]]
            found.append(_sweep(chosen.assign(size=[size for size, _ in points]), axis))
    return found


def _numbers(problem: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in problem.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            yield name, float(value)


def _key(row: pd.Series[Any], axis: str) -> tuple[str, ...]:
    others = {name: value for name, value in row["problem"].items() if name != axis}
    held = (in_words(others), in_words(row["fixed"]))
    return (row["test"], row["workload"], row["framework"], row["level"], row["against"], *held, axis)


def _sweep(arms: pd.DataFrame, axis: str) -> SizeSweep:
    first = arms.iloc[0]
    others = {name: value for name, value in first["problem"].items() if name != axis}
    return SizeSweep(
        test=first["test"],
        workload=first["workload"],
        framework=first["framework"],
        held=held_in_words(others, first["fixed"]),
        level=first["level"],
        against=first["against"],
        axis=axis.replace("_", "-"),
        arms=arms.reset_index(drop=True),
        **_crossing(arms),
    )


def _crossing(arms: pd.DataFrame) -> dict[str, Any]:
    if not (arms["verdict"] == "faster").any():
        return {"direction": "below" if (arms["verdict"] == "slower").any() else "flat"}
    size = np.log(arms["size"].to_numpy(float))
    middle, low, high = (_log(arms[column]) for column in ("speedup", "low", "high"))
    places = _zeros(size, middle)
    if not places:
        return {"direction": "above" if middle.sum() > 0 else "below"}
    if len(places) > 1:
        return {"direction": "mixed"}
    rises = middle[-1] > middle[0]
    earliest, latest = (high, low) if rises else (-low, -high)
    first, last = _zeros(size, earliest), _zeros(size, latest)
    return {
        "direction": "up" if rises else "down",
        "crossover": float(np.exp(places[0])),
        "low": float(np.exp(first[0])) if first and earliest[0] < 0 else None,
        "high": float(np.exp(last[-1])) if last and latest[-1] > 0 else None,
    }


def _log(ratios: pd.Series[Any]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(ratios.to_numpy(float)), -_BEYOND, _BEYOND))


def _zeros(x: np.ndarray, y: np.ndarray) -> list[float]:
    """Return where the straight lines through the points cross 0."""
    changes = [i for i in range(len(x) - 1) if (y[i] < 0) != (y[i + 1] < 0)]
    return [float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1])) for i in changes]
