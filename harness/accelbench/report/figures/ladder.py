"""The figure of a ladder: stacked techniques over the naive start, and each rung over the one below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    FigureKind,
    FigureWithData,
    describe_effect,
    describe_sample,
    draw_interval,
    draw_point,
    format_subject,
    intervals_of,
    rows_panel,
    speedup_axis,
    write_verdicts,
)
from accelbench.report.figures.svg import INK, LINE, Axis, Chart, Panel, clip, wrap_text
from accelbench.report.labels import slug
from accelbench.report.verdicts import GLYPHS
from accelbench.results import Findings
from accelbench.results.arm_table import Row, rows_of
from accelbench.results.combinations import LadderResult

_MOST_OF_IT = 0.5  # of the whole speedup, on the log scale, on which the rungs' steps add up
_MOST_RUNGS = 100
_GAP_PT = 8  # between two rungs
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
    steps = rungs[["rung", *_STEP]].rename(columns=_STEP).iloc[1:]
    title = f"{format_subject(ladder.workload, ladder.held)}: {_finding(ladder)}"
    axis = speedup_axis([*intervals_of(rungs), *intervals_of(steps)])
    over_start = _panel(axis, rungs, f"Together, over {clip(ladder.start)}")
    _draw_steps(over_start, rungs["speedup"].tolist())
    over_start.mark(1, 0, "o", size=6)
    _draw(over_start, rungs.iloc[1:], first=1)
    over_below = _panel(replace(axis, label="speedup (log)"), steps, "Each over the rung below")
    _draw_bars(over_below, rows_of(steps))
    _draw(over_below, steps, first=0)
    return FigureWithData(
        name=slug(f"ladder-{ladder.technique}-{ladder.workload}-{ladder.held}"),
        title=title,
        alt=f"{title}. Rung by rung: {_each(rungs)}.",
        note=_note(ladder),
        data=rungs[[*_DRAWN]].rename(columns=_DRAWN),
        about=(ladder.framework, ladder.technique),
        figure=Chart(title=title, panels=[over_start, over_below]),
    )


def _panel(axis: Axis, rungs: pd.DataFrame, title: str) -> Panel:
    panel = rows_panel(axis, [wrap_text(clip(rung), _LABEL_PT) for rung in rungs["rung"]], gap_pt=_GAP_PT)
    panel.title = title
    panel.rule(1)
    return panel


def _draw(panel: Panel, speedups: pd.DataFrame, *, first: int) -> None:
    """Draw speedups with their intervals, one below the other from a row on, and write them at the right."""
    rows = [(-place, row) for place, row in enumerate(rows_of(speedups), start=first)]
    for y, row in rows:
        draw_interval(panel, y, row["low"], row["high"], row["verdict"])
        draw_point(panel, row["speedup"], y, row["verdict"])
        panel.hover(y, 1, describe_effect(row["rung"], row))
    write_verdicts(panel, [(y, row["verdict"], row["speedup"]) for y, row in rows])


def _draw_steps(panel: Panel, speedups: Sequence[float]) -> None:
    """Draw a bar from each rung's speedup to that of the next."""
    for place, (below, speedup) in enumerate(pairwise(speedups), start=1):
        panel.line([(below, -place), (speedup, -place)], LINE, width=8)
        panel.line([(below, 1 - place), (below, -place)], width=0.6)


def _draw_bars(panel: Panel, steps: Sequence[Row]) -> None:
    """Draw a bar from 1 to each step, and the bounds of steps without an interval of their own as a thin line."""
    for place, step in enumerate(steps):
        panel.line([(1, -place), (step["speedup"], -place)], LINE, width=8)
        if step["verdict"] is None:
            panel.line([(step["low"], -place), (step["high"], -place)], width=0.8)
            panel.mark(step["speedup"], -place, "|", INK, size=9)


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
