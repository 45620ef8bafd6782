"""A technique's effects over the runs of each machine, as lines with their intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import ScaledTranslation

from accelbench import units
from accelbench.history.changes import Change
from accelbench.history.epochs import EpochChange
from accelbench.report.figures.drawing import (
    INK,
    PALETTE,
    PAPER,
    WIDTH_IN,
    FigureWithData,
    clip,
    first_line,
    new_figure,
    scale_speedups,
    write_ticks,
)
from accelbench.report.labels import slug
from accelbench.text import list_some

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # with ten colours, no two of seventy lines look alike
_LOOK = {"markersize": 4, "markeredgewidth": 0, "linewidth": 1.2, "zorder": 3}
_BEHIND = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5, "alpha": 0.7}  # text among lines
_PANEL_IN, _ENTRY_IN, _AROUND_IN = 1.9, 0.18, 0.45  # the height of a panel, of a line's name below it, of its axis
_NAME_PT = 0.76 * 72 * WIDTH_IN  # the width of a line's name
_MAX_TICKS = 8
_DIGITS = 5  # of the data


_LEGENDS = {
    "level shift": "A ring: the first run after a change, with the ratio of the speedups after and before.",
    "drift": "Dashed: a drift, with the ratio of the speedups of runs that lie 100 apart.",
    "transient": "A bar: a transient, in which a level was left and came back, with the ratio to that around it.",
}
_MAX_SETUP_CHANGES = 8  # that a note names


@dataclass(frozen=True, kw_only=True)
class RunSeries:
    """Runs of one machine that can be compared with each other, the latest last.

    ``labels`` name the runs on an axis, ``comparable`` are all runs that can be compared where only the latest are
    shown. ``effects`` are rows of the observations with ``at``, the run's position.
    """

    machine: str
    runs: list[str]
    labels: list[str]
    comparable: Collection[str]
    effects: pd.DataFrame

    @property
    def total(self) -> int:
        """How many runs can be compared."""
        return len(self.comparable)

    def shows(self, change: Change) -> bool:
        """Return whether a change happened in these runs; a drift did in all that can be compared."""
        return (change.until or change.since) in (self.comparable if change.shape == "drift" else self.runs)


@dataclass(frozen=True, kw_only=True)
class EffectLine:
    """One effect over the runs; ``points`` has ``at``, ``speedup``, ``low``, ``high``, a row per run that has it.

    ``name`` is the workload, with the level where a figure has several, and ``label`` all that identifies the case.
    """

    case: str
    name: str
    label: str
    points: pd.DataFrame

    @property
    def separation(self) -> float:
        """The largest distance between the intervals of two runs, as a logarithm; below 0 where all overlap."""
        low, high = float(self.points["low"].max()), float(self.points["high"].min())
        return math.log(low / high) if low > 0 and 0 < high < math.inf else -math.inf


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A technique on one machine: its lines over some runs, and the changes at some of these runs, lasting ones first.

    ``sentence`` describes the first change.
    """

    series: RunSeries
    lines: Sequence[EffectLine]
    changes: Sequence[Change]
    sentence: str
    setup_changes: Sequence[EpochChange]


def draw_over_runs(framework: str, technique: str, panels: Sequence[Panel]) -> FigureWithData:
    """Draw a technique over the runs, a panel for each machine, and mark the changes."""
    title = _finding(framework, technique, panels)
    looks = _looks(panels)
    height_in = len(panels) * (_PANEL_IN + _AROUND_IN + 0.1) + _ENTRY_IN * len(looks)
    with new_figure(len(panels), title=title, height_in=height_in, sharex=False) as (figure, rows):
        for axes, panel in zip(rows, panels, strict=True):
            _draw(axes, panel, looks)
        _name_lines(rows[-1], looks)
    return FigureWithData(
        kind="history",
        name=slug(f"history-{technique}-{framework}"),
        title=title,
        alt=f"{title}. {_describe_lines(panels)}",
        note=_note(panels),
        data=pd.concat([_data(panel, several=len(panels) > 1) for panel in panels], ignore_index=True),
        figure=figure,
    )


