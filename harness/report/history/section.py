"""What a page says of many runs: what changed last, and a figure per technique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import units
from harness.reading.history.changes.search import DISCOVERIES, Change, changes
from harness.reading.history.changes.splitting import SHORTEST
from harness.reading.history.environments.eras import Turn, turns
from harness.reading.history.observations import History
from harness.report.figures import named_apart
from harness.report.figures.drawing import Drawn
from harness.report.history.figure import Panel, over_runs
from harness.report.history.happened import Mark, Told, marks, of_effects, told
from harness.report.history.lines import Line, Stretch, lines, stretches, techniques, trimmed

_MOST_PANELS = 12  # on a page, which stays below 3 MB
_MOST_CHANGES = 12  # that the table names, the latest first
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

    @property
    def columns(self) -> list[str]:
        """The headings of the table of changes, which names the machine where there are several."""
        where = ["machine"] if self.machines > 1 else []
        return ["since run", *where, "change of", "what", "became", "along with"]

    @property
    def rows(self) -> list[list[str]]:
        """The table of changes."""
        return [
            [change.since, *([change.machine] if self.machines > 1 else []), change.of, change.what, change.change,
             change.along]
            for change in self.changes
        ]  # fmt: skip


def over_time(history: History, *, drawn: bool = True) -> OverTime | None:
    """Gather what many runs show together; None where fewer than three of one machine can be compared.

    Where nothing is to be ``drawn``, there are no figures.
    """
    seen = stretches(history)
    if not seen:
        return None
    changed = changes(history)
    return OverTime(
        counted=_counted(seen),
        machines=len(seen),
        changes=[told(change) for change in changed[:_MOST_CHANGES]],
        counted_changes=_counted_changes(changed),
        turns=[_turned(turn, history) for turn in reversed(turns(history)[-_MOST_SENTENCES:])],
        remarks=[*history.remarks, *history.formats][:_MOST_SENTENCES],
        figures=_figures(history, seen, changed) if drawn else [],
    )


def _counted(seen: Sequence[Stretch]) -> str:
    runs = " and ".join(f"{units.plural(stretch.total, 'run')} of {stretch.machine}" for stretch in seen)
    return f"{runs} can be compared: the same machine, the same size."


def _counted_changes(found: Sequence[Change]) -> str:
    if not found:
        return f"No step and no drift is sure; a step takes {SHORTEST} runs on either side, a drift more."
    over = sum(change.shape == "episode" for change in found)
    counts = [(len(found) - over, "change"), (over, "episode")]
    each = " and ".join(units.plural(count, noun) for count, noun in counts if count)
    back = ", in which a level was left and came back" if over else ""
    latest = f"the latest {_MOST_CHANGES} of " if len(found) > _MOST_CHANGES else ""
    return f"What changed last: {latest}{each}{back}. Of the changes found, {units.percent(DISCOVERIES)} may be none."


def _turned(turn: Turn, history: History) -> str:
    """Return a turn as a sentence, which names the machine where there are several."""
    machine = turn.run.rpartition("/")[0]
    return f"{machine}, {turn.words}" if history.runs["machine"].nunique() > 1 else turn.words


def _figures(history: History, seen: Sequence[Stretch], changed: Sequence[Change]) -> list[Drawn]:
    """Draw the techniques, those that changed first, then those that moved furthest; as many as a page has room for."""
    panels: dict[tuple[str, str], list[Panel]] = {}
    around = {name: marks(turns(history, name)) for name in history.observations["framework"].unique()}
    for stretch in seen:
        for framework, technique, effects in techniques(stretch):
            found = lines(effects, [change.case for change in changed if change.since in stretch.alike])
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


def _panel(stretch: Stretch, found: Sequence[Line], changed: Sequence[Change], around: Sequence[Mark]) -> Panel:
    cases = {line.case for line in found}
    return Panel(
        stretch=stretch,
        lines=found,
        happened=[each for each in of_effects(changed) if each.case in cases and stretch.shows(each)],
        marks=[mark for mark in around if mark.run in stretch.runs],
    )


def _movement(panels: Sequence[Panel]) -> tuple[bool, float]:
    """Return whether anything changed, and how far apart the intervals of two runs of one line lie at most."""
    return any(panel.happened for panel in panels), max(line.apart for panel in panels for line in panel.lines)
