"""What is computed from the arms of a design: each contrast is a weighted sum of their log speedups.

In a full factorial a technique's effect is told three ways: alone, from the baseline; on average, over both levels of
all others; on top, as the last one to be added. Interactions count from the baseline, so that the bundle is exactly
the product of what each technique brings alone and of all interactions: on the log scale, the Möbius inversion of the
arms over the subsets of techniques (treatment coding). A fraction tells averages, and sums of aliased interactions
(effect coding; Montgomery 2017, *Design and Analysis of Experiments*, chapters 6 and 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from harness.attribution.design import GENERATORS, Row, design, fraction, is_full

Kind = Literal["bundle", "alone", "average", "on top", "interaction", "interactions"]


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """One figure, of the techniques named, or of its aliases instead; ``weights`` has one number per arm."""

    kind: Kind
    of: tuple[str, ...]
    weights: np.ndarray
    aliases: tuple[tuple[str, ...], ...] = ()


def contrasts(techniques: Sequence[str], rows: tuple[Row, ...]) -> list[Contrast]:
    """Return every contrast that these arms allow, none where they are no design."""
    if not any(any(row) for row in rows) or len(rows[0]) != len(techniques) or len(techniques) < 2:
        return []
    if is_full(rows):
        return list(_of_full(tuple(techniques), rows))
    known = len(techniques) in GENERATORS and sorted(rows) == sorted(design(len(techniques)))
    return list(_of_fraction(tuple(techniques), rows)) if known else []


def _of_full(techniques: tuple[str, ...], rows: tuple[Row, ...]) -> Iterator[Contrast]:
    def arm(*on: str) -> np.ndarray:
        wanted = tuple(name in on for name in techniques)
        return np.array([float(row == wanted) for row in rows])

    yield _bundle(techniques, rows)
    for name in techniques:
        yield Contrast(kind="alone", of=(name,), weights=arm(name))
    for place, name in enumerate(techniques):
        yield _average(name, place, rows, among=rows)
    for name in techniques:
        others = (other for other in techniques if other != name)
        yield Contrast(kind="on top", of=(name,), weights=arm(*techniques) - arm(*others))
    for order in range(2, len(techniques) + 1):
        for chosen in combinations(techniques, order):
            subsets = (subset for size in range(1, order + 1) for subset in combinations(chosen, size))
            weights = sum(((-1.0) ** (order - len(subset)) * arm(*subset) for subset in subsets), np.zeros(len(rows)))
            yield Contrast(kind="interaction", of=chosen, weights=weights)
    together = arm(*techniques) - sum((arm(name) for name in techniques), np.zeros(len(rows)))
    yield Contrast(kind="interactions", of=techniques, weights=together)


def _of_fraction(techniques: tuple[str, ...], rows: tuple[Row, ...]) -> Iterator[Contrast]:
    among = fraction(len(techniques))
    yield _bundle(techniques, rows)
    for place, name in enumerate(techniques):
        yield _average(name, place, rows, among)
    alike: dict[tuple[float, ...], list[tuple[str, ...]]] = {}
    for first, second in combinations(range(len(techniques)), 2):
        # The change of one effect by the other, on average over the rest: four quarters of the fraction.
        signs = _signs(first, rows, among) * _signs(second, rows, among) * 4 / len(among)
        alike.setdefault(tuple(signs), []).append((techniques[first], techniques[second]))
    for weights, (pair, *aliases) in alike.items():
        yield Contrast(kind="interaction", of=pair, weights=np.array(weights), aliases=tuple(aliases))


def _bundle(techniques: tuple[str, ...], rows: tuple[Row, ...]) -> Contrast:
    return Contrast(kind="bundle", of=techniques, weights=np.array([float(all(row)) for row in rows]))


def _average(name: str, place: int, rows: tuple[Row, ...], among: tuple[Row, ...]) -> Contrast:
    return Contrast(kind="average", of=(name,), weights=_signs(place, rows, among) * 2 / len(among))


def _signs(place: int, rows: tuple[Row, ...], among: tuple[Row, ...]) -> np.ndarray:
    """Return 1 for each arm with a technique on, -1 with it off, 0 for arms that do not count."""
    return np.array([(1.0 if row[place] else -1.0) if row in among else 0.0 for row in rows])
