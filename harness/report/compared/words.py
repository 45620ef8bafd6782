"""What a comparison says in sentences: the environments, what shifted, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness import units
from harness.reading.history.comparing.comparison import Compared
from harness.reading.history.comparing.shifts import FACTOR, LEAST_RUNS
from harness.reading.history.comparing.sides import Side
from harness.reading.history.environments.differences import (
    Difference,
    causes,
    differences,
    grouped,
    named,
    what_would_separate,
)
from harness.reading.history.observations import History
from harness.reading.table import rows_of
from harness.report.compared.tables import (
    DECIDED,
    Table,
    ratio_in_words,
    speedups_in_words,
    techniques_table,
    to_decide,
    workloads_table,
)
from harness.report.verdicts import counted
from harness.untrusted import shown

_FEW = 4  # runs that are named
_STANDINGS = ("flips", "grows", "shrinks", "carries over", "unclear")


@dataclass(frozen=True, kw_only=True)
class Words:
    """Everything that a comparison says. ``sides`` and ``environment`` are names and what is said of each.

    ``finding`` is one sentence, without its full stop.
    """

    title: str
    finding: str
    sides: list[tuple[str, str]]
    environment: list[tuple[str, list[str]]]
    cause: str
    answers: list[tuple[str, str]]
    notes: list[str]
    tables: list[Table]


@dataclass(frozen=True, kw_only=True)
class Environments:
    """What the environments of both sides differ in, what of it may be named as a cause, and what would tell more."""

    differing: tuple[Difference, ...]
    cause: str
    would_separate: str


def environments(found: Compared, history: History) -> Environments:
    """Return how the environments of both sides stand to each other."""
    before, after = (_rows(side, history) for side in (found.before, found.after))
    differing = differences(before, after)
    return Environments(differing=differing, cause=named(differing), would_separate=what_would_separate(before, after))


def in_words(found: Compared, history: History) -> Words:
    """Return what a comparison says; its environments are explained first."""
    told, moved = environments(found, history), _moved(found)
    sides = {"before": found.before, "after": found.after}
    return Words(
        title="What changed: the machine, a workload or a technique?",
        finding=_finding(found, moved),
        sides=[(name, _side(side, _rows(side, history))) for name, side in sides.items()],
        environment=[(group, said) for group, said in grouped(told.differing).items()],
        cause="" if moved else _cause(told),
        answers=list(_answers(found, moved)),
        notes=[*_notes(found, moved), *(f"{remark}." for remark in found.remarks)],
        tables=[techniques_table(found, moved), workloads_table(found)],
    )


def _rows(side: Side, history: History) -> pd.DataFrame:
    return history.runs[history.runs["run"].isin(side.runs)]


def _moved(found: Compared) -> bool:
    return found.before.machine != found.after.machine


def _side(side: Side, runs: pd.DataFrame) -> str:
    names = [shown(str(run)).removeprefix(f"{side.machine}/") for run in side.runs]
    some = f"{units.plural(len(names), 'run')}, {names[0]} to {names[-1]}," if len(names) > _FEW else ", ".join(names)
    days = sorted({f"{taken:%Y-%m-%d}" for taken in runs["taken"].dropna()})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    return f"{some} on {side.machine}{when}"


def _cause(told: Environments) -> str:
    way = f"; these would tell them apart: {told.would_separate}" if told.would_separate else ""
    only = len(causes(told.differing)) == 1
    said = f"What may be named as the cause: {told.cause}" if only else f"{told.cause[0].upper()}{told.cause[1:]}"
    return f"{said}{way}."


def _answers(found: Compared, moved: bool) -> Iterator[tuple[str, str]]:
    for row in rows_of(found.machine):
        yield "machine", f"{ratio_in_words(row)}, {row['verdict']}{to_decide(row, '; {} would decide')}"
    if len(found.workloads):
        yield "workloads", _counted(found.workloads)
    if len(found.techniques):
        yield "techniques", _counted(found.techniques)
    if moved and len(found.techniques):
        yield "effects", _standings(found)


def _finding(found: Compared, moved: bool) -> str:
    """Say what became of the machine and of the techniques, and which of them shifted furthest."""
    machine = "; ".join(
        f"{'the' if moved else 'The'} machine is {_shifted(row)} as fast" for row in rows_of(found.machine)
    )
    where = f"{found.before.machine} → {found.after.machine}: " if moved else ""
    if found.techniques.empty:
        return f"{where}{machine or 'nothing was measured on both sides'}"
    counts = _standings(found) if moved else counted(found.techniques["verdict"])
    first = next(iter(rows_of(found.techniques)))
    decided = first["verdict"] in DECIDED
    furthest = f"; furthest, {first['level']} on {first['workload']}: {speedups_in_words(first)}" if decided else ""
    return f"{where}{machine}; of {units.plural(len(found.techniques), 'effect')}, {counts}{furthest}"


def _shifted(row: dict[str, Any]) -> str:
    return f"{ratio_in_words(row)}{', undecided,' if row['verdict'] == 'undecided' else ''}"


def _standings(found: Compared) -> str:
    counts = Counter(found.techniques["standing"])
    return ", ".join(f"{counts[each]} {_many(each, counts[each])}" for each in _STANDINGS if counts[each])


def _counted(shifts: pd.DataFrame) -> str:
    """Count the verdicts, and say what would decide half of those that are not."""
    half = shifts["runs"].dropna().quantile(0.5, interpolation="higher")
    return counted(shifts["verdict"]) + to_decide({"runs": None if pd.isna(half) else half}, "; {} would decide half")


def _many(standing: str, number: int) -> str:
    """Return the verb for so many."""
    plural = {"carries over": "carry over", "grows": "grow", "shrinks": "shrink", "flips": "flip"}
    return standing if number == 1 else plural.get(standing, standing)


def _notes(found: Compared, moved: bool) -> Iterator[str]:
    rate = found.limits.false_discovery_rate
    yield (
        "A shift above 1× is faster after: the machine's is common to all, a workload's to its baseline and candidates "
        "beyond that, a technique's is that of its speedup; beside it stand the shifts of both arms' speeds beyond the "
        "machine's. Intervals hold with "
        f"{units.percent(1 - rate)} confidence each; at most {units.percent(rate)} of what is called faster or slower "
        f"is expected to be wrong. What lies within {units.percent(found.limits.margin)} is the same."
    )
    if moved and len(found.techniques):
        yield (
            "An effect grows where its speedup is larger after, shrinks where it is smaller, carries over where it is "
            "the same, and flips where the technique is faster on one machine and slower on the other."
        )
    if not found.learnt:
        yield (
            "How much unchanged runs differ is not known here, so nothing is decided that does not lie apart by more "
            f"than a factor of {units.significant(FACTOR, 2)}, and intervals hold for these very runs alone. Give "
            f"{LEAST_RUNS} runs or more a side, or a storage with four other runs of the same environment."
        )
