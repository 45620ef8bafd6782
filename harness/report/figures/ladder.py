"""Stacked techniques as a ladder from the naive start."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from harness import units
from harness.reading.ladders import Ladder
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, LINE, Drawn, clipped, styled
from harness.report.figures.speedups import draw_intervals, scale_speedups
from harness.report.figures.words import sampled, subject
from harness.report.verdicts import COLOURS, GLYPHS, MARKERS

_MOST_OF_IT = 0.5  # of the whole way up, by the logarithm, so that the rungs' shares add up to it
_MOST_RUNGS = 100
_DRAWN = {
    "rung": "rung",
    "speedup": "speedup over the start (×)",
    "low": "from (×)",
    "high": "to (×)",
    "verdict": "verdict",
    "pairs": "pairs",
    "gain": "gain over the rung below (×)",
    "gain_low": "gain at least (×)",
    "gain_high": "gain at most (×)",
}


def climb(ladder: Ladder) -> Drawn:
    """Draw each rung's speedup over the start, with its interval, and the way up from the rung below."""
    rungs = ladder.rungs.head(_MOST_RUNGS)
    rungs = rungs.assign(y=[float(y) for y in rungs.index])
    title = f"{subject(ladder.workload, ladder.held)}: {_finding(ladder)}"
    with styled(height_in=0.32 * len(rungs) + 0.9, title=title) as (figure, (axes,)):
        scale_speedups(axes, rungs)
        _ways_up(axes, rungs)
        draw_intervals(axes, rungs, "y")
        sns.scatterplot(
            rungs, x="speedup", y="y", hue="verdict", style="verdict", palette=COLOURS, markers=MARKERS,
            s=42, linewidth=0, legend=False, zorder=3, ax=axes,
        )  # fmt: skip
        axes.plot(1, 0, marker="o", markersize=6, color=INK, zorder=3)
        axes.set(xlabel=f"speedup over {clipped(ladder.start)} (log)", ylabel="")
        axes.set_yticks(rungs["y"], [clipped(rung) for rung in rungs["rung"]])
        axes.set_ylim(len(rungs) - 0.4, -0.6)
        _label(axes, rungs)
    return Drawn(
        kind="ladder",
        name=slug(f"ladder-{ladder.technique}-{ladder.workload}-{ladder.held}"),
        title=title,
        alt=f"{title}. Rung by rung: {_each(rungs)}.",
        note=_note(ladder),
        data=rungs[[*_DRAWN]].rename(columns=_DRAWN),
        about=(ladder.framework, ladder.technique),
        figure=figure,
    )


def _ways_up(axes: Axes, rungs: pd.DataFrame) -> None:
    """Draw a bar from each rung's speedup to that of the next."""
    below = rungs["speedup"].shift()
    axes.hlines(rungs["y"][1:], below[1:], rungs["speedup"][1:], color=LINE, linewidth=10)
    axes.vlines(below[1:], rungs["y"].shift()[1:], rungs["y"][1:], color=INK, linewidth=0.6)


def _label(axes: Axes, rungs: pd.DataFrame) -> None:
    """Write each speedup and each rung's own gain at the right."""
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for right_pt, heading in ((6, "together"), (60, "this rung")):
        axes.annotate(heading, (1, 0), xytext=(right_pt, 0), color=INK, **place)
    rows = zip(rungs["y"], rungs["verdict"], rungs["speedup"], rungs["gain"], strict=True)
    for y, verdict, speedup, gain in islice(rows, 1, None):
        axes.annotate(GLYPHS[verdict], (1, y), xytext=(6, 0), color=COLOURS[verdict], **place)
        axes.annotate(units.speedup(speedup), (1, y), xytext=(18, 0), color=INK, **place)
        axes.annotate(units.speedup(gain), (1, y), xytext=(60, 0), color=INK, **place)


def _finding(ladder: Ladder) -> str:
    """Say what all rungs bring together, and which one brings most of it."""
    top, largest = ladder.top, ladder.largest
    together = f"{units.speedup(top['speedup'])} as fast as {ladder.start} ({units.bounds(top['low'], top['high'])})"
    if top["verdict"] == "undecided":
        return f"it is undecided whether all together pay: {together}"
    if top["verdict"] != "faster":
        return f"all together do not pay: {together}"
    most = math.log(largest["gain"]) > _MOST_OF_IT * math.log(top["speedup"])
    brings = "most of it" if most else "the largest part"
    return f"all together {together}; {largest['rung']} brings {brings} ({units.speedup(largest['gain'])})"


def _each(rungs: pd.DataFrame) -> str:
    rows = zip(rungs["rung"], rungs["speedup"], rungs["low"], rungs["high"], rungs["gain"], strict=True)
    _, *above = rows
    return "; ".join(
        f"{rung} {units.ratio(*speedup)}, {units.speedup(gain)} the rung below" for rung, *speedup, gain in above
    )


def _note(ladder: Ladder) -> str:
    missing = f" Not measured: {', '.join(ladder.missing)}." if ladder.missing else ""
    return (
        f"Each rung adds to those above it. Points: speedup over {ladder.start}, lines: its interval, "
        f"{sampled(ladder.rungs['pairs'], 'pair')} each. Bars: what a rung gains over the one before, a ratio of two "
        "speedups; they were not paired with each other, so it has no interval of its own, only what both intervals "
        f"allow (in the table).{missing}"
    )
