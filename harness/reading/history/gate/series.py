"""What the gate looks at: a series for the machine, one for each workload, and one for each effect.

An effect is compared as it is, since both of its arms were measured within the run. Times are split: what all workloads
of a run have in common is the machine's, and what a workload's baselines have beyond that is the workload's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from harness.reading.history.gate.comparable import Chosen, Setup
from harness.reading.history.gate.departures import Rows
from harness.reading.history.gate.learning import Matrix, fenced, mean
from harness.reading.history.medians import median
from harness.reading.table import rows_of

Kind = Literal["machine", "workload", "technique"]

_ALPHA = 0.01  # of a run's intervals, where its settings do not say
_OF_CASE = ("case", "technique", "level", "against", "workload", "framework", "problem", "fixed")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a series is of. ``key`` names it in the file of accepted changes; ``changed`` is its `Setup`'s."""

    kind: Kind
    key: str
    framework: str = ""
    workload: str = ""
    technique: str = ""
    level: str = ""
    against: str = ""
    held: str = ""
    changed: str = ""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Logarithms of speeds of shape ``(runs, subjects)``, larger for faster, and the error that each has of its own."""

    subjects: list[Subject]
    values: Matrix
    doubt: Matrix
    rows: Rows


def effects_of(runs: pd.DataFrame, observations: pd.DataFrame, setup: Callable[[str], Setup]) -> Series:
    """Return the logarithm of every speedup of the runs."""
    found = observations[observations["log_effect"].notna()]
    cases = found[[*_OF_CASE]].drop_duplicates("case", keep="last")
    subjects = [_of_case(row, setup) for row in rows_of(cases.astype(str))]
    order = [subject.key for subject in subjects]
    low, high = (_wide(found, name, runs, order) for name in ("log_low", "log_high"))
    doubt = (high - low) / 2 / np.array([deviate_of(settings) for settings in runs["settings"]])[:, None]
    values = _wide(found, "log_effect", runs, order)
    return Series(subjects=subjects, values=values, doubt=doubt, rows=_rows(subjects, len(runs), setup))


def times_of(runs: pd.DataFrame, observations: pd.DataFrame, setup: Callable[[str], Setup]) -> list[Series]:
    """Return the machine's part of every run's speeds, and that of each workload; neither learns the other's spread."""
    found = observations[observations["baseline"]]
    cases = found[["case", "workload", "framework"]].drop_duplicates("case", keep="last").astype(str)
    speeds = -_wide(found, "log_s", runs, cases["case"].tolist())
    for framework in cases["framework"].unique():
        own = (cases["framework"] == framework).to_numpy()
        speeds[:, own] -= mean(fenced(speeds[np.ix_(_usual(setup(framework)), own)]))
    keys = list(zip(cases["framework"], cases["workload"], strict=True))
    each = list(dict.fromkeys(keys))
    parts = [median(speeds[:, [key == one for key in keys]].T) for one in each]
    workloads = np.array(parts).reshape(len(each), len(runs)).T
    machine = median(workloads.T)[:, None]
    whole = Subject(kind="machine", key=str(runs["machine"].iloc[-1]), changed=setup("").changed)
    of_each = [
        Subject(
            kind="workload",
            key=f"{framework} {name}",
            framework=framework,
            workload=name,
            changed=setup(framework).changed,
        )
        for framework, name in each
    ]
    return [
        Series(subjects=of, values=values, doubt=np.zeros_like(values), rows=_rows(of, len(runs), setup))
        for of, values in (([whole], machine), (of_each, workloads - machine))
    ]


def _usual(chosen: Setup) -> Chosen:
    """Return the runs around whose mean speeds are taken."""
    before = chosen.reference & ~chosen.new
    return before if before.any() else chosen.reference


def _of_case(row: dict[str, str], setup: Callable[[str], Setup]) -> Subject:
    return Subject(
        kind="technique",
        key=row["case"],
        held=", ".join(filter(None, (row["problem"], row["fixed"]))),
        changed=setup(row["framework"]).changed,
        **{name: row[name] for name in ("framework", "workload", "technique", "level", "against")},
    )


def _rows(subjects: list[Subject], runs: int, setup: Callable[[str], Setup]) -> Rows:
    chosen = [setup(subject.framework) for subject in subjects]

    def stacked(name: str) -> NDArray[Any]:
        return np.array([getattr(each, name) for each in chosen]).reshape(len(chosen), runs).T

    return Rows(new=stacked("new"), reference=stacked("reference"), states=stacked("states"))


def _wide(observations: pd.DataFrame, name: str, runs: pd.DataFrame, cases: list[str]) -> Matrix:
    """Return one column per case, one row per run; not a number where a run lacks the case."""
    table = np.full((len(runs), len(cases)), np.nan)
    row, column = _places(observations["run"], list(runs["run"])), _places(observations["case"], cases)
    there = (row >= 0) & (column >= 0)
    table[row[there], column[there]] = observations[name].to_numpy(float)[there]
    return table


def _places(names: pd.Series[Any], order: list[str]) -> NDArray[np.intp]:
    """Return where each name stands in the order, -1 where it does not."""
    codes, known = pd.factorize(names)
    return np.asarray(pd.Index(order).get_indexer(pd.Index(known).astype(str))[codes])


def deviate_of(settings: str) -> float:
    """Return how many standard errors the half of a run's intervals spans, were they normal ones."""
    given = json.loads(settings).get("alpha") if settings else None
    alpha = float(given) if isinstance(given, int | float) and 0 < given < 1 else _ALPHA
    return float(norm.isf(alpha / 2))
