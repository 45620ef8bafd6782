"""What happened between runs, in words: changes of times and effects, and of how the machine is set up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import units
from harness.reading.history.changes.search import Change
from harness.reading.history.environments.differences import in_words
from harness.reading.history.environments.eras import Turn

_BRIEF = 80  # characters of a cause that a title has room for


@dataclass(frozen=True, kw_only=True)
class Ring:
    """A change of one case from a run on: how many times its speedup became, and a sentence on it."""

    run: str
    case: str
    ratio: float
    said: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A change of how the machine is set up, from a run on, in words."""

    run: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Told:
    """A change as a row of a table: since when, what it is about, what changed, and what changed along with it."""

    since: str
    machine: str
    of: str
    what: str
    change: str
    along: str


def rings(changes: Sequence[Change]) -> list[Ring]:
    """Return the steps of effects, as figures mark them."""
    return [
        Ring(run=change.since, case=change.case, ratio=change.ratio, said=_sentence(change))
        for change in changes
        if change.kind == "technique" and change.shape == "step"
    ]


def marks(turns: Sequence[Turn]) -> list[Mark]:
    """Return where a machine's set-up changed; another machine has a figure's panel of its own, and needs no mark."""
    return [
        Mark(run=turn.run, said=f"{turn.label}: {in_words(turn.differences)}")
        for turn in turns
        if turn.kind == "sub-era"
    ]


def told(change: Change) -> Told:
    """Return a change as a row."""
    return Told(
        since=_shortly(change.since),
        machine=change.machine,
        of=change.kind,
        what=_what(change),
        change=_became(change),
        along=change.environment,
    )


def _sentence(change: Change) -> str:
    """Say what changed, and what changed along with it where that is brief."""
    level = change.level.removeprefix(f"{change.technique} ")
    along = f"; {change.environment}" if 0 < len(change.environment) <= _BRIEF else ""
    return f"{change.workload} ({level}) {_became(change)} since run {_shortly(change.since)}{along}"


def _what(change: Change) -> str:
    if change.kind == "machine":
        return "all workloads together"
    where = ", ".join(filter(None, (change.workload, change.problem)))
    return f"{change.level} on {where} ({change.framework})" if change.level else f"{where} ({change.framework})"


def _became(change: Change) -> str:
    if change.shape == "drift":
        return f"drifts: {units.ratio(change.ratio, change.low, change.high)} in 100 runs"
    if change.kind == "technique":
        ends = change.before * change.low, change.before * change.high
        return f"{units.speedup(change.before)} → {units.ratio(change.after, *ends)}"
    return f"takes {units.ratio(change.ratio, change.low, change.high)} as long"


def _shortly(run: str) -> str:
    """Return a run's number, or its name where it has none."""
    name = run.rpartition("/")[2]
    number = name.partition("_")[0]
    return number if number.isdecimal() else name
