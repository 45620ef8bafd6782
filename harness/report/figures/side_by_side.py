"""Effects in several runs, as paired intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from harness import units
from harness.reading.matching import DIFFER, Match
from harness.reading.table import in_words
from harness.report.figures.drawing import INK, PAPER, WIDTH_IN, Drawn, clipped, styled, wrapped
from harness.report.figures.speedups import draw_intervals, scale_speedups
from harness.report.figures.words import sampled
from harness.report.verdicts import COLOURS, GLYPHS

_MOST_EFFECTS, _FEW = 30, 12
_MARKERS = ("D", "o", "P", "X", "h", "*")  # of the runs; verdicts show by colour and glyph
_ROW_IN, _NAME_PT = 0.17, 0.88 * 72 * WIDTH_IN  # the height of a row, the width of a name
_BEHIND = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}  # a name
_HEADINGS = {
    "effect": "effect",
    "run": "run",
    "verdict": "verdict",
    "speedup": "speedup (×)",
    "low": "from (×)",
    "high": "to (×)",
    "pairs": "pairs",
}


def most_different(matches: Sequence[Match], labels: Sequence[str]) -> Drawn | None:
    """Draw the effects on which the runs differ most, a line for each run; None where they share none."""
    shared = [match for match in matches if match.standing not in ("alone", "not comparable")]
    differ = [match for match in shared if match.standing in DIFFER]
    chosen = differ[:_MOST_EFFECTS] or sorted(shared, key=lambda match: match.spread, reverse=True)[:_FEW]
    if not chosen:
        return None
    rows = _rows(chosen, labels)
    finding = _finding(chosen[0], labels, len(differ), len(shared))
    with styled(height_in=_ROW_IN * (rows["y"].max() + 2) + 0.8, title=finding) as (figure, (axes,)):
        scale_speedups(axes, rows)
        draw_intervals(axes, rows, "y")
        _points(axes, rows, labels)
        _label(axes, rows)
    note = (
        f"{units.plural(len(chosen), 'effect')} of {len(shared)} that the runs share, those that differ most; "
        f"lines are intervals, {sampled(rows['pairs'], 'pair')} each."
    )
    return Drawn(
        kind="side-by-side",
        name="side-by-side",
        title=finding,
        alt=f"{finding}. {note}",
        note=note,
        data=rows[list(_HEADINGS)].rename(columns=_HEADINGS),
        figure=figure,
    )


def _rows(matches: Sequence[Match], labels: Sequence[str]) -> pd.DataFrame:
    """Return a row per effect and run that has it; ``y`` keeps the runs of an effect together, below its name."""
    step = len(labels) + 1.4
    return pd.DataFrame(
        {**row, "effect": _effect(match), "run": labels[run], "top": place * step, "y": place * step + 1 + run}
        for place, match in enumerate(matches)
        for run, row in match.measured.items()
    ).astype({"low": float, "high": float, "pairs": "Int64"})


def _effect(match: Match) -> str:
    row = match.first
    where = (in_words(row["problem"], number=units.short), in_words(row["fixed"]))
    return " · ".join(filter(None, (row["level"], row["workload"], *where, row["framework"])))


def _finding(most: Match, labels: Sequence[str], differ: int, shared: int) -> str:
    of = units.plural(shared, "shared effect")
    rows = most.measured.items()
    each = ", ".join(f"{units.speedup(row['speedup'])} in {labels[run]}" for run, row in rows)
    largest = f"{most.first['level']} on {most.first['workload']}: {each}"
    if not differ:
        return f"None of {of} differs between the runs; furthest apart, {largest}"
    return f"{differ} of {of} differ{'s' if differ == 1 else ''} between the runs; first, {largest}"


def _points(axes: Axes, rows: pd.DataFrame, labels: Sequence[str]) -> None:
    handles = []
    for run, label in enumerate(labels):
        chosen, marker = rows[rows["run"] == label], _MARKERS[run % len(_MARKERS)]
        colours = [COLOURS[verdict] for verdict in chosen["verdict"]]
        axes.scatter(chosen["speedup"], chosen["y"], marker=marker, s=26, c=colours, zorder=3)
        handles.append(Line2D([], [], linestyle="", marker=marker, color=INK, label=clipped(label)))
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)


def _label(axes: Axes, rows: pd.DataFrame) -> None:
    axes.set_yticks([])
    axes.set(xlabel="speedup per item (log)", ylabel="", ylim=(rows["y"].max() + 0.8, -0.8))
    for top, effect in rows.groupby("top")["effect"].first().items():
        first, *more = wrapped(effect, _NAME_PT) or [""]
        name = f"{first}…" if more else first
        axes.annotate(name, (0, top), xycoords=("axes fraction", "data"), va="center", bbox=_BEHIND)
    for y, verdict, speedup in zip(rows["y"], rows["verdict"], rows["speedup"], strict=True):
        place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(GLYPHS[verdict], (1, y), xytext=(6, 0), color=COLOURS[verdict], **place)
        axes.annotate(units.speedup(speedup), (1, y), xytext=(18, 0), **place)
