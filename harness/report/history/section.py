"""What a page says of many runs: what changed last, and a figure per technique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import units
from harness.reading.history.changes.search import changes
from harness.reading.history.changes.splitting import SHORTEST
from harness.reading.history.environments.eras import Turn, turns
from harness.reading.history.observations import History
from harness.report.figures import named_apart
from harness.report.figures.drawing import Drawn
from harness.report.history.figure import Panel, over_runs
from harness.report.history.happened import Mark, Ring, Told, marks, rings, told
from harness.report.history.lines import Line, Stretch, lines, stretches, techniques, trimmed

_MOST_PANELS = 12  # on a page, which stays below 3 MB
_MAY_BE_NONE = 0.05  # share of the changes
_MOST_CHANGES = 20  # that the table names, the latest first
_MOST_SENTENCES = 12  # of a kind, the latest first


@dataclass(frozen=True, kw_only=True)
class OverTime:
    """The part of a page on many runs.

    ``changes`` are those of times and effects, the latest first, and ``counted_changes`` says how many there are and
    how surely; ``turns`` are sentences on where machines or their set-up changed.
    """

    counted: str
    machines: int
    changes: list[Told]
    counted_changes: str
    turns: list[str]
    remarks: list[str]
    figures: list[Drawn]


def over_time(history: History) -> OverTime | None:
    """Gather what many runs show together; None where fewer than three of one machine can be compared."""
    seen = stretches(history)
    if not seen:
        return None
    changed = changes(history, discoveries=_MAY_BE_NONE)
    return OverTime(
        counted=" ".join(_counted(stretch) for stretch in seen),
        machines=len(seen),
        changes=[told(change) for change in changed[:_MOST_CHANGES]],
        counted_changes=_counted_changes(len(changed)),
        turns=[_turned(turn, history) for turn in reversed(turns(history)[-_MOST_SENTENCES:])],
        remarks=list(history.remarks[:_MOST_SENTENCES]),
        figures=_figures(history, seen, rings(changed)),
    )


def _counted(stretch: Stretch) -> str:
    runs = units.plural(stretch.total, "run")
    return f"{runs} of {stretch.machine} can be compared: the same machine, the same size."


def _counted_changes(count: int) -> str:
    if not count:
        return f"No step and no drift is sure; a step takes {SHORTEST} runs on either side, a drift more."
    latest = (
        f"the latest {_MOST_CHANGES} of {units.count(count)}"
        if count > _MOST_CHANGES
        else units.plural(count, "change")
    )
    return f"What changed last: {latest}. Of the changes found, {units.percent(_MAY_BE_NONE)} may be none."


def _turned(turn: Turn, history: History) -> str:
    """Return a turn as a sentence, which names the machine where there are several."""
    machine = turn.run.rpartition("/")[0]
    return f"{machine}, {turn.words}" if history.runs["machine"].nunique() > 1 else turn.words


def _figures(history: History, seen: Sequence[Stretch], changed: Sequence[Ring]) -> list[Drawn]:
    """Draw the techniques, those that changed first, then those that moved furthest; as many as a page has room for."""
    panels: dict[tuple[str, str], list[Panel]] = {}
    around = {name: marks(turns(history, name)) for name in history.observations["framework"].unique()}
    for stretch in seen:
        for framework, technique, effects in techniques(stretch):
            found = lines(effects, [ring.case for ring in changed if ring.run in stretch.runs])
            if found:
                panel = _panel(*trimmed(stretch, found), changed, around[framework])
                panels.setdefault((framework, technique), []).append(panel)
    room = _MOST_PANELS
    figures = []
    for (framework, technique), own in sorted(panels.items(), key=lambda item: _movement(item[1]), reverse=True):
        if room >= len(own):
            room -= len(own)
            figures.append(over_runs(framework, technique, own))
    return named_apart(figures)


def _panel(stretch: Stretch, found: Sequence[Line], changed: Sequence[Ring], around: Sequence[Mark]) -> Panel:
    cases = {line.case for line in found}
    return Panel(
        stretch=stretch,
        lines=found,
        rings=[ring for ring in changed if ring.case in cases and ring.run in stretch.runs],
        marks=[mark for mark in around if mark.run in stretch.runs],
    )


def _movement(panels: Sequence[Panel]) -> tuple[bool, float]:
    """Return whether anything changed, and how far apart the intervals of two runs of one line lie at most."""
    return any(panel.rings for panel in panels), max(line.apart for panel in panels for line in panel.lines)
