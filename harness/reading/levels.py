"""Sweeps over a technique whose levels are numbers: the knee, the limit, and what set it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.reading.table import in_words

NEAR_BEST = 0.95  # the knee's share of the best throughput: what is gained beyond it rarely pays its price
_MOST_DIGITS = 9  # of a level that is a number


@dataclass(frozen=True, kw_only=True)
class LevelSweep:
    """One workload over the numeric levels of a technique, such as "batch_size" or "workers".

    ``arms`` is one row per level that was asked for, in order, with the level in a column ``at``; ``held`` says in
    words what was the same for all of them.
    """

    technique: str
    trial: str
    workload: str
    framework: str
    held: str
    unit: str
    arms: pd.DataFrame

    @property
    def ran(self) -> pd.DataFrame:
        """The arms that were measured."""
        return self.arms[self.arms["items_per_s"].notna()].reset_index(drop=True)

    @property
    def best(self) -> int:
        """The level of the best throughput."""
        ran = self.ran
        return int(ran["at"].iloc[ran["items_per_s"].argmax()])

    @property
    def knee(self) -> int:
        """The smallest level within 5 % of the best throughput."""
        ran = self.ran
        return int(ran["at"][ran["items_per_s"] >= NEAR_BEST * ran["items_per_s"].max()].min())

    @property
    def limit(self) -> int:
        """The largest level that ran."""
        return int(self.ran["at"].max())

    @property
    def kept(self) -> float:
        """The share of the best throughput that is left at the limit."""
        ran = self.ran
        return float(ran["items_per_s"].iloc[ran["at"].argmax()] / ran["items_per_s"].max())

    @property
    def decided(self) -> bool:
        """Whether any level is known to be faster or slower than the baseline, where that is among them."""
        return not self.arms["baseline"].any() or bool(self.arms["verdict"].isin(["faster", "slower"]).any())

    @property
    def stopper(self) -> pd.Series[Any] | None:
        """The smallest level beyond the limit, which did not run; None where none was asked for."""
        larger = self.arms[self.arms["at"] > self.limit]
        return None if larger.empty else larger.iloc[0]

    @property
    def stopped_by(self) -> str:
        """What kept a larger level from running, in words; empty where none was asked for."""
        stopper = self.stopper
        if stopper is None:
            return ""
        if stopper["outcome"] == "out-of-memory":
            return f"out of memory at {stopper['at']}"
        return f"{stopper['at']} did not run: {stopper['reason'] or stopper['outcome']}"


def level_sweeps(arms: pd.DataFrame, technique: str) -> list[LevelSweep]:
    """Return every sweep over a technique's levels in which at least two of them ran.

    Takes the arms of one run. Techniques that are switched beside this one make a sweep of each of their
    combinations.
    """
    if arms.empty:
        return []
    swept = arms[[_is_number(levels.get(technique, "")) for levels in arms["levels"]]]
    return [
        sweep
        for trial in swept["trial"].unique()
        for sweep in _of_trial(swept[swept["trial"] == trial], technique)
        if len(sweep.ran) >= 2
    ]


def _is_number(level: str) -> bool:
    return level.isdecimal() and len(level) <= _MOST_DIGITS


def _of_trial(arms: pd.DataFrame, technique: str) -> Iterator[LevelSweep]:
    others = [in_words({name: level for name, level in row.items() if name != technique}) for row in arms["levels"]]
    arms = arms.assign(at=[int(levels[technique]) for levels in arms["levels"]])
    for other in dict.fromkeys(others):
        chosen = arms[[each == other for each in others]].sort_values("at")
        first = chosen.iloc[0]
        yield LevelSweep(
            technique=technique,
            trial=first["trial"],
            workload=first["workload"],
            framework=first["framework"],
            held=", ".join(part for part in (in_words(first["problem"]), in_words(first["fixed"]), other) if part),
            unit=first["unit"],
            arms=chosen.reset_index(drop=True),
        )
