"""The logarithmic axis of speedups, and intervals on it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from harness.report.figures.drawing import INK, write_ticks
from harness.report.verdicts import COLOURS

_FURTHEST = 4.0  # an interval reaching further than this factor beyond all speedups is cut at the figure's edge
# Ticks within a decade, by the factor that the axis spans at least: dense enough to read, too few to touch.
_TICKS = {
    200.0: (1,), 25.0: (1, 3), 6.0: (1, 2, 5), 1.8: (1, 1.5, 2, 3, 5, 8), 1.4: (1, 1.2, 1.5, 8), 0.0: (1, 1.1, 1.2, 9),
}  # fmt: skip


def scale_speedups(axes: Axes, effects: pd.DataFrame, *, upright: bool = False) -> None:
    """Make the x axis one of speedups, or the y axis where it is ``upright``.

    It spans 1, all speedups, and their intervals where they end and are near.
    """
    speedup = effects["speedup"]
    low = effects["low"].where(effects["low"] > 0, speedup).clip(lower=speedup.min() / _FURTHEST)
    high = effects["high"].where(np.isfinite(effects["high"]), speedup).clip(upper=speedup.max() * _FURTHEST)
    least, most = min(low.min(), speedup.min(), 0.95), max(high.max(), speedup.max(), 1.05)
    room = (most / least) ** 0.04  # for half a marker
    least, most = least / room, most * room
    along: Literal["x", "y"] = "y" if upright else "x"
    axes.set(**{f"{along}scale": "log", f"{along}lim": (least, most)})
    axis, mark = (axes.yaxis, axes.axhline) if upright else (axes.xaxis, axes.axvline)
    axis.set_major_locator(LogLocator(subs=next(ticks for span, ticks in _TICKS.items() if most / least > span)))
    write_ticks(axis, lambda value: f"{value:g}×")
    axes.tick_params(axis=along, which="minor", length=0)
    mark(1, color=INK, linewidth=0.8)


def draw_intervals(axes: Axes, effects: pd.DataFrame, at: str, *, linewidth: float = 2, alpha: float = 1) -> None:
    """Draw intervals in the colours of their verdicts, at the height in the column ``at``, within the axis."""
    least, most = axes.get_xlim()
    for verdict, colour in COLOURS.items():
        chosen = effects[effects["verdict"] == verdict]
        low, high = chosen["low"].clip(lower=least), chosen["high"].clip(upper=most)
        style: Any = "dotted" if verdict == "undecided" else "solid"
        axes.hlines(chosen[at], low, high, color=colour, linewidth=linewidth, alpha=alpha, linestyles=style)
