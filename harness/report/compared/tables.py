"""The shifts of a comparison as tables, whose first rows are what was decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness import units
from harness.reading.history.comparing.comparison import Compared
from harness.reading.history.comparing.shifts import MOST_RUNS
from harness.reading.table import rows_of

_FARTHEST = math.log(1e6)  # an interval that reaches farther than a million-fold has no end to speak of
DECIDED = ("faster", "slower")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row: its cells, its verdict, and the number by which a column sorts where that is not its text."""

    cells: list[str]
    verdict: str
    order: dict[int, float]

    @property
    def decided(self) -> bool:
        """Whether something is faster or slower."""
        return self.verdict in DECIDED


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of shifts; ``found`` is the place of the column with the verdict."""

    heading: str
    columns: Sequence[str]
    lines: list[Line]
    found: int


def decided_of(table: Table) -> Table:
    """Return the rows in which something is faster or slower."""
    return replace(table, lines=[line for line in table.lines if line.decided])


def without_empty_columns(table: Table) -> Table:
    """Return a table without the columns in which nothing stands."""
    kept = [place for place in range(len(table.columns)) if any(line.cells[place] for line in table.lines)]
    return Table(
        heading=table.heading,
        columns=[table.columns[place] for place in kept],
        lines=[
            Line(
                cells=[line.cells[place] for place in kept],
                verdict=line.verdict,
                order={new: line.order[place] for new, place in enumerate(kept) if place in line.order},
            )
            for line in table.lines
        ],
        found=kept.index(table.found) if kept else table.found,
    )


def workloads_table(found: Compared) -> Table:
    """Return the shift of every workload, the largest decided ones first."""
    rows = rows_of(found.workloads.reset_index())
    rows.sort(key=lambda row: abs(row["shift"]) if row["verdict"] in DECIDED else -1, reverse=True)
    return Table(
        heading="Workloads",
        columns=("workload", "framework", "shift", "verdict", "to decide"),
        lines=[
            Line(
                cells=[row["workload"], row["framework"], ratio_in_words(row), row["verdict"], to_decide(row)],
                verdict=row["verdict"],
                order={2: row["shift"], 4: _number(row["runs"])},
            )
            for row in rows
        ],
        found=3,
    )


def techniques_table(found: Compared, moved: bool) -> Table:
    """Return the shift of every effect; where the machine is another one, in words of what carries over."""
    return Table(
        heading="Techniques",
        columns=(
            "technique", "against", "workload", "on", "before", "after", "shift", "effect" if moved else "verdict",
            "baseline's speed", "its own speed", "to decide",
        ),
        lines=[_technique(row, moved) for row in rows_of(found.techniques)],
        found=7,
    )  # fmt: skip


def _technique(row: dict[str, Any], moved: bool) -> Line:
    standing = row["standing"]
    said = standing if moved else f"{row['verdict']}{', flips' if standing == 'flips' else ''}"
    speeds = [row[name] for name in ("before", "after")]
    times = [row[name] for name in ("baseline_shift", "own_shift")]
    return Line(
        cells=[
            row["level"],
            row["against"],
            row["workload"],
            ", ".join(filter(None, (row["framework"], row["problem"], row["fixed"]))),
            *map(_speed, speeds),
            ratio_in_words(row),
            said,
            *map(_speed, times),
            to_decide(row),
        ],
        verdict=row["verdict"],
        order={
            4: speeds[0],
            5: speeds[1],
            6: row["shift"],
            8: times[0] or 0,
            9: times[1] or 0,
            10: _number(row["runs"]),
        },
    )


def ratio_in_words(row: dict[str, Any]) -> str:
    """Return a shift as a ratio with its interval."""
    low = 0.0 if row["low"] < -_FARTHEST else math.exp(row["low"])
    high = math.inf if row["high"] > _FARTHEST else math.exp(row["high"])
    return units.ratio(math.exp(row["shift"]), low, high)


def speedups_in_words(row: dict[str, Any]) -> str:
    """Return what an effect was and is, such as ``1.80× → 1.63×``."""
    return " → ".join(units.speedup(math.exp(row[end])) for end in ("before", "after"))


def _speed(logarithm: float | None) -> str:
    return "" if logarithm is None else units.speedup(math.exp(logarithm))


def _number(runs: float | None) -> float:
    """Return a number of runs to sort by."""
    return min(runs or 0, MOST_RUNS + 1)


def to_decide(row: dict[str, Any], sentence: str = "{}") -> str:
    """Say about how many runs a side would decide; empty where it is decided."""
    if row["runs"] is None:
        return ""
    number = f"over {MOST_RUNS}" if math.isinf(row["runs"]) else f"about {units.count(row['runs'])}"
    return sentence.format(f"{number} runs a side")