def _looks(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """Return the style of each line by its label, the same in all panels."""
    labels = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    looks = zip(labels, cycle(PALETTE), cycle(_MARKERS), strict=False)
    return {label: {"color": colour, "marker": marker, **_LOOK} for label, colour, marker in looks}


def _name_lines(axes: Axes, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the legend of all panels below the last one."""
    names = {label: first_line(label.lstrip("_"), _NAME_PT) for label in looks}  # matplotlib hides what begins with _
    handles = [Line2D([], [], label=names[label], **look) for label, look in looks.items()]
    below = axes.transAxes + ScaledTranslation(0, -_AROUND_IN, axes.figure.dpi_scale_trans)
    place: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    axes.legend(handles=handles, **place, borderaxespad=0, handlelength=1.5, labelspacing=0.2)


def _draw(axes: Axes, panel: Panel, looks: Mapping[str, Mapping[str, Any]]) -> None:
    scale_speedups(axes, pd.concat([line.points for line in panel.lines]), upright=True)
    least, most = axes.get_ylim()
    for line in panel.lines:
        look = looks[line.label]
        shown = _with_gaps(line, len(panel.series.runs))
        low, high = shown["low"].clip(lower=least), shown["high"].clip(upper=most)
        axes.fill_between(shown.index, low, high, color=look["color"], alpha=0.13, linewidth=0)
        axes.plot(shown.index, shown["speedup"], **look)
    _mark(axes, panel)
    points = {line.case: line.points.set_index("at")["speedup"] for line in panel.lines}
    places = {run: place for place, run in enumerate(panel.series.runs)}
    count = len(panel.series.runs)
    for each in panel.changes:
        own = points[each.case]
        if each.shape == "drift":
            _trend(axes, own, each.ratio)
        elif each.shape == "level shift":
            _ring(axes, own, each.ratio, places[each.since])
        else:
            _bar(axes, own.loc[places.get(each.since, 0) : places.get(each.until, count)], each.ratio, bool(each.until))
    axes.xaxis.set_major_locator(FixedLocator(list(range(count))[:: -(-count // _MAX_TICKS)]))
    write_ticks(axes.xaxis, lambda at: clip(panel.series.labels[round(at)]) if 0 <= round(at) < count else "")
    axes.set(xlim=(-0.6, count - 0.4), ylabel="speedup per item (log)", xlabel=clip(f"runs of {panel.series.machine}"))


def _with_gaps(line: EffectLine, count: int) -> pd.DataFrame:
    """Return a row for each run, with NaN where the run lacks the effect, so that the line has a gap."""
    return line.points.set_index("at").reindex(range(count))


def _mark(axes: Axes, panel: Panel) -> None:
    """Draw a numbered line before each run from which on the machine is set up differently."""
    for number, mark in enumerate(panel.setup_changes, start=1):
        before = panel.series.runs.index(mark.run) - 0.5
        axes.axvline(before, color=INK, linewidth=0.8, linestyle="dotted")
        place: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
        axes.annotate(str(number), (before, 1), xytext=(0, 1), ha="center", color=INK, **place)


def _ring(axes: Axes, speedups: pd.Series[float], ratio: float, at: int) -> None:
    """Ring the first point after a step, and write by which factor the speedup changed."""
    axes.scatter([at], [speedups[at]], s=70, facecolors="none", edgecolors=INK, linewidths=1.1, zorder=4)
    _write(axes, f"×{units.significant(ratio)}", (at, speedups[at]), (7, 7))


def _trend(axes: Axes, speedups: pd.Series[float], ratio: float) -> None:
    """Draw a drift through the middle of its points, and write by which factor the speedup changes."""
    per_run, at = math.log(ratio) / 100, speedups.index.to_numpy(float)
    middle = float(np.median(np.log(speedups) - per_run * at))
    ends = np.array([at[0], at[-1]])
    drifted = np.exp(middle + per_run * ends)
    axes.plot(ends, drifted, color=INK, linewidth=1.1, linestyle="dashed", zorder=4)
    _write(axes, f"×{units.significant(ratio)} in 100 runs", (ends[1], drifted[1]), (0, 5), ha="right")


def _bar(axes: Axes, speedups: pd.Series[float], ratio: float, over: bool) -> None:
    """Draw a bar along the points of a transient, and write by which factor the speedup differed."""
    ends, level = (speedups.index[0] - 0.3, speedups.index[-1] + 0.3), float(speedups.median())
    axes.plot(ends, [level, level], color=INK, linewidth=1.6, zorder=4)
    place, off, ha = (ends[0], 0, "left") if over else (ends[1], -2, "right")
    _write(axes, f"×{units.significant(ratio)}{', over' if over else ''}", (place, level), (off, -12), ha=ha)


def _write(axes: Axes, text: str, at: tuple[float, float], off: tuple[float, float], ha: str = "left") -> None:
    place: Any = {"xytext": off, "textcoords": "offset points", "ha": ha, "bbox": _BEHIND, "zorder": 5}
    axes.annotate(text, at, color=INK, **place)


def _data(panel: Panel, *, several: bool) -> pd.DataFrame:
    """Return what was drawn, a row for each run."""
    columns: dict[str, Any] = {"machine": panel.series.machine} if several else {}
    columns["run"] = [run.rpartition("/")[2] for run in panel.series.runs]
    for line in panel.lines:
        shown = _with_gaps(line, len(panel.series.runs))
        for name, heading in (("speedup", ""), ("low", ", from"), ("high", ", to")):
            columns[f"{line.label}{heading} (×)"] = [_rounded(value) for value in shown[name]]
    return pd.DataFrame(columns)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else value


def _finding(framework: str, technique: str, panels: Sequence[Panel]) -> str:
    """Return what changed; where nothing did, the ranges of the steadiest and the most variable line."""
    first = panels[0]
    over = f"{technique} ({framework}) over {units.plural(len(first.series.runs), 'run')}"
    changed = [panel for panel in panels if panel.changes]
    if changed:
        where = f" on {changed[0].series.machine}" if len(panels) > 1 else ""
        others = sum(len(panel.changes) for panel in changed) - 1
        more = f"; {units.plural(others, 'more change')}" if others else ""
        return f"{over}{where}: {changed[0].sentence}{more}"
    steadiest, widest = min(first.lines, key=_spread), max(first.lines, key=_spread)
    if steadiest is widest:
        return f"{over}: {_between(widest)} on {widest.name}"
    return f"{over}: steadiest {_between(steadiest)} on {steadiest.name}, widest {_between(widest)} on {widest.name}"


def _between(line: EffectLine) -> str:
    """Return the least and the greatest speedup of a line, such as ``1.20–1.31×``."""
    least, most = line.points["speedup"].min(), line.points["speedup"].max()
    return f"{units.interval(least, most)}×"


def _describe_lines(panels: Sequence[Panel]) -> str:
    """Return where each line begins and ends, for readers who do not see the figure."""
    sentences = []
    for panel in panels:
        ends = [(line, line.points["speedup"].iloc[0], line.points["speedup"].iloc[-1]) for line in panel.lines]
        courses = [f"{line.label} from {units.speedup(first)} to {units.speedup(last)}" for line, first, last in ends]
        sentences.append(f"On {panel.series.machine}, first run to last: {'; '.join(courses)}.")
    return " ".join(sentences)


def _note(panels: Sequence[Panel]) -> str:
    """Return what is drawn, over how many runs, and what changed in how the machines are set up."""
    parts = [f"{', and '.join(_describe_runs(panel) for panel in panels)}, in the order in which they were made."]
    parts.append("A line per workload, where the technique is strongest; its interval is the light band.")
    shapes = {each.shape for panel in panels for each in panel.changes}
    parts += [text for shape, text in _LEGENDS.items() if shape in shapes]
    marked = [_describe_setup_changes(panel, several=len(panels) > 1) for panel in panels if panel.setup_changes]
    if marked:
        parts.append(f"Dotted: from this run on, a machine is set up differently. {'. '.join(marked)}.")
    return " ".join(parts)


def _describe_runs(panel: Panel) -> str:
    series = panel.series
    runs = units.plural(series.total, "run")
    of = f"{units.count(len(series.runs))} of {runs}" if series.total > len(series.runs) else runs
    return f"{of} of {series.machine}"


def _describe_setup_changes(panel: Panel, *, several: bool) -> str:
    """Return what the numbered dotted lines of a panel mean."""
    numbered = (f"{number}: {change}" for number, change in enumerate(panel.setup_changes, start=1))
    where = f"{panel.series.machine}, " if several else ""
    return f"{where}{list_some(numbered, _MAX_SETUP_CHANGES, separator='; ')}"


def _spread(line: EffectLine) -> float:
    points = line.points["speedup"]
    return math.log(points.max() / points.min())
