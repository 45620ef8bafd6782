"""Sweeps: knees over numeric levels, crossovers over problem sizes, and shares of ceilings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from accelbench import units
from accelbench.results.arm_table import label_case, without
from accelbench.schema.verdict import FURTHEST
from accelbench.text import format_case, format_levels, hyphenate, tell_apart

_NEAR_BEST = 0.95  # the knee's share of the best throughput: what is gained beyond it rarely pays its price
_MOST_DIGITS = 9  # of a level that is a number
_FEWEST_LEVELS = 3  # two levels are a comparison, which has an interval, and no curve with a knee


@dataclass(frozen=True, kw_only=True)
class LevelSweep:
    """One workload over the numeric levels of a technique, such as "batch_size" or "workers".

    ``arms`` is one row per level that was asked for, in order, with the level in a column ``at``; ``held`` says in
    words what was the same for all of them, with the test's name where another one measures the same.
    """

    technique: str
    trial: str
    workload: str
    framework: str
    held: str
    unit: str
    arms: pd.DataFrame

    @property
    def name(self) -> str:
        """The technique in words, such as ``batch size``."""
        return self.technique.replace("_", " ")

    @property
    def counts(self) -> bool:
        """Whether the technique is called by the plural of what its levels count, such as ``workers``."""
        return self.name.endswith("s") and not self.name.endswith("ss")

    @cached_property
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
        return int(ran["at"][ran["items_per_s"] >= _NEAR_BEST * ran["items_per_s"].max()].min())

    @property
    def limit(self) -> int:
        """The largest level that ran."""
        return int(self.ran["at"].max())

    @property
    def share_at_limit(self) -> float:
        """The share of the best throughput that is left at the limit."""
        ran = self.ran
        return float(ran["items_per_s"].iloc[ran["at"].argmax()] / ran["items_per_s"].max())

    @property
    def has_peak(self) -> bool:
        """Whether throughput falls beyond its best by more than the knee leaves out."""
        return self.share_at_limit < _NEAR_BEST

    @property
    def is_decided(self) -> bool:
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

    @property
    def sentence(self) -> str:
        """Which level is enough, which is best, and what set the limit."""
        top = units.rate(self.ran["items_per_s"].max(), self.unit)
        knee = f"knee at {self.format_level(self.knee)}, the smallest within 5 % of the best throughput"
        end = f"The largest that ran is {self.limit} ({self.stopped_by})."
        return f"{knee}, {top} at {self.best}. {end if self.stopped_by else f'{self.limit} was the largest asked for.'}"

    def format_level(self, level: int) -> str:
        """Return a level with what it counts, such as ``batch size 32`` or ``4 workers``."""
        return units.plural(level, self.name[:-1]) if self.counts else f"{self.name} {level}"


def level_sweeps(arms: pd.DataFrame) -> list[LevelSweep]:
    """Return every sweep over at least three numeric levels of which two ran, technique by technique.

    Takes the arms of one run. Levels that are not numbers are left out. Techniques that are switched beside the swept
    one make a sweep of each of their combinations.
    """
    if arms.empty:
        return []
    swept = dict.fromkeys(name for kinds in arms["kinds"] for name, kind in kinds.items() if kind == "sweep")
    return [sweep for technique in swept for sweep in _sweeps_over(arms, technique)]


def _sweeps_over(arms: pd.DataFrame, technique: str) -> list[LevelSweep]:
    swept = arms[[is_number(levels.get(technique, "")) for levels in arms["levels"]]]
    return [
        sweep
        for trial in swept["trial"].unique()
        for sweep in _of_trial(swept[swept["trial"] == trial], technique)
        if len(sweep.arms) >= _FEWEST_LEVELS and len(sweep.ran) >= 2
    ]


def is_number(level: str) -> bool:
    """Return whether a level is a whole number, of so few digits that it can be one."""
    return level.isdecimal() and len(level) <= _MOST_DIGITS


def _of_trial(arms: pd.DataFrame, technique: str) -> Iterator[LevelSweep]:
    others = [format_levels(without(levels, technique)) for levels in arms["levels"]]
    arms = arms.assign(at=[int(levels[technique]) for levels in arms["levels"]])
    for other in dict.fromkeys(others):
        chosen = arms[[each == other for each in others]].sort_values("at")
        first = chosen.iloc[0]
        yield LevelSweep(
            technique=technique,
            trial=first["trial"],
            workload=first["workload"],
            framework=first["framework"],
            held=", ".join(filter(None, (label_case(first), other))),
            unit=first["unit"],
            arms=chosen.reset_index(drop=True),
        )


@dataclass(frozen=True, kw_only=True)
class SizeSweep:
    """One candidate over the sizes of a problem. ``arms`` is one row per size, in order, with a ``size`` column.

    ``crossover`` is the size at which the speedup crosses 1, interpolated on logarithmic axes, and None where the
    first and the last size fall on one side, it crosses more than once, or no size was decided to be faster. ``low``
    and ``high`` bound it by the speedups' own intervals; None is a bound outside the range. ``direction`` is "up"
    where the candidate is the faster one at the large sizes, "down" at the small ones; where there is no crossover it
    is "above" or "below" 1, "flat" where no size was decided either way, or "mixed". ``held`` says in words what was
    the same at all sizes, with the test's name where another one sweeps the same.
    """

    test: str
    workload: str
    framework: str
    held: str
    level: str
    against: str
    axis: str
    arms: pd.DataFrame
    direction: str
    crossover: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def sentence(self) -> str:
        """From which size on the candidate pays."""
        least, most = (units.count(size) for size in (self.arms["size"].min(), self.arms["size"].max()))
        if self.crossover is None:
            sizes = f"{units.plural(len(self.arms), 'size')} from {self.axis} {least} to {most}"
            if self.direction == "flat":
                return f"{self.level} is known to be faster or slower at none of {sizes}, against {self.against}."
            none = "no single crossover" if self.direction == "mixed" else "no crossover"
            faster, slower = (int((self.arms["verdict"] == verdict).sum()) for verdict in ("faster", "slower"))
            counted = f"faster at {faster} and slower at {slower}"
            return f"{self.level}: {none} in the range; {counted} of {sizes}, against {self.against}."
        side = "above" if self.direction == "up" else "below"
        low = _round(self.low) if self.low else f"less than {least}"
        high = _round(self.high) if self.high else f"more than {most}"
        within = f"crossover between {low} and {high}" if low != high else "its interval rounds to the same number"
        return f"{self.level} pays {side} {self.axis} {_round(self.crossover)} ({within})."


def size_sweeps(effects: pd.DataFrame) -> list[SizeSweep]:
    """Return every candidate that was measured on problems which differ in one number only.

    Takes the effects of one run.
    """
    if effects.empty:
        return []
    sweeps: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    for position in range(len(effects)):
        row = effects.iloc[position]
        for axis, size in _numbers(row["problem"]):
            sweeps.setdefault(_key(row, axis), []).append((size, position))
    found = []
    for (*_, axis), points in sweeps.items():
        if len({size for size, _ in points}) >= 2:
            points.sort()
            chosen = effects.iloc[[position for _, position in points]]
            found.append(_sweep(chosen.assign(size=[size for size, _ in points]), axis))
    return _name_tests(found)


def _name_tests(sweeps: Sequence[SizeSweep]) -> list[SizeSweep]:
    """Return the sweeps, with the name of the test in what was held where several tests sweep the same."""
    subjects = [(each.framework, each.workload, each.held, each.arms["switched"].iloc[0], each.axis) for each in sweeps]
    tests: dict[tuple[str, ...], dict[str, str]] = {}
    for subject, sweep in zip(subjects, sweeps, strict=True):
        tests.setdefault(subject, {})[sweep.test] = sweep.axis
    names = {subject: tell_apart(of_tests) for subject, of_tests in tests.items()}
    return [
        replace(sweep, held=format_case(problem=sweep.held, test=names[subject].get(sweep.test, "")))
        for subject, sweep in zip(subjects, sweeps, strict=True)
    ]


def _numbers(problem: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in problem.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            yield name, float(value)


def _key(row: pd.Series[Any], axis: str) -> tuple[str, ...]:
    held = (format_levels(without(row["problem"], axis)), format_levels(row["fixed"]))
    return (row["test"], row["workload"], row["framework"], row["level"], row["against"], *held, axis)


def _sweep(arms: pd.DataFrame, axis: str) -> SizeSweep:
    first = arms.iloc[0]
    return SizeSweep(
        test=first["test"],
        workload=first["workload"],
        framework=first["framework"],
        held=format_case(problem=without(first["problem"], axis), fixed=first["fixed"]),
        level=first["level"],
        against=first["against"],
        axis=hyphenate(axis),
        arms=arms.reset_index(drop=True),
        **_crossing(arms),
    )


def _crossing(arms: pd.DataFrame) -> dict[str, Any]:
    if not (arms["verdict"] == "faster").any():
        return {"direction": "below" if (arms["verdict"] == "slower").any() else "flat"}
    size = np.log(arms["size"].to_numpy(float))
    middle, low, high = (_log(arms[column]) for column in ("speedup", "low", "high"))
    places = _zeros(size, middle)
    if not places:
        return {"direction": "above" if middle.sum() > 0 else "below"}
    if len(places) > 1:
        return {"direction": "mixed"}
    rises = middle[-1] > middle[0]
    earliest, latest = (high, low) if rises else (-low, -high)
    first, last = _zeros(size, earliest), _zeros(size, latest)
    return {
        "direction": "up" if rises else "down",
        "crossover": float(np.exp(places[0])),
        "low": float(np.exp(first[0])) if first and earliest[0] < 0 else None,
        "high": float(np.exp(last[-1])) if last and latest[-1] > 0 else None,
    }


def _log(ratios: pd.Series[Any]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(ratios.to_numpy(float)), -FURTHEST, FURTHEST))


def _zeros(x: np.ndarray, y: np.ndarray) -> list[float]:
    """Return where the straight lines through the points cross 0."""
    changes = [i for i in range(len(x) - 1) if (y[i] < 0) != (y[i + 1] < 0)]
    return [float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1])) for i in changes]


def _round(size: float) -> str:
    return units.count(float(f"{size:.2g}"))


_OF_BASELINE = ("trial", "level", "share", "ceiling")


def ceiling_shares(arms: pd.DataFrame) -> list[pd.DataFrame]:
    """Return for each framework one row per workload: its fastest arm's share of a ceiling, the largest share first.

    Takes the arms of one run. An arm's ceiling is the one of which it reaches the largest share. A workload that was
    measured in several trials stands here with the one whose fastest arm comes nearest. ``baseline_level``,
    ``baseline_share`` and ``baseline_ceiling`` are of that trial's baseline.
    """
    if arms.empty:
        return []
    known = arms[(arms["outcome"] == "measured") & arms["share"].gt(0) & arms["items_per_s"].notna()]
    fastest = known.loc[known.groupby("trial", sort=False)["items_per_s"].idxmax()]
    before = known.loc[known["baseline"], [*_OF_BASELINE]].rename(columns=lambda name: f"baseline_{name}")
    once = before.drop_duplicates("baseline_trial")
    merged = fastest.merge(once, left_on="trial", right_on="baseline_trial", how="left", validate="one_to_one")
    ordered = merged.sort_values("share", ascending=False, kind="stable").drop_duplicates(["framework", "workload"])
    return [shares.reset_index(drop=True) for _, shares in ordered.groupby("framework", sort=False)]
