"""Technique by workload: what each does to each, in one cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading.table import rows_of
from harness.report.anchors import Anchors
from harness.report.answer.places import Row
from harness.report.verdicts import GLYPHS

_MOST = 200  # techniques, and workloads; the table of effects holds all


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a technique does to a workload: ``said`` in glyphs and speedups, ``name`` the same for who hears it.

    ``anchor`` is that of the trial with the strongest effect. A cell in which nothing could be measured has none;
    there, ``name`` says why. ``tint`` is the verdict, or "mixed" where effects go both ways.
    """

    said: str
    name: str
    tint: str = ""
    anchor: str = ""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The effects of one framework: ``cells`` by workload and technique; a pair that was not asked for has none."""

    framework: str
    techniques: list[str]
    workloads: list[str]
    cells: Mapping[tuple[str, str], Cell]


def matrices(arms: pd.DataFrame, effects: pd.DataFrame, anchors: Anchors) -> list[Matrix]:
    """Return a matrix for each framework with an effect."""
    if effects.empty:
        return []
    return [
        _matrix(framework, arms[arms["framework"] == framework], effects[effects["framework"] == framework], anchors)
        for framework in effects["framework"].unique()
    ]


def _matrix(framework: str, arms: pd.DataFrame, effects: pd.DataFrame, anchors: Anchors) -> Matrix:
    """Return a framework's matrix: techniques on many workloads first, workloads by the first that has them."""
    pairs = effects[["switched", "workload"]].drop_duplicates()
    techniques = list(pairs["switched"].value_counts(sort=True).index)[:_MOST]
    pairs = pairs[pairs["switched"].isin(techniques)]
    ordered = pairs.sort_values("switched", key=lambda names: names.map(techniques.index), kind="stable")
    asked = arms[~arms["baseline"] & arms["switched"].isin(techniques) & arms["workload"].isin(pairs["workload"])]
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows_of(asked):
        found.setdefault((row["workload"], row["switched"]), []).append(row)
    return Matrix(
        framework=framework,
        techniques=techniques,
        workloads=list(ordered["workload"].unique())[:_MOST],
        cells={place: _cell(place, rows, anchors) for place, rows in found.items()},
    )


def _cell(place: tuple[str, str], rows: Sequence[Row], anchors: Anchors) -> Cell:
    workload, technique = place
    compared = [row for row in rows if row["speedup"] is not None]
    if not compared:
        return Cell(said="–", name=f"{technique} on {workload}: {rows[0]['reason'] or rows[0]['outcome']}")
    verdicts = [verdict for verdict in GLYPHS if any(row["verdict"] == verdict for row in compared)]
    decided = [row for row in compared if row["verdict"] != "undecided"] or compared
    low, high = (units.speedup(pick(row["speedup"] for row in decided)) for pick in (min, max))
    strongest = max(decided, key=lambda row: abs(math.log(row["speedup"])))
    return Cell(
        said=f"{''.join(GLYPHS[verdict] for verdict in verdicts)} {low if low == high else f'{low[:-1]}–{high}'}",
        name=f"{technique} on {workload}: {' and '.join(verdicts)}, {low if low == high else f'{low} to {high}'}",
        tint="mixed" if {"faster", "slower"} <= set(verdicts) else verdicts[0],
        anchor=anchors.trial(strongest["trial"]),
    )
