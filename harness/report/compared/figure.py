"""What shifted between two sides, as intervals around no shift: the machine, workloads and techniques."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harness import units
from harness.reading.history.comparing.comparison import Compared
from harness.reading.table import rows_of
from harness.report.compared.tables import DECIDED, speedups_in_words
from harness.report.figures.drawing import INK, PAPER, WIDTH_IN, Drawn, styled, wrapped
from harness.report.figures.speedups import draw_intervals, scale_speedups
from harness.report.verdicts import COLOURS, GLYPHS, MARKERS

_MOST, _FEW = 24, 6  # rows of workloads and of techniques: decided ones, and others where none is
_ROW_IN, _AROUND_IN = 0.38, 0.75  # a name and the interval below it; the axis
_NAME_PT, _ALONE_PT = 0.6 * 72 * WIDTH_IN, 0.95 * 72 * WIDTH_IN  # room for a name beside a change, and alone
_BEHIND = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}  # a name
_HEADINGS = {
    "of": "shift of",
    "name": "what",
    "change": "speedup before and after",
    "speedup": "shift (×)",
    "low": "from (×)",
    "high": "to (×)",
    "verdict": "verdict",
}


def shifts_drawn(found: Compared, title: str) -> Drawn | None:
    """Draw the machine's shift and those that were decided, or where none was the largest; None without any."""
    rows = pd.DataFrame(_rows(found))
    if rows.empty:
        return None
    rows = rows.assign(y=np.arange(len(rows)) + 0.22)
    zone = 1 + found.limits.margin
    with styled(height_in=_ROW_IN * len(rows) + _AROUND_IN, title=title) as (figure, (axes,)):
        axes.axvspan(1 / zone, zone, color=COLOURS["same"], alpha=0.25, linewidth=0)
        scale_speedups(axes, rows)
        draw_intervals(axes, rows, "y")
        _points(axes, rows)
        _label(axes, rows)
    return Drawn(
        kind="shifts",
        name="shifts",
        title=title,
        alt=f"{title}. {'; '.join(_said(row) for row in rows_of(rows))}.",
        note=_note(found, len(rows)),
        data=rows[[*_HEADINGS]].rename(columns=_HEADINGS),
        figure=figure,
    )


def _rows(found: Compared) -> Iterator[dict[str, Any]]:
    for row in rows_of(found.machine):
        yield _row("machine", "machine, common to all", row)
    shifts = [rows_of(found.workloads.reset_index()), rows_of(found.techniques)]
    workloads, techniques = _furthest(shifts)
    for row in workloads:
        yield _row("workload", " · ".join((row["workload"], row["framework"])), row)
    for row in techniques:
        held = (row["level"], row["workload"], row["problem"], row["fixed"], row["framework"])
        yield _row("technique", " · ".join(filter(None, held)), row, speedups_in_words(row))


def _furthest(shifts: Sequence[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """Return what was decided, the largest shifts first, or some of the largest where nothing was."""
    ranked = [sorted(rows, key=lambda row: -abs(row["shift"])) for rows in shifts]
    decided = [[row for row in rows if row["verdict"] in DECIDED][:_MOST] for rows in ranked]
    return decided if any(decided) else [rows[:_FEW] for rows in ranked]


def _row(of: str, name: str, row: dict[str, Any], change: str = "") -> dict[str, Any]:
    ends = {"speedup": row["shift"], "low": row["low"], "high": row["high"]}
    ratios = {column: float(np.exp(np.clip(end, -700, 700))) for column, end in ends.items()}
    return {"of": of, "name": name, "change": change, "verdict": row["verdict"], **ratios}


def _points(axes: Axes, rows: pd.DataFrame) -> None:
    for verdict, chosen in rows.groupby("verdict"):
        look: Any = {"marker": MARKERS[str(verdict)], "color": COLOURS[str(verdict)]}
        axes.plot(chosen["speedup"], chosen["y"], linestyle="", markersize=6, markeredgewidth=0, zorder=3, **look)


def _label(axes: Axes, rows: pd.DataFrame) -> None:
    """Write what shifted above each interval, and its verdict and size beside it."""
    axes.set_yticks([])
    axes.set(xlabel="as fast as before (log)", ylabel="", ylim=(len(rows) - 0.4, -0.6))
    for row in rows_of(rows):
        place: Any = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        first, *more = wrapped(row["name"], _NAME_PT if row["change"] else _ALONE_PT) or ["unnamed"]
        above: Any = {"xycoords": ("axes fraction", "data"), "bbox": _BEHIND, **place}
        axes.annotate(f"{first}…" if more else first, (0, row["y"] - 0.46), xytext=(0, 0), **above)
        axes.annotate(row["change"], (1, row["y"] - 0.46), xytext=(0, 0), ha="right", **above)
        beside: Any = {"xycoords": ("axes fraction", "data"), **place}
        axes.annotate(GLYPHS[row["verdict"]], (1, row["y"]), xytext=(6, 0), color=COLOURS[row["verdict"]], **beside)
        axes.annotate(units.speedup(row["speedup"]), (1, row["y"]), xytext=(18, 0), color=INK, **beside)


def _said(row: dict[str, Any]) -> str:
    ends = f", {row['change']}" if row["change"] else ""
    return f"{row['name']}: {units.ratio(row['speedup'], row['low'], row['high'])}, {row['verdict']}{ends}"


def _note(found: Compared, drawn: int) -> str:
    """Say what is drawn of how much, and what marks mean."""
    every = len(found.machine) + len(found.workloads) + len(found.techniques)
    sides = [len(side.runs) for side in (found.before, found.after)]
    runs = f"{units.plural(sides[0], 'run')} against {units.count(sides[1])}"
    return (
        f"{units.count(drawn)} of {units.plural(every, 'shift')}, {runs}: the machine's, and of workloads and "
        f"techniques those that were decided, or if none was the largest. Lines are intervals at "
        f"{units.percent(1 - found.limits.false_discovery_rate)}; of a technique, the shift of its speedup, which "
        f"stands at the right. In the grey band, {units.percent(found.limits.margin)}, a shift counts as none."
    )
