"""Technique by workload: what each does to each, in one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a technique does to a workload: the verdicts of its effects, and their speedups in words.

    ``anchor`` is that of the trial with the strongest of them.
    """

    verdicts: tuple[str, ...]
    speedups: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The effects of one framework: ``cells`` by workload and technique; a pair that was not compared has none."""

    framework: str
    techniques: list[str]
    workloads: list[str]
    cells: Mapping[tuple[str, str], Cell]
