"""Stacked techniques as a ladder from the naive start, and what each rung adds to the one below."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from harness import units
from harness.reading.ladders import Ladder
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, LINE, Drawn, clipped, styled, wrapped
from harness.report.figures.speedups import draw_intervals, scale_speedups
from harness.report.figures.words import sampled, subject
from harness.report.verdicts import COLOURS, GLYPHS, MARKERS

_MOST_OF_IT = 0.5  # of the whole way up, by the logarithm, so that the rungs' shares add up to it
_MOST_RUNGS = 100
_LABEL_PT = 110  # a wider label would take the room of what is drawn
_DRAWN = {
    "rung": "rung",
    "speedup": "speedup over the start (×)",
    "low": "from (×)",
    "high": "to (×)",
    "verdict": "verdict",
    "pairs": "pairs",
    "gain": "gain over the rung below (×)",
    "gain_low": "gain from (×)",
    "gain_high": "gain to (×)",
    "gain_verdict": "verdict on the gain",
}
_GAIN = {"gain": "speedup", "gain_low": "low", "gain_high": "high", "gain_verdict": "verdict"}


def climb(ladder: Ladder) -> Drawn:
    """Draw each rung's speedup over the start above, and over the rung below it underneath, with their intervals."""
    rungs = ladder.rungs.head(_MOST_RUNGS)
    rungs = rungs.assign(y=[float(y) for y in rungs.index])
    gains = rungs[["rung", "y", *_GAIN]].rename(columns=_GAIN).iloc[1:]
    title = f"{subject(ladder.workload, ladder.held)}: {_finding(ladder)}"
    with styled(2, height_in=0.5 * len(rungs) + 1.5, title=title) as (figure, (together, apart)):
        scale_speedups(together, pd.concat([rungs, gains], ignore_index=True))
        _ways_up(together, rungs)
        _draw(together, rungs)
        together.plot(1, 0, marker="o", markersize=6, color=INK, zorder=3)
        together.set(title=f"Together, over {clipped(ladder.start)}")
        _bars(apart, gains)
        _draw(apart, gains)
        apart.axvline(1, color=INK, linewidth=0.8)
        apart.set(title="Each over the rung below", xlabel="speedup (log)")
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


def _draw(axes: Axes, speedups: pd.DataFrame) -> None:
    """Draw speedups with their intervals, one below the other, and write them at the right."""
    draw_intervals(axes, speedups, "y")
    judged = speedups[speedups["verdict"].notna()]
    if len(judged):
        sns.scatterplot(
            judged, x="speedup", y="y", hue="verdict", style="verdict", palette=COLOURS, markers=MARKERS,
        s=42, linewidth=0, legend=False, zorder=3, ax=axes,
    )  # fmt: skip
    axes.set(ylabel="", ylim=(speedups["y"].max() + 0.6, speedups["y"].min() - 0.6))
    axes.set_yticks(speedups["y"], ["\n".join(wrapped(clipped(rung), _LABEL_PT)) for rung in speedups["rung"]])
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for y, verdict, speedup in zip(speedups["y"], speedups["verdict"], speedups["speedup"], strict=True):
        if glyph := GLYPHS.get(verdict):
            axes.annotate(glyph, (1, y), xytext=(6, 0), color=COLOURS[verdict], **place)
        if y > 0:  # the start is no faster than itself
            axes.annotate(units.speedup(speedup), (1, y), xytext=(18, 0), color=INK, **place)


def _ways_up(axes: Axes, rungs: pd.DataFrame) -> None:
    """Draw a bar from each rung's speedup to that of the next."""
    below = rungs["speedup"].shift()
    axes.hlines(rungs["y"][1:], below[1:], rungs["speedup"][1:], color=LINE, linewidth=8)
    axes.vlines(below[1:], rungs["y"].shift()[1:], rungs["y"][1:], color=INK, linewidth=0.6)


def _bars(axes: Axes, gains: pd.DataFrame) -> None:
    """Draw a bar from 1 to each gain, and as a thin line the bounds of those that have no interval of their own."""
    axes.hlines(gains["y"], 1, gains["speedup"], color=LINE, linewidth=8)
    unpaired = gains[gains["verdict"].isna()]
    axes.hlines(unpaired["y"], unpaired["low"], unpaired["high"], color=INK, linewidth=0.8)
    axes.plot(unpaired["speedup"], unpaired["y"], linestyle="", marker="|", color=INK)


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
    harmful = ladder.rungs["rung"][ladder.rungs["gain_verdict"] == "slower"]
    but = f"; slower than without: {', '.join(harmful)}" if len(harmful) else ""
    return f"all together {together}; {largest['rung']} brings {brings} ({units.speedup(largest['gain'])}){but}"


def _each(rungs: pd.DataFrame) -> str:
    names = ["rung", "speedup", "low", "high", "gain", "gain_low", "gain_high", "gain_verdict"]
    _, *above = rungs[names].itertuples(index=False)
    return "; ".join(
        f"{rung} {units.ratio(speedup, low, high)}, {units.ratio(gain, gain_low, gain_high)} the rung below"
        f"{f', {verdict}' if verdict in GLYPHS else ''}"
        for rung, speedup, low, high, gain, gain_low, gain_high, verdict in above
    )


def _note(ladder: Ladder) -> str:
    paired = "both were paired in the same rounds"
    if not ladder.paired:
        paired = "a thin line is what both intervals allow, where the two were not paired with each other"
    told = (
        "Each rung adds to those above it; in another order, each would bring something else. Points: speedups, lines: "
        f"their intervals, {sampled(ladder.rungs['pairs'], 'pair')} each. Bars: what a rung adds. Above, all are held "
        f"against {ladder.start}, underneath each against the rung before it: {paired}."
    )
    return " ".join(filter(None, (told, ladder.reached, ladder.left_out)))
