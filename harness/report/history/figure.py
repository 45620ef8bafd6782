"""A technique's effects over the runs of each machine, as lines with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import ScaledTranslation

from harness import units
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, WIDTH_IN, Drawn, clipped, styled, wrapped, write_ticks
from harness.report.figures.speedups import scale_speedups
from harness.report.history.happened import Mark, Ring
from harness.report.history.lines import Line, Stretch
from harness.report.history.words import each_line, finding, note

_COLOURS = list(map(str, sns.color_palette("colorblind").as_hex()))
_MARKERS = ("o", "s", "^", "D", "v", "P")
_PANEL_IN, _ENTRY_IN, _AROUND_IN = 1.9, 0.18, 0.45  # the height of a panel, of a line's name below it, of its axis
_NAME_PT = 0.86 * 72 * WIDTH_IN  # the width of a line's name
_MOST_TICKS = 8
_DIGITS = 5  # of the data


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A technique on one machine: its lines over a stretch of runs, and what happened to them at some of these runs."""

    stretch: Stretch
    lines: Sequence[Line]
    rings: Sequence[Ring] = ()
    marks: Sequence[Mark] = ()


def over_runs(framework: str, technique: str, panels: Sequence[Panel]) -> Drawn:
    """Draw a technique over the runs, a panel for each machine, with what changed marked."""
    title = finding(framework, technique, panels)
    named = sum(len(panel.lines) for panel in panels)
    height_in = len(panels) * (_PANEL_IN + _AROUND_IN + 0.1) + _ENTRY_IN * named
    with styled(len(panels), title=title, height_in=height_in, sharex=False) as (figure, rows):
        for axes, panel in zip(rows, panels, strict=True):
            _draw(axes, panel)
    return Drawn(
        kind="history",
        name=slug(f"history-{technique}-{framework}"),
        title=title,
        alt=f"{title}. {each_line(panels)}",
        note=note(panels),
        data=pd.concat([_data(panel, several=len(panels) > 1) for panel in panels], ignore_index=True),
        figure=figure,
    )


def _draw(axes: Axes, panel: Panel) -> None:
    scale_speedups(axes, pd.concat([line.points for line in panel.lines]), upright=True)
    least, most = axes.get_ylim()
    for line, colour, marker in zip(panel.lines, _COLOURS, _MARKERS, strict=False):
        shown = _with_gaps(line, len(panel.stretch.runs))
        low, high = shown["low"].clip(lower=least), shown["high"].clip(upper=most)
        axes.fill_between(shown.index, low, high, color=colour, alpha=0.13, linewidth=0)
        look: Any = {"marker": marker, "markersize": 4, "markeredgewidth": 0, "linewidth": 1.2, "zorder": 3}
        axes.plot(shown.index, shown["speedup"], color=colour, label=_name(line), **look)
    _mark(axes, panel)
    _ring(axes, panel)
    count = len(panel.stretch.runs)
    axes.xaxis.set_major_locator(FixedLocator(list(range(count))[:: -(-count // _MOST_TICKS)]))
    write_ticks(axes.xaxis, lambda at: clipped(panel.stretch.labels[round(at)]) if 0 <= round(at) < count else "")
    axes.set(
        xlim=(-0.6, count - 0.4), ylabel="speedup per item (log)", xlabel=clipped(f"runs of {panel.stretch.machine}")
    )
    below = axes.transAxes + ScaledTranslation(0, -_AROUND_IN, axes.figure.dpi_scale_trans)
    place: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    axes.legend(**place, borderaxespad=0, handlelength=1.5, labelspacing=0.2)


def _with_gaps(line: Line, count: int) -> pd.DataFrame:
    """Return a row for each run, without numbers where the run lacks the effect, so that no line runs across it."""
    return line.points.set_index("at").reindex(range(count))


def _name(line: Line) -> str:
    first, *more = wrapped(line.label.lstrip("_"), _NAME_PT) or ["unnamed"]  # matplotlib hides what begins with _
    return f"{first}…" if more else first


def _mark(axes: Axes, panel: Panel) -> None:
    """Put a line before each run from which on the machine is set up differently, with its number in the note."""
    for number, mark in enumerate(panel.marks, start=1):
        before = panel.stretch.runs.index(mark.run) - 0.5
        axes.axvline(before, color=INK, linewidth=0.8, linestyle="dotted")
        place: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
        axes.annotate(str(number), (before, 1), xytext=(0, 1), ha="center", color=INK, **place)


def _ring(axes: Axes, panel: Panel) -> None:
    """Ring the first point after each change, and write by how many times the speedup changed."""
    points = {line.case: line.points.set_index("at")["speedup"] for line in panel.lines}
    for ring in panel.rings:
        at = panel.stretch.runs.index(ring.run)
        y = points[ring.case][at]
        axes.scatter([at], [y], s=70, facecolors="none", edgecolors=INK, linewidths=1.1, zorder=4)
        said = f"×{units.significant(ring.ratio)}"
        axes.annotate(said, (at, y), xytext=(7, 5), textcoords="offset points", color=INK)


def _data(panel: Panel, *, several: bool) -> pd.DataFrame:
    """Return what was drawn, a row for each run."""
    columns: dict[str, Any] = {"machine": panel.stretch.machine} if several else {}
    columns["run"] = [run.rpartition("/")[2] for run in panel.stretch.runs]
    for line in panel.lines:
        shown = _with_gaps(line, len(panel.stretch.runs))
        for name, heading in (("speedup", ""), ("low", ", from"), ("high", ", to")):
            columns[f"{line.label}{heading} (×)"] = [_rounded(value) for value in shown[name]]
    return pd.DataFrame(columns)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else value
