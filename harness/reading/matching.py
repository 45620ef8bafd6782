"""The same effect in several runs, and how their findings stand to each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from harness.reading.bottleneck import TECHNIQUE as RELIEF
from harness.reading.files import Result
from harness.reading.table import in_words, load, rows_of

Row = dict[str, Any]
Standing = Literal["flips", "differs", "apart", "undecided", "agrees", "alone", "not comparable"]


@dataclass(frozen=True, kw_only=True)
class Match:
    """One candidate as several runs have it: for each run its row of the arm table, None where the run lacks it.

    ``standing`` is one of these, by the runs in which it has a speedup:

    - flips: faster in one, slower in another
    - differs: faster in some or slower in some, and the same in the others
    - apart: two intervals share no value, so that it is larger in one
    - undecided: so in at least one
    - agrees: one verdict, and intervals that overlap
    - alone: in one run only
    - not comparable: the baselines differ
    """

    rows: tuple[Row | None, ...]

    @cached_property
    def measured(self) -> dict[int, Row]:
        """The rows that have a speedup, by the position of their run."""
        return {run: row for run, row in enumerate(self.rows) if row and row["speedup"] is not None}

    @property
    def first(self) -> Row:
        """The first row that has a speedup, for what is the same in all of them."""
        return next(iter(self.measured.values()))

    @cached_property
    def standing(self) -> Standing:
        """How the findings stand to each other."""
        rows = list(self.measured.values())
        if len(rows) < 2:
            return "alone"
        if len({(in_words(row["levels"]), row["against"]) for row in rows}) > 1:
            return "not comparable"
        verdicts = {row["verdict"] for row in rows}
        if verdicts >= {"faster", "slower"}:
            return "flips"
        if verdicts in ({"faster", "same"}, {"slower", "same"}):
            return "differs"
        if verdicts != {"same"} and max(row["low"] for row in rows) > min(row["high"] for row in rows):
            return "apart"
        return "undecided" if "undecided" in verdicts else "agrees"

    @property
    def spread(self) -> float:
        """The ratio of the largest speedup to the smallest."""
        speedups = [row["speedup"] for row in self.measured.values()]
        return float(max(speedups) / min(speedups))

    def runs_with(self, verdict: str) -> list[int]:
        """Return the positions of the runs that came to a verdict."""
        return [run for run, row in self.measured.items() if row["verdict"] == verdict]


DIFFER: tuple[Standing, ...] = ("flips", "differs", "apart")  # the standings of effects on which runs differ
_ORDER = (*DIFFER, "undecided", "agrees", "not comparable", "alone")


def matched(results: Sequence[Result]) -> list[Match]:
    """Return every effect that at least one of the runs has; those that differ come first, the furthest apart on top.

    Effects are the same where test, framework, workload, problem, what is held and level are. What takes a burden off
    is no technique that a person could choose, and left out.
    """
    found: dict[tuple[str | int, ...], list[Row | None]] = {}
    for run, result in enumerate(results):
        again: Counter[tuple[str, ...]] = Counter()
        for row in rows_of(load([result])):
            if not row["baseline"] and row["switched"] != RELIEF:
                key = _key(row)
                found.setdefault((*key, again[key]), [None] * len(results))[run] = row
                again[key] += 1
    matches = [match for rows in found.values() if (match := Match(rows=tuple(rows))).measured]
    return sorted(matches, key=lambda match: (_ORDER.index(match.standing), -math.log(match.spread)))


def _key(row: Row) -> tuple[str, ...]:
    held = (in_words(row["problem"]), in_words(row["fixed"]))
    return (row["test"], row["framework"], row["workload"], *held, row["level"])
