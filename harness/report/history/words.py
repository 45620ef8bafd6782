"""What a figure of a technique over many runs says in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness import units
from harness.report.history.happened import Shape

if TYPE_CHECKING:
    from harness.report.history.figure import Panel
    from harness.report.history.lines import Line

_MEANS: dict[Shape, str] = {
    "step": "A ring: the first run after a change, with the ratio of the speedups after and before.",
    "drift": "Dashed: a drift, with the ratio of the speedups of runs that lie 100 apart.",
    "episode": "A bar: an episode, in which a level was left and came back, with the ratio to that around it.",
}
_MOST_MARKS = 8  # that a note names


def finding(framework: str, technique: str, panels: Sequence[Panel]) -> str:
    """Say what changed; where nothing is known to, between which speedups the steadiest and the widest line lie."""
    first = panels[0]
    over = f"{technique} ({framework}) over {units.plural(len(first.stretch.runs), 'run')}"
    told = [(panel, each.said) for panel in panels for each in panel.happened]
    if told:
        panel, said = told[0]
        where = f" on {panel.stretch.machine}" if len(panels) > 1 else ""
        more = f"; {units.plural(len(told) - 1, 'more change')}" if len(told) > 1 else ""
        return f"{over}{where}: {said}{more}"
    steadiest, widest = min(first.lines, key=_spread), max(first.lines, key=_spread)
    if steadiest is widest:
        return f"{over}: {between(widest)} on {widest.name}"
    return f"{over}: steadiest {between(steadiest)} on {steadiest.name}, widest {between(widest)} on {widest.name}"


def between(line: Line) -> str:
    """Return the least and the greatest speedup of a line, such as ``1.20–1.31×``."""
    least, most = line.points["speedup"].min(), line.points["speedup"].max()
    return f"{units.interval(least, most)}×"


def each_line(panels: Sequence[Panel]) -> str:
    """Say of each line where it begins and ends, to who does not see the figure."""
    told = []
    for panel in panels:
        ends = [(line, line.points["speedup"].iloc[0], line.points["speedup"].iloc[-1]) for line in panel.lines]
        said = [f"{line.label} from {units.speedup(first)} to {units.speedup(last)}" for line, first, last in ends]
        told.append(f"On {panel.stretch.machine}, first run to last: {'; '.join(said)}.")
    return " ".join(told)


def note(panels: Sequence[Panel]) -> str:
    """Say what is drawn, over how many runs, and what changed in how the machines are set up."""
    parts = [f"{', and '.join(_shown(panel) for panel in panels)}, in the order in which they were made."]
    parts.append("A line per workload, where the technique is strongest; its interval is the light band.")
    shapes = {each.shape for panel in panels for each in panel.happened}
    parts += [said for shape, said in _MEANS.items() if shape in shapes]
    marked = [_marked(panel, several=len(panels) > 1) for panel in panels if panel.marks]
    if marked:
        parts.append(f"Dotted, from there on a machine is set up differently. {'. '.join(marked)}.")
    return " ".join(parts)


def _shown(panel: Panel) -> str:
    stretch = panel.stretch
    runs = units.plural(stretch.total, "run")
    of = f"{units.count(len(stretch.runs))} of {runs}" if stretch.total > len(stretch.runs) else runs
    return f"{of} of {stretch.machine}"


def _marked(panel: Panel, *, several: bool) -> str:
    """Say what the dotted lines of a panel mean, by their numbers."""
    each = "; ".join(f"{number}: {mark.said}" for number, mark in enumerate(panel.marks[:_MOST_MARKS], start=1))
    more = f"; and {units.count(len(panel.marks) - _MOST_MARKS)} more" if len(panel.marks) > _MOST_MARKS else ""
    where = f"{panel.stretch.machine}, " if several else ""
    return f"{where}{each}{more}"


def _spread(line: Line) -> float:
    points = line.points["speedup"]
    return math.log(points.max() / points.min())
