"""Effects as intervals around 1."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from harness import units
from harness.reading.table import in_words
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, WIDER_IN, Drawn, clipped, styled, write_ticks
from harness.report.verdicts import COLOURS, GLYPHS, MARKERS

_MOST_ROWS = 200
_FURTHEST = 4.0  # an interval reaching further than this factor beyond all speedups is cut at the figure's edge
# Ticks within a decade, by the factor that the axis spans at least: dense enough to read, too few to touch.
_TICKS = {6.0: (1, 2, 5), 1.8: (1, 1.5, 2, 3, 5, 8), 1.4: (1, 1.2, 1.5, 8), 0.0: (1, 1.1, 1.2, 9)}


def forest(effects: pd.DataFrame, title: str, noise: float) -> Drawn:
    """Draw each effect as a point with its interval, on a logarithmic axis around 1, the fastest on top."""
    rows = _strongest(effects).sort_values("speedup", ascending=False, kind="stable").reset_index(drop=True)
    rows = rows.assign(y=[float(y) for y in rows.index])
    with styled(height_in=0.27 * len(rows) + 1.0, width_in=WIDER_IN) as (figure, (axes,)):
        axes.set_xscale("log")
        axes.set_xlim(*_limits(rows))
        axes.axvspan(1 / (1 + noise), 1 + noise, color=COLOURS["same"], alpha=0.25, linewidth=0)
        axes.axvline(1, color=INK, linewidth=0.8)
        _intervals(axes, rows)
        sns.scatterplot(
            rows, x="speedup", y="y", hue="verdict", style="verdict", palette=COLOURS, markers=MARKERS,
            s=42, linewidth=0, legend=False, zorder=3, ax=axes,
        )  # fmt: skip
        _label(axes, rows)
        axes.set_title(clipped(title))
    return Drawn(
        kind="effects",
        name=slug(f"effects-{title}"),
        title=title,
        alt=title,
        note=f"the {len(rows)} strongest of {len(effects)} effects" if len(rows) < len(effects) else "",
        data=rows[["level", "workload", "speedup", "low", "high", "verdict", "pairs"]],
        about=(effects["framework"].iloc[0], effects["switched"].iloc[0]),
        figure=figure,
    )


def _strongest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects that are furthest from 1, as many as a figure can show."""
    strength = effects["speedup"].map(lambda ratio: abs(math.log(ratio)))
    return effects[strength.rank(method="first", ascending=False) <= _MOST_ROWS]


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Return what the axis must span: 1, all speedups, and the intervals as far as they have ends and are near."""
    speedup = rows["speedup"]
    low = rows["low"].where(rows["low"] > 0, speedup).clip(lower=speedup.min() / _FURTHEST)
    high = rows["high"].where(np.isfinite(rows["high"]), speedup).clip(upper=speedup.max() * _FURTHEST)
    return min(low.min(), speedup.min(), 0.95) / 1.05, max(high.max(), speedup.max(), 1.05) * 1.05


def _intervals(axes: Axes, rows: pd.DataFrame) -> None:
    least, most = axes.get_xlim()
    for verdict, colour in COLOURS.items():
        chosen = rows[rows["verdict"] == verdict]
        axes.hlines(
            chosen["y"],
            chosen["low"].clip(lower=least),
            chosen["high"].clip(upper=most),
            color=colour,
            linewidth=2,
            linestyles="dotted" if verdict == "undecided" else "solid",
        )


def _label(axes: Axes, rows: pd.DataFrame) -> None:
    axes.set_yticks(rows["y"], _places(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set(xlabel="speedup per item, logarithmic", ylabel="")
    least, most = axes.get_xlim()
    ticks = next(ticks for span, ticks in _TICKS.items() if most / least > span)
    axes.xaxis.set_major_locator(LogLocator(subs=ticks))
    write_ticks(axes.xaxis, lambda value: f"{value:g}×")
    axes.tick_params(axis="x", which="minor", length=0)
    for y, verdict, speedup in zip(rows["y"], rows["verdict"], rows["speedup"], strict=True):
        text = f"{GLYPHS[verdict]} {units.speedup(speedup)}"
        axes.annotate(text, (1.01, y), xycoords=("axes fraction", "data"), va="center", color=COLOURS[verdict])


def _places(rows: pd.DataFrame) -> list[str]:
    """Name each row by its level, its workload and what else differs among the rows."""
    parts = [
        rows["level"].tolist(),
        rows["workload"].tolist(),
        [in_words(problem, number=units.short) for problem in rows["problem"]],
    ]
    others = (rows["framework"].tolist(), [in_words(fixed) for fixed in rows["fixed"]])
    parts += [other for other in others if len(set(other)) > 1]
    return [clipped(" · ".join(filter(None, place))) for place in zip(*parts, strict=True)]
