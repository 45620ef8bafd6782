"""A technique's effects over the runs of each machine, as lines with their intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import FigureWithData, intervals_of, speedup_axis
from accelbench.report.figures.svg import INK, LINE_HEIGHT, PALETTE, TEXT_PT, Axis, Chart, Key, Panel, clip
from accelbench.report.labels import slug
from accelbench.text import list_some

if TYPE_CHECKING:  # what searches a history loads SciPy, and a single run has none
    from accelbench.history.changes import Change
    from accelbench.history.epochs import EpochChange

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # with ten colours, no two of seventy lines look alike
_HEIGHT_PT = 125  # of a panel
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
class MachinePanel:
    """A technique on one machine: its lines over some runs, and the changes at some of these runs, lasting ones first.

    ``sentence`` describes the first change.
    """

    series: RunSeries
    lines: Sequence[EffectLine]
    changes: Sequence[Change]
    sentence: str
    setup_changes: Sequence[EpochChange]


def draw_over_runs(framework: str, technique: str, panels: Sequence[MachinePanel]) -> FigureWithData:
    """Draw a technique over the runs, a panel for each machine, and mark the changes."""
    title = _finding(framework, technique, panels)
    looks = _looks(panels)
    return FigureWithData(
        name=slug(f"history-{technique}-{framework}"),
        title=title,
        alt=f"{title}. {_describe_lines(panels)}",
        note=_note(panels),
        data=pd.concat([_data(panel, several=len(panels) > 1) for panel in panels], ignore_index=True),
        figure=Chart(title=title, panels=[_panel(each, looks) for each in panels], legend=[*looks.values()]),
    )


def _looks(panels: Sequence[MachinePanel]) -> dict[str, Key]:
    """Return the style of each line by its label, the same in all panels."""
    labels = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    looks = zip(labels, cycle(PALETTE), cycle(_MARKERS), strict=False)
    return {label: Key(label=label, colour=colour, marker=marker, line=True) for label, colour, marker in looks}


def _panel(shown: MachinePanel, looks: Mapping[str, Key]) -> Panel:
    """Draw the lines of one machine with their intervals, and mark the changes."""
    runs = shown.series.runs
    count = len(runs)
    places = list(range(count))[:: -(-count // _MAX_TICKS)]
    x = Axis(
        low=-0.6,
        high=count - 0.4,
        label=clip(f"runs of {shown.series.machine}"),
        ticks=[(place, (clip(shown.series.labels[place]),)) for place in places],
    )
    y = speedup_axis([each for line in shown.lines for each in intervals_of(line.points)], "speedup per item (log)")
    is_written_above = bool(shown.setup_changes or shown.changes)
    panel = Panel(x=x, y=y, height_pt=_HEIGHT_PT, top_pt=LINE_HEIGHT * TEXT_PT if is_written_above else 0)
    panel.rule(1, along="y")
    for line in shown.lines:
        _draw_line(panel, line, looks[line.label], shown.series)
    for number, mark in enumerate(shown.setup_changes, start=1):
        before = runs.index(mark.run) - 0.5
        panel.rule(before, dash="1 2")
        panel.text(before, 1, str(number), anchor="middle", dy=-5, by="x")
    points = {line.case: line.points.set_index("at")["speedup"] for line in shown.lines}
    at = {run: place for place, run in enumerate(runs)}
    for each in shown.changes:
        own = points[each.case]
        if each.shape == "drift":
            _trend(panel, own, each.ratio)
        elif each.shape == "level shift":
            _ring(panel, own, each.ratio, at[each.since])
        else:
            _bar(panel, own.loc[at.get(each.since, 0) : at.get(each.until, count)], each.ratio, bool(each.until))
    return panel


def _draw_line(panel: Panel, line: EffectLine, look: Key, series: RunSeries) -> None:
    """Draw an effect over the runs, with its interval as a light band."""
    shown = _with_gaps(line, len(series.runs))
    at = shown.index.tolist()
    low, middle, high = (list(zip(at, shown[name].tolist(), strict=True)) for name in ("low", "speedup", "high"))
    panel.area(low, high, look.colour, opacity=0.13)
    panel.line(middle, look.colour)
    for place, speedup in middle:
        if math.isfinite(speedup):
            title = f"{line.label}, run {series.labels[place]}: {units.speedup(speedup)}"
            panel.mark(place, speedup, look.marker, look.colour, size=4, title=title)


def _with_gaps(line: EffectLine, count: int) -> pd.DataFrame:
    """Return a row for each run, with NaN where the run lacks the effect, so that the line has a gap."""
    return line.points.set_index("at").reindex(range(count))


def _ring(panel: Panel, speedups: pd.Series[float], ratio: float, at: int) -> None:
    """Ring the first point after a step, and write by which factor the speedup changed."""
    speedup = float(speedups[at])
    panel.mark(at, speedup, "o", INK, size=8.5, hollow=True)
    panel.text(at, speedup, f"×{units.significant(ratio)}", dx=7, dy=-9, ground=True)


def _trend(panel: Panel, speedups: pd.Series[float], ratio: float) -> None:
    """Draw a drift through the middle of its points, and write by which factor the speedup changes."""
    per_run, at = math.log(ratio) / 100, speedups.index.to_numpy(float)
    middle = float(np.median(np.log(speedups) - per_run * at))
    ends = [(float(end), math.exp(middle + per_run * float(end))) for end in (at[0], at[-1])]
    panel.line(ends, INK, width=1.1, dash="4 3")
    panel.text(*ends[1], f"×{units.significant(ratio)} in 100 runs", dy=-8, anchor="end", ground=True)


def _bar(panel: Panel, speedups: pd.Series[float], ratio: float, over: bool) -> None:
    """Draw a bar along the points of a transient, and write by which factor the speedup differed."""
    ends, level = (speedups.index[0] - 0.3, speedups.index[-1] + 0.3), float(speedups.median())
    panel.line([(end, level) for end in ends], INK, width=1.6)
    text = f"×{units.significant(ratio)}{', over' if over else ''}"
    panel.text(ends[0] if over else ends[1], level, text, dy=9, anchor="start" if over else "end", ground=True)


def _data(panel: MachinePanel, *, several: bool) -> pd.DataFrame:
    """Return what was drawn, a row for each run."""
    columns: dict[str, Any] = {"machine": panel.series.machine} if several else {}
    columns["run"] = [run.rpartition("/")[2] for run in panel.series.runs]
    for line in panel.lines:
        shown = _with_gaps(line, len(panel.series.runs))
        for name, heading in (("speedup", ""), ("low", ", from"), ("high", ", to")):
            columns[f"{line.label}{heading} (×)"] = [_round_significant(value) for value in shown[name]]
    return pd.DataFrame(columns)


def _round_significant(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else value


def _finding(framework: str, technique: str, panels: Sequence[MachinePanel]) -> str:
    """Return what changed; where nothing did, the ranges of the steadiest and the most variable line."""
    changed = [panel for panel in panels if panel.changes]
    first = (changed or panels)[0]
    over = f"{technique} ({framework}) over {units.plural(len(first.series.runs), 'run')}"
    if changed:
        where = f" on {first.series.machine}" if len(panels) > 1 else ""
        others = sum(len(panel.changes) for panel in changed) - 1
        more = f"; {units.plural(others, 'more change')}" if others else ""
        return f"{over}{where}: {first.sentence}{more}"
    steadiest, widest = min(first.lines, key=_spread), max(first.lines, key=_spread)
    if steadiest is widest:
        return f"{over}: {_between(widest)} on {widest.name}"
    return f"{over}: steadiest {_between(steadiest)} on {steadiest.name}, widest {_between(widest)} on {widest.name}"


def _between(line: EffectLine) -> str:
    """Return the least and the greatest speedup of a line, such as ``1.20–1.31×``."""
    least, most = line.points["speedup"].min(), line.points["speedup"].max()
    return f"{units.interval(least, most)}×"


def _describe_lines(panels: Sequence[MachinePanel]) -> str:
    """Return where each line begins and ends, for readers who do not see the figure."""
    sentences = []
    for panel in panels:
        ends = [(line, line.points["speedup"].iloc[0], line.points["speedup"].iloc[-1]) for line in panel.lines]
        courses = [f"{line.label} from {units.speedup(first)} to {units.speedup(last)}" for line, first, last in ends]
        sentences.append(f"On {panel.series.machine}, first run to last: {'; '.join(courses)}.")
    return " ".join(sentences)


def _note(panels: Sequence[MachinePanel]) -> str:
    """Return what is drawn, over how many runs, and what changed in how the machines are set up."""
    parts = [f"{', and '.join(_describe_runs(panel) for panel in panels)}, in the order in which they were made."]
    parts.append("A line per workload, where the technique is strongest; its interval is the light band.")
    shapes = {each.shape for panel in panels for each in panel.changes}
    parts += [text for shape, text in _LEGENDS.items() if shape in shapes]
    marked = [_describe_setup_changes(panel, several=len(panels) > 1) for panel in panels if panel.setup_changes]
    if marked:
        parts.append(f"Dotted: from this run on, a machine is set up differently. {'. '.join(marked)}.")
    return " ".join(parts)


def _describe_runs(panel: MachinePanel) -> str:
    series = panel.series
    runs = units.plural(series.total, "run")
    of = f"{units.count(len(series.runs))} of {runs}" if series.total > len(series.runs) else runs
    return f"{of} of {series.machine}"


def _describe_setup_changes(panel: MachinePanel, *, several: bool) -> str:
    """Return what the numbered dotted lines of a panel mean."""
    numbered = (f"{number}: {change}" for number, change in enumerate(panel.setup_changes, start=1))
    where = f"{panel.series.machine}, " if several else ""
    return f"{where}{list_some(numbered, _MAX_SETUP_CHANGES, separator='; ')}"


def _spread(line: EffectLine) -> float:
    points = line.points["speedup"]
    return math.log(points.max() / points.min())
