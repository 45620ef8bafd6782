"""The figure of a ladder: stacked techniques over the naive start, and each rung over the one below."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes

from accelbench import units
from accelbench.report.figures.drawing import (
    INK,
    LINE,
    FigureKind,
    FigureWithData,
    clip,
    describe_sample,
    draw_intervals,
    draw_points,
    format_subject,
    new_figure,
    scale_speedups,
    wrap_text,
    write_verdicts,
)
from accelbench.report.labels import slug
from accelbench.report.verdicts import GLYPHS
from accelbench.results import Findings
from accelbench.results.combinations import LadderResult

_MOST_OF_IT = 0.5  # of the whole speedup, on the log scale, on which the rungs' steps add up
_MOST_RUNGS = 100
_LABEL_PT = 110  # a wider label would leave too little room for the bars
_DRAWN = {
    "rung": "rung",
    "speedup": "speedup over the start (×)",
    "low": "from (×)",
    "high": "to (×)",
    "verdict": "verdict",
    "pairs": "pairs",
    "step": "speedup over the rung below (×)",
    "step_low": "over the rung below, from (×)",
    "step_high": "over the rung below, to (×)",
    "step_verdict": "verdict over the rung below",
}
_STEP = {"step": "speedup", "step_low": "low", "step_high": "high", "step_verdict": "verdict"}


def ladder_figure(ladder: LadderResult) -> FigureWithData:
    """Draw each rung's speedup over the start above, and its speedup over the rung below underneath."""
    rungs = ladder.rungs.head(_MOST_RUNGS)
    rungs = rungs.assign(y=[float(y) for y in rungs.index])
    steps = rungs[["rung", "y", *_STEP]].rename(columns=_STEP).iloc[1:]
    title = f"{format_subject(ladder.workload, ladder.held)}: {_finding(ladder)}"
    with new_figure(2, height_in=0.5 * len(rungs) + 1.5, title=title) as (figure, (over_start, over_below)):
        scale_speedups(over_start, pd.concat([rungs, steps], ignore_index=True))
        _draw_steps(over_start, rungs)
        _draw(over_start, rungs)
        over_start.plot(1, 0, marker="o", markersize=6, color=INK, zorder=3)
        over_start.set(title=f"Together, over {clip(ladder.start)}")
        _draw_bars(over_below, steps)
        _draw(over_below, steps)
        over_below.axvline(1, color=INK, linewidth=0.8)
        over_below.set(title="Each over the rung below", xlabel="speedup (log)")
    return FigureWithData(
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
    draw_points(axes, speedups)
    axes.set(ylabel="", ylim=(speedups["y"].max() + 0.6, speedups["y"].min() - 0.6))
    axes.set_yticks(speedups["y"], ["\n".join(wrap_text(clip(rung), _LABEL_PT)) for rung in speedups["rung"]])
    write_verdicts(axes, speedups[speedups["y"] > 0])  # the start is no faster than itself


def _draw_steps(axes: Axes, rungs: pd.DataFrame) -> None:
    """Draw a bar from each rung's speedup to that of the next."""
    below = rungs["speedup"].shift()
    axes.hlines(rungs["y"][1:], below[1:], rungs["speedup"][1:], color=LINE, linewidth=8)
    axes.vlines(below[1:], rungs["y"].shift()[1:], rungs["y"][1:], color=INK, linewidth=0.6)


def _draw_bars(axes: Axes, steps: pd.DataFrame) -> None:
    """Draw a bar from 1 to each step, and the bounds of steps without an interval of their own as a thin line."""
    axes.hlines(steps["y"], 1, steps["speedup"], color=LINE, linewidth=8)
    unpaired = steps[steps["verdict"].isna()]
    axes.hlines(unpaired["y"], unpaired["low"], unpaired["high"], color=INK, linewidth=0.8)
    axes.plot(unpaired["speedup"], unpaired["y"], linestyle="", marker="|", color=INK)


def _finding(ladder: LadderResult) -> str:
    """Word what all rungs bring together, and which one brings most of it."""
    top, largest = ladder.top, ladder.largest
    together = f"{units.speedup(top['speedup'])} as fast as {ladder.start} ({units.bounds(top['low'], top['high'])})"
    if top["verdict"] == "undecided":
        return f"it is undecided whether all together pay: {together}"
    if top["verdict"] != "faster":
        return f"all together do not pay: {together}"
    most = math.log(largest["step"]) > _MOST_OF_IT * math.log(top["speedup"])
    brings = "most of it" if most else "the largest part"
    harmful = ladder.rungs["rung"][ladder.rungs["step_verdict"] == "slower"]
    but = f"; slower than without: {', '.join(harmful)}" if len(harmful) else ""
    return f"all together {together}; {largest['rung']} brings {brings} ({units.speedup(largest['step'])}){but}"


def _each(rungs: pd.DataFrame) -> str:
    names = ["rung", "speedup", "low", "high", "step", "step_low", "step_high", "step_verdict"]
    _, *above = rungs[names].itertuples(index=False)
    return "; ".join(
        f"{rung} {units.ratio(speedup, low, high)}, {units.ratio(step, step_low, step_high)} the rung below"
        f"{f', {verdict}' if verdict in GLYPHS else ''}"
        for rung, speedup, low, high, step, step_low, step_high, verdict in above
    )


def _note(ladder: LadderResult) -> str:
    paired = "both were paired in the same rounds"
    if not ladder.is_paired:
        paired = "a thin line shows what both intervals allow, where the two were not paired with each other"
    drawn = (
        "Each rung adds to those above it; in another order, each would bring something else. Points: speedups, lines: "
        f"their intervals, {describe_sample(ladder.rungs['pairs'], 'pair')} each. Bars: what a rung adds. Above, all "
        f"are compared with {ladder.start}, underneath each with the rung before it: {paired}."
    )
    return " ".join(filter(None, (drawn, ladder.throughput, ladder.left_out)))


class LadderFigure(FigureKind):
    """Stacked techniques, rung by rung."""

    position = 50

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each ladder."""
        yield from map(ladder_figure, findings.ladders)
