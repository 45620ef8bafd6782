"""Interactions: whether two techniques do together what each alone promises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.reading.table import held_in_words


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """One workload under two techniques, each at its baseline level or switched.

    ``arms`` is one row for each of the four, the baseline first and both together last, with the levels of the two
    techniques in columns ``first`` and ``second``. Without an interaction the speedups of the two alone multiply;
    ``ratio`` is the speedup of both over that product. The three speedups share their baseline and were not compared
    with each other, so ``low`` and ``high`` take all three intervals at their worst: they are wider than need be.
    """

    trial: str
    workload: str
    framework: str
    held: str
    techniques: tuple[str, str]
    arms: pd.DataFrame
    ratio: float
    low: float
    high: float

    @property
    def together(self) -> pd.Series[Any]:
        """The arm with both techniques switched."""
        return self.arms.iloc[3]

    @property
    def alone(self) -> tuple[pd.Series[Any], pd.Series[Any]]:
        """The arms with the first and with the second technique switched."""
        return self.arms.iloc[1], self.arms.iloc[2]

    @property
    def promised(self) -> float:
        """The speedup of both if neither changed what the other does."""
        first, second = self.alone
        return float(first["speedup"] * second["speedup"])


def interactions(arms: pd.DataFrame) -> list[Interaction]:
    """Return the interaction of every trial that measured two techniques with two levels each in all four ways.

    Takes the arms of one run.
    """
    if arms.empty:
        return []
    return [found for _, trial in arms.groupby("trial", sort=False) for found in _of_trial(trial)]


def _of_trial(arms: pd.DataFrame) -> Iterator[Interaction]:
    baseline = arms.iloc[0]["levels"]
    if len(baseline) != 2 or len(arms) != 4 or arms["outcome"].ne("measured").any():
        return
    first, second = baseline
    ways = arms.assign(
        first=[levels.get(first, "") for levels in arms["levels"]],
        second=[levels.get(second, "") for levels in arms["levels"]],
    )
    switched = zip(ways["first"] != baseline[first], ways["second"] != baseline[second], strict=True)
    ordered = ways.assign(order=[a + 2 * b for a, b in switched]).sort_values("order").reset_index(drop=True)
    crossed = ordered["first"].nunique() == 2 and ordered["second"].nunique() == 2
    if crossed and ordered["order"].is_unique and ordered["speedup"].iloc[1:].notna().all():
        yield _interaction(ordered)


def _interaction(arms: pd.DataFrame) -> Interaction:
    arms = arms.fillna({"speedup": 1.0, "low": 1.0, "high": 1.0})  # the baseline is once as fast as itself
    first, second, together = (arms.iloc[place] for place in (1, 2, 3))
    return Interaction(
        trial=together["trial"],
        workload=together["workload"],
        framework=together["framework"],
        held=held_in_words(together["problem"], together["fixed"]),
        techniques=(first["switched"], second["switched"]),
        arms=arms,
        ratio=_over(together["speedup"], first["speedup"], second["speedup"]),
        low=_over(together["low"], first["high"], second["high"]),
        high=_over(together["high"], first["low"], second["low"]),
    )


def _over(together: float, first: float, second: float) -> float:
    """Return a speedup over the product of two; it is without bound where the product reaches down to 0."""
    promised = float(first) * float(second)
    return float(together) / promised if promised else math.inf
