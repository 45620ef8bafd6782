"""A technique's effects over the runs of each machine, as lines with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import ScaledTranslation

from harness import units
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, PAPER, WIDTH_IN, Drawn, clipped, styled, wrapped, write_ticks
from harness.report.figures.speedups import scale_speedups
from harness.report.history.happened import Happening, Mark
from harness.report.history.lines import Line, Stretch
from harness.report.history.words import each_line, finding, note

_COLOURS = list(map(str, sns.color_palette("colorblind").as_hex()))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # with ten colours, no two of seventy lines look alike
_LOOK = {"markersize": 4, "markeredgewidth": 0, "linewidth": 1.2, "zorder": 3}
_BEHIND = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5, "alpha": 0.7}  # what is written among lines
_PANEL_IN, _ENTRY_IN, _AROUND_IN = 1.9, 0.18, 0.45  # the height of a panel, of a line's name below it, of its axis
_NAME_PT = 0.76 * 72 * WIDTH_IN  # the width of a line's name
_MOST_TICKS = 8
_DIGITS = 5  # of the data


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A technique on one machine: its lines over a stretch of runs, and what happened to them at some of these runs."""

    stretch: Stretch
    lines: Sequence[Line]
    happened: Sequence[Happening] = ()
    marks: Sequence[Mark] = ()


def over_runs(framework: str, technique: str, panels: Sequence[Panel]) -> Drawn:
    """Draw a technique over the runs, a panel for each machine, with what changed marked."""
    title = finding(framework, technique, panels)
    looks = _looks(panels)
    height_in = len(panels) * (_PANEL_IN + _AROUND_IN + 0.1) + _ENTRY_IN * len(looks)
    with styled(len(panels), title=title, height_in=height_in, sharex=False) as (figure, rows):
        for axes, panel in zip(rows, panels, strict=True):
            _draw(axes, panel, looks)
        _name_lines(rows[-1], looks)
    return Drawn(
        kind="history",
        name=slug(f"history-{technique}-{framework}"),
        title=title,
        alt=f"{title}. {each_line(panels)}",
        note=note(panels),
        data=pd.concat([_data(panel, several=len(panels) > 1) for panel in panels], ignore_index=True),
        figure=figure,
    )


def _looks(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """Return how each line looks, by its label, the same in all panels."""
    labels = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    looks = zip(labels, cycle(_COLOURS), cycle(_MARKERS), strict=False)
    return {label: {"color": colour, "marker": marker, **_LOOK} for label, colour, marker in looks}


def _name_lines(axes: Axes, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Name the lines of all panels below the last one."""
    handles = [Line2D([], [], label=_name(label), **look) for label, look in looks.items()]
    below = axes.transAxes + ScaledTranslation(0, -_AROUND_IN, axes.figure.dpi_scale_trans)
    place: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    axes.legend(handles=handles, **place, borderaxespad=0, handlelength=1.5, labelspacing=0.2)


def _draw(axes: Axes, panel: Panel, looks: Mapping[str, Mapping[str, Any]]) -> None:
    scale_speedups(axes, pd.concat([line.points for line in panel.lines]), upright=True)
    least, most = axes.get_ylim()
    for line in panel.lines:
        look = looks[line.label]
        shown = _with_gaps(line, len(panel.stretch.runs))
        low, high = shown["low"].clip(lower=least), shown["high"].clip(upper=most)
        axes.fill_between(shown.index, low, high, color=look["color"], alpha=0.13, linewidth=0)
        axes.plot(shown.index, shown["speedup"], **look)
    _mark(axes, panel)
    points = {line.case: line.points.set_index("at")["speedup"] for line in panel.lines}
    places = {run: place for place, run in enumerate(panel.stretch.runs)}
    count = len(panel.stretch.runs)
    for each in panel.happened:
        own = points[each.case]
        if each.shape == "drift":
            _trend(axes, own, each.ratio)
        elif each.shape == "step":
            _ring(axes, own, each.ratio, places[each.run])
        else:
            _bar(axes, own.loc[places.get(each.run, 0) : places.get(each.until, count)], each.ratio, bool(each.until))
    axes.xaxis.set_major_locator(FixedLocator(list(range(count))[:: -(-count // _MOST_TICKS)]))
    write_ticks(axes.xaxis, lambda at: clipped(panel.stretch.labels[round(at)]) if 0 <= round(at) < count else "")
    axes.set(
        xlim=(-0.6, count - 0.4), ylabel="speedup per item (log)", xlabel=clipped(f"runs of {panel.stretch.machine}")
    )


def _with_gaps(line: Line, count: int) -> pd.DataFrame:
    """Return a row for each run, without numbers where the run lacks the effect, so that no line runs across it."""
    return line.points.set_index("at").reindex(range(count))


def _name(label: str) -> str:
    first, *more = wrapped(label.lstrip("_"), _NAME_PT) or ["unnamed"]  # matplotlib hides what begins with _
    return f"{first}…" if more else first


def _mark(axes: Axes, panel: Panel) -> None:
    """Put a line before each run from which on the machine is set up differently, with its number in the note."""
    for number, mark in enumerate(panel.marks, start=1):
        before = panel.stretch.runs.index(mark.run) - 0.5
        axes.axvline(before, color=INK, linewidth=0.8, linestyle="dotted")
        place: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
        axes.annotate(str(number), (before, 1), xytext=(0, 1), ha="center", color=INK, **place)


def _ring(axes: Axes, speedups: pd.Series[float], ratio: float, at: int) -> None:
    """Ring the first point after a step, and write by how many times the speedup changed."""
    axes.scatter([at], [speedups[at]], s=70, facecolors="none", edgecolors=INK, linewidths=1.1, zorder=4)
    _write(axes, f"×{units.significant(ratio)}", (at, speedups[at]), (7, 7))


def _trend(axes: Axes, speedups: pd.Series[float], ratio: float) -> None:
    """Draw a drift through the middle of its points, and write by how many times the speedup changes."""
    per_run, at = math.log(ratio) / 100, speedups.index.to_numpy(float)
    middle = float(np.median(np.log(speedups) - per_run * at))
    ends = np.array([at[0], at[-1]])
    drifted = np.exp(middle + per_run * ends)
    axes.plot(ends, drifted, color=INK, linewidth=1.1, linestyle="dashed", zorder=4)
    _write(axes, f"×{units.significant(ratio)} in 100 runs", (ends[1], drifted[1]), (0, 5), ha="right")


def _bar(axes: Axes, speedups: pd.Series[float], ratio: float, over: bool) -> None:
    """Draw a bar along the points of an episode, and write by how many times the speedup was another."""
    ends, level = (speedups.index[0] - 0.3, speedups.index[-1] + 0.3), float(speedups.median())
    axes.plot(ends, [level, level], color=INK, linewidth=1.6, zorder=4)
    place, off, ha = (ends[0], 0, "left") if over else (ends[1], -2, "right")
    _write(axes, f"×{units.significant(ratio)}{', over' if over else ''}", (place, level), (off, -12), ha=ha)


def _write(axes: Axes, said: str, at: tuple[float, float], off: tuple[float, float], ha: str = "left") -> None:
    place: Any = {"xytext": off, "textcoords": "offset points", "ha": ha, "bbox": _BEHIND, "zorder": 5}
    axes.annotate(said, at, color=INK, **place)


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
