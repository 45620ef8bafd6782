"""What happened between runs, in words: changes of times and effects, and of how the machine is set up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from harness import units
from harness.reading.history.changes.search import Change
from harness.reading.history.environments.differences import in_words
from harness.reading.history.environments.eras import Turn

Shape = Literal["step", "drift", "episode"]
_BRIEF = 80  # characters of a cause that a title has room for


@dataclass(frozen=True, kw_only=True)
class Happening:
    """What happened to one case: a step, a drift or an episode, from a run on, with a sentence on it.

    ``ratio`` is how many times its speedup became, of a drift in 100 runs. ``until`` is an episode's last run, ""
    where there is none yet.
    """

    shape: Shape
    run: str
    until: str
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


def of_effects(changes: Sequence[Change]) -> list[Happening]:
    """Return what happened to effects, as figures mark it, what lasts first."""
    found = [
        Happening(
            shape=change.shape,
            run=change.since,
            until=change.until,
            case=change.case,
            ratio=change.ratio,
            said=_sentence(change),
        )
        for change in changes
        if change.kind == "technique"
    ]
    return sorted(found, key=lambda each: get_args(Shape).index(each.shape))


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
        since=_when(change, ", until "),
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
    when = f"in runs {_when(change)}" if change.until else f"since run {_when(change)}"
    return f"{change.workload} ({level}) {_became(change)} {when}{along}"


def _what(change: Change) -> str:
    if change.kind == "machine":
        return "all workloads together"
    where = ", ".join(filter(None, (change.workload, change.problem)))
    return f"{change.level} on {where} ({change.framework})" if change.level else f"{where} ({change.framework})"


def _became(change: Change) -> str:
    if change.shape == "drift":
        return f"drifts: {units.ratio(change.ratio, change.low, change.high)} in 100 runs"
    more = ", perhaps for a while" if change.shape == "episode" and not change.until else ""
    if change.kind == "technique":
        ends = change.before * change.low, change.before * change.high
        became = f"{units.speedup(change.before)} → {units.ratio(change.after, *ends)}"
        return f"{became} → {units.speedup(change.before)}" if change.until else became + more
    ratio = units.ratio(change.ratio, change.low, change.high)
    return f"took {ratio} as long, and is over" if change.until else f"takes {ratio} as long{more}"


def _when(change: Change, until: str = " to ") -> str:
    """Return the run of a change, or the first and the last of an episode, such as ``0042 to 0048``."""
    return until.join(map(_shortly, filter(None, (change.since, change.until))))


def _shortly(run: str) -> str:
    """Return a run's number, or its name where it has none."""
    name = run.rpartition("/")[2]
    number = name.partition("_")[0]
    return number if number.isdecimal() else name
