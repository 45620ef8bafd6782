"""Where effects were measured, in as few words as tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.reading.table import in_words

Row = dict[str, Any]


@dataclass(frozen=True)
class Places:
    """The places of some effects. ``differing`` names for each workload what is not the same in all of them."""

    differing: Mapping[str, set[str]]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Places:
        """Return the places of these effects."""
        alike: dict[str, list[Row]] = {}
        for row in rows:
            alike.setdefault(row["workload"], []).append(_held(row))
        return cls({workload: _differing(held) for workload, held in alike.items()})

    def name(self, row: Row, said: str = "") -> str:
        """Return an effect's place, and what is ``said`` of it there: ``matmul (elements 10,000; 1.91×)``."""
        differing = self.differing[row["workload"]]
        told = {name: value for name, value in _held(row).items() if name in differing}
        details = "; ".join(filter(None, (in_words(told), said)))
        return f"{row['workload']} ({details})" if details else str(row["workload"])


def level_in_words(row: Row) -> str:
    """Return a row's level without the technique's name, where it is one technique."""
    return str(row["level"]).removeprefix(f"{row['switched']} ")


def listed(names: Sequence[str], most: int = 2) -> str:
    """Return names as a sentence has them: the first ones, and how many more there are."""
    names = list(dict.fromkeys(names))
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _held(row: Row) -> Row:
    return {**row["problem"], **row["fixed"]}


def _differing(held: Sequence[Row]) -> set[str]:
    names = {name for each in held for name in each}
    return {name for name in names if any(each.get(name) != held[0].get(name) for each in held)}
