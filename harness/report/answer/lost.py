"""Arms that have no speed, or a doubtful one, by why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness import units
from harness.reading.table import rows_of
from harness.report.answer.alike import pattern, together
from harness.report.answer.places import listed

NOT_BELIEVED = {  # outcomes that a speed was taken for, and why it is none
    "wrong-output": "with wrong output",
    "wrong-work": "with wrong work",
    "misplaced": "misplaced",
    "impossible": "impossible",
}
_NAMED = 3  # levels and workloads of one reason; every arm stands in the table of arms


@dataclass(frozen=True, kw_only=True)
class Group:
    """Arms that have no speed, or a doubtful one, for one and the same reason."""

    outcome: str
    reason: str
    counted: str
    named: str


def without_speed(arms: pd.DataFrame) -> list[Group]:
    """Return the arms that were not measured, by why."""
    return _grouped((row, row["outcome"], row["reason"]) for row in rows_of(arms) if row["outcome"] != "measured")


def doubted(arms: pd.DataFrame) -> list[Group]:
    """Return the arms that were measured and flagged, by why."""
    measured = (row for row in rows_of(arms) if row["outcome"] == "measured")
    return _grouped((row, "doubtful", flag) for row in measured for flag in row["flags"])


def _grouped(found: Iterable[tuple[dict[str, Any], str, str]]) -> list[Group]:
    """Group arms, each with its outcome and the reason, by both but for numbers; the most frequent reason first."""
    groups: dict[tuple[str, str], list[tuple[dict[str, Any], str]]] = {}
    for row, outcome, reason in found:
        groups.setdefault((outcome, pattern(reason)), []).append((row, reason))
    return [
        Group(
            outcome=outcome,
            reason=together([reason for _, reason in alike]),
            counted=f"{units.plural(len(alike), 'arm')} {NOT_BELIEVED.get(outcome, outcome.replace('-', ' '))}",
            named=_named([row for row, _ in alike]),
        )
        for (outcome, _), alike in sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    ]


def _named(rows: list[dict[str, Any]]) -> str:
    """Return which arms they are, as far as one wants to read."""
    levels, workloads, frameworks = (
        listed([row[name] for row in rows], most=_NAMED) for name in ("level", "workload", "framework")
    )
    return f"{levels} on {workloads} ({frameworks})"
