"""The shifts between two sets of runs as intervals: the machine, workloads and techniques."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from accelbench import units
from accelbench.history.compare_runs import RunComparison
from accelbench.report.figures.drawing import (
    FigureWithData,
    describe_effect,
    draw_interval,
    draw_point,
    first_line,
    intervals_of,
    speedup_axis,
    write_verdicts,
)
from accelbench.report.figures.svg import WIDTH_PT, Axis, Chart, Panel
from accelbench.report.verdicts import COLOURS
from accelbench.results.arm_table import rows_of
from accelbench.schema.verdict import ratio_of

DECIDED = ("faster", "slower")
_MOST, _FEW = 24, 6  # rows of workloads and of techniques: decided ones, and others where none is
_ROW_PT = 27  # the height of a name and the interval below it
_NAME_PT, _ALONE_PT = 0.6 * WIDTH_PT, 0.9 * WIDTH_PT  # room for a name beside a change, and alone
_CHANGE_PT = 54  # by which a change reaches into the room at the right of the axes
_HEADINGS = {
    "of": "shift of",
    "name": "what",
    "change": "speedup before and after",
    "speedup": "shift (×)",
    "low": "from (×)",
    "high": "to (×)",
    "verdict": "verdict",
}


def draw_shifts(comparison: RunComparison, title: str) -> FigureWithData | None:
    """Draw the machine's shift, if known, and the decided ones, or the largest where none was; None without any."""
    rows = pd.DataFrame(_rows(comparison))
    if rows.empty:
        return None
    zone = 1 / (1 - comparison.thresholds.margin)
    y = Axis(low=0.4 - len(rows), high=0.6)
    panel = Panel(x=speedup_axis(intervals_of(rows), "as fast as before (log)"), y=y, height_pt=_ROW_PT * len(rows))
    panel.band(1 / zone, zone, COLOURS["same"])
    panel.rule(1)
    for place, row in enumerate(rows_of(rows)):
        _draw(panel, place, row)
    return FigureWithData(
        name="shifts",
        title=title,
        alt=f"{title}. {'; '.join(_describe_row(row) for row in rows_of(rows))}.",
        note=_note(comparison, len(rows)),
        data=rows[[*_HEADINGS]].rename(columns=_HEADINGS),
        figure=Chart(title=title, panels=[panel]),
    )


def _rows(comparison: RunComparison) -> Iterator[dict[str, Any]]:
    for row in rows_of(comparison.machine):
        yield _row("machine", "machine, common to all", row)
    shifts = [rows_of(comparison.workloads.reset_index()), rows_of(comparison.techniques)]
    workloads, techniques = _select_rows(shifts)
    for row in workloads:
        yield _row("workload", " · ".join((row["workload"], row["framework"])), row)
    for row in techniques:
        held = (row["level"], row["workload"], row["problem"], row["fixed"], row["framework"], row["test"])
        yield _row("technique", " · ".join(filter(None, held)), row, format_speedups(row))


def format_speedups(row: dict[str, Any]) -> str:
    """Return an effect before and after, such as ``1.80× → 1.63×``."""
    return " → ".join(units.speedup(math.exp(row[end])) for end in ("before", "after"))


def _select_rows(shifts: Sequence[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """Return the decided shifts, the largest first, or some of the largest where none was decided."""
    ranked = [sorted(rows, key=lambda row: -abs(row["shift"])) for rows in shifts]
    decided = [[row for row in rows if row["verdict"] in DECIDED][:_MOST] for rows in ranked]
    return decided if any(decided) else [rows[:_FEW] for rows in ranked]


def _row(of: str, name: str, row: dict[str, Any], change: str = "") -> dict[str, Any]:
    ends = {"speedup": row["shift"], "low": row["low"], "high": row["high"]}
    ratios = {column: ratio_of(end) for column, end in ends.items()}
    return {"of": of, "name": name, "change": change, "verdict": row["verdict"], **ratios}


def _draw(panel: Panel, place: int, row: dict[str, Any]) -> None:
    """Draw a shift below its name, with its verdict and its size beside it."""
    above, y = 0.24 - place, -0.22 - place
    panel.text(0, above, first_line(row["name"], _NAME_PT if row["change"] else _ALONE_PT), by="y", ground=True)
    if row["change"]:
        panel.text(1, above, row["change"], anchor="end", dx=_CHANGE_PT, by="y", ground=True)
        panel.right_pt = max(panel.right_pt, _CHANGE_PT)
    draw_interval(panel, y, row["low"], row["high"], row["verdict"])
    draw_point(panel, row["speedup"], y, row["verdict"], describe_effect(row["name"], row))
    write_verdicts(panel, [(y, row["verdict"], row["speedup"])])


def _describe_row(row: dict[str, Any]) -> str:
    ends = f", {row['change']}" if row["change"] else ""
    return f"{row['name']}: {units.ratio(row['speedup'], row['low'], row['high'])}, {row['verdict']}{ends}"


def _note(comparison: RunComparison, drawn: int) -> str:
    """Return how much of the comparison is drawn, and what the marks mean."""
    every = len(comparison.machine) + len(comparison.workloads) + len(comparison.techniques)
    sides = [len(side.runs) for side in (comparison.before, comparison.after)]
    runs = f"{units.plural(sides[0], 'run')} against {units.count(sides[1])}"
    machine = "" if comparison.machine.empty else "the machine's, and "
    return (
        f"{units.count(drawn)} of {units.plural(every, 'shift')}, {runs}: {machine}the decided ones "
        f"of workloads and techniques, or the largest if none was decided. Lines are intervals at "
        f"{units.percent(1 - comparison.thresholds.false_discovery_rate)}; for a technique, of its speedup, "
        f"which is at the right. In the grey band, {units.percent(comparison.thresholds.margin)}, a shift does not "
        "matter."
    )
