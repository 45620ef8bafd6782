"""Time to an accuracy beside throughput: the batch size that learns most items a second need not be done first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from accelbench import units
from accelbench.results.arm_table import label_case, without
from accelbench.results.sweeps import is_number
from accelbench.schema.reasons import Reason
from accelbench.text import format_levels, join_names

_OBSERVED = ["observed_images_per_s", "observed_epochs"]
_MISSED = "target-missed"


@dataclass(frozen=True, kw_only=True)
class TimeToAccuracy:
    """Trainings until an accuracy is reached, over the numeric levels of a technique, such as "batch_size".

    ``arms`` is one row per arm that ran or missed the accuracy, with the level in a column ``at``, what else was
    switched in ``rule``, and whether it ``missed`` the accuracy. ``s_per_item`` is the time of one training,
    ``images_per_s`` how fast it learns, without its tests; both are empty where the accuracy was missed. Every rule
    has the baseline's row as well, since no rule changes the baseline's level. ``held`` says in words what was the same
    for all arms, with the test's name where another one measures the same.
    """

    technique: str
    trial: str
    workload: str
    framework: str
    held: str
    arms: pd.DataFrame

    @property
    def name(self) -> str:
        """The technique in words, such as ``batch size``."""
        return self.technique.replace("_", " ")

    @property
    def rules(self) -> list[str]:
        """What else was switched, in the order of the levels."""
        return list(dict.fromkeys(self.arms["rule"]))

    @property
    def reached(self) -> pd.DataFrame:
        """The arms that reached the accuracy."""
        return self.arms[~self.arms["missed"]]

    @property
    def first(self) -> pd.Series[Any]:
        """The arm that is done first."""
        return self.reached.sort_values("s_per_item").iloc[0]

    @property
    def throughputs(self) -> pd.Series[float]:
        """Images learnt from in a second by level: the median of the arms of a level."""
        rates: pd.Series[float] = self.reached.groupby("at")["images_per_s"].median()
        return rates

    @property
    def sentence(self) -> str:
        """How much more the level of the highest throughput learns in a second, and how much sooner it is done."""
        rates, start = self.throughputs, self.arms["at"].iloc[0]
        most: Any = rates.idxmax()
        names = name_once([rule for rule, _ in self._ends(most)])
        ends = join_names(
            [f"{end} with {name}" if name else end for name, (_, end) in zip(names, self._ends(most), strict=True)]
        )
        times = units.significant(rates[most] / rates[start], 2)
        first = " with ".join(filter(None, (f"{self.first['at']}", self.first["rule"])))
        said = (
            f"{self.name} {most} learns from {times} times as many images a second as {start}, and reaches the "
            f"accuracy {ends}"
        )
        return said if self.first["at"] == most else f"{said}; the first to reach it is {first}"

    def _ends(self, size: Any) -> list[tuple[str, str]]:
        """Return how soon a level is done under each rule, against the baseline, the soonest first."""
        arms = self.arms[self.arms["at"] == size].sort_values("speedup", ascending=False)
        speedups = zip(arms["rule"], arms["missed"], arms["speedup"], arms["low"], arms["high"], strict=True)
        return [
            (rule, "never" if missed else f"{units.ratio(*speedup)} as fast") for rule, missed, *speedup in speedups
        ]


def name_once(rules: list[str]) -> list[str]:
    """Return levels of one technique with its name at the first of them only."""
    name = rules[0].rpartition(" ")[0] + " "
    return [rules[0], *(rule.removeprefix(name) for rule in rules[1:])]


def times_to_accuracy(arms: pd.DataFrame) -> list[TimeToAccuracy]:
    """Return every training to an accuracy that was measured at two levels of a sweep or more.

    Takes the arms of one run.
    """
    if arms.empty or not {*_OBSERVED} <= {*arms}:
        return []
    found = (
        _of_trial(trial, technique)
        for _, trial in arms.groupby("trial", sort=False)
        for technique, kind in trial["kinds"].iloc[0].items()
        if kind == "sweep"
    )
    return [each for each in found if each is not None]


def _of_trial(arms: pd.DataFrame, technique: str) -> TimeToAccuracy | None:
    known = [levels.get(technique, "") for levels in arms["levels"]]
    arms = arms[[is_number(level) and int(level) > 0 for level in known]]  # the axis is logarithmic
    if arms.empty:
        return None
    missed = pd.Series([isinstance(why, Reason) and why.code == _MISSED for why in arms["reason"]], index=arms.index)
    observed = arms[_OBSERVED].notna().all(axis=1) & (arms["outcome"] == "measured")
    if not (observed & arms["baseline"]).iloc[0]:
        return None
    table = arms.assign(
        at=[int(levels[technique]) for levels in arms["levels"]],
        rule=[format_levels(without(levels, technique)) for levels in arms["levels"]],
        missed=missed,
        images_per_s=arms["observed_images_per_s"],
    )
    start = table.iloc[0]
    rules = list(dict.fromkeys(table["rule"]))
    baselines = pd.DataFrame([start] * len(rules)).assign(rule=rules)
    candidates = table[(observed | missed) & (table["at"] != start["at"])]
    whole = pd.concat([baselines, candidates]).sort_values("at", kind="stable")
    ordered = pd.concat([whole[whole["rule"] == rule] for rule in rules]).astype({"missed": bool})
    if ordered["at"].nunique() < 2:
        return None
    return TimeToAccuracy(
        technique=technique,
        trial=start["trial"],
        workload=start["workload"],
        framework=start["framework"],
        held=label_case(start),
        arms=ordered.reset_index(drop=True),
    )
