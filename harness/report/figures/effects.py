"""Effects as intervals around 1."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from harness import units
from harness.reading.table import in_words
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, WIDTH_IN, Drawn, clipped, styled, wrapped
from harness.report.figures.effect_words import finding, in_full, labels, level_of, notes
from harness.report.figures.speedups import draw_intervals, scale_speedups
from harness.report.verdicts import COLOURS, GLYPHS, MARKERS

_MOST_ROWS = 40
_USED = [
    "framework", "switched", "level", "levels", "baseline_levels", "against", "workload", "problem", "fixed",
    "speedup", "low", "high", "verdict", "pairs",
]  # fmt: skip
_LABEL_PT = 0.4 * 72 * WIDTH_IN  # the widest line of a label
_LINE_IN, _GAP_IN, _AXIS_IN = 0.16, 0.1, 0.5  # a line of a label, what parts two rows, the axis below them


def forest(effects: pd.DataFrame, noise: float) -> Drawn:
    """Draw the effects of one technique in one framework, the fastest on top, as intervals on a logarithmic axis."""
    effects = effects[_USED]
    rows = _strongest(effects).sort_values("speedup", ascending=False, kind="stable").reset_index(drop=True)
    rows = rows.assign(y=[float(y) for y in rows.index])
    named, shared = labels(rows)
    lines = [wrapped(clipped(label), _LABEL_PT) for label in named]
    height_in = (_GAP_IN + _LINE_IN * max(map(len, lines))) * len(rows) + _AXIS_IN
    framework, technique, title = effects["framework"].iloc[0], effects["switched"].iloc[0], finding(effects)
    with styled(height_in=height_in, title=title) as (figure, (axes,)):
        axes.axvspan(1 / (1 + noise), 1 + noise, color=COLOURS["same"], alpha=0.25, linewidth=0)
        scale_speedups(axes, rows)
        draw_intervals(axes, rows, "y")
        _points(axes, rows)
        axes.set_yticks(rows["y"], ["\n".join(each) for each in lines])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set(xlabel=clipped(f"speedup per item, {framework} (log)"), ylabel="")
        _write(axes, rows)
    return Drawn(
        kind="effects",
        name=slug(f"effects-{technique}-{framework}"),
        title=title,
        alt=in_full(effects),
        note=" ".join(notes(rows, effects, shared, noise)),
        data=_data(rows),
        about=(framework, technique),
        figure=figure,
    )


def _strongest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects that are furthest from 1, as many as a figure can show."""
    strength = effects["speedup"].map(lambda ratio: abs(math.log(ratio)))
    return effects[strength.rank(method="first", ascending=False) <= _MOST_ROWS]


def _points(axes: Axes, rows: pd.DataFrame) -> None:
    for verdict, chosen in rows.groupby("verdict"):
        look: Any = {"marker": MARKERS[str(verdict)], "color": COLOURS[str(verdict)]}
        axes.plot(chosen["speedup"], chosen["y"], linestyle="", markersize=6.5, markeredgewidth=0, zorder=3, **look)


def _write(axes: Axes, rows: pd.DataFrame) -> None:
    """Write verdict and speedup at the right of each row."""
    for y, verdict, speedup in zip(rows["y"], rows["verdict"], rows["speedup"], strict=True):
        place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(GLYPHS[verdict], (1, y), xytext=(6, 0), color=COLOURS[verdict], **place)
        axes.annotate(units.speedup(speedup), (1, y), xytext=(18, 0), color=INK, **place)


def _data(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what was drawn; a column in which nothing stands is left out."""
    data = pd.DataFrame(
        {
            "level": [level_of(row) for _, row in rows.iterrows()],
            "against": rows["against"],
            "workload": rows["workload"],
            "problem": [in_words({**row["problem"], **row["fixed"]}) for _, row in rows.iterrows()],
            "speedup (×)": rows["speedup"],
            "from (×)": rows["low"],
            "to (×)": rows["high"],
            "verdict": rows["verdict"],
            "pairs": rows["pairs"],
        }
    )
    return data.loc[:, (data != "").any()]
