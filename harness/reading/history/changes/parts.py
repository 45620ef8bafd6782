"""A history taken apart into series: the machine's course, each workload's beyond it, and each technique's effect.

A case's time is its level, times the machine's course, times its workload's. Levels and courses are medians that are
taken out in turn until they stay (median polish: Tukey 1977, Exploratory Data Analysis), so that a case may join late,
miss runs or change by itself without bending what is common. A workload's course is that of its baselines, since a
technique that changes moves candidates only; the machine's is what the workloads have in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

Kind = Literal["machine", "workload", "technique"]

_ABOUT = ["framework", "workload", "problem", "technique", "level", "against", "case"]
_ROUNDS = 5  # of median polish; it hardly moves after the second
_FEWEST = 3  # workloads from which on what they have in common is the machine's


@dataclass(frozen=True, kw_only=True)
class Part:
    """One series of a history: logarithms by run, in order, of time for a machine or a workload, else of speedup.

    ``about`` says whose: columns of the observations and their values. ``shared`` is the course of the workload's
    candidates, for a workload that has any.
    """

    kind: Kind
    about: dict[str, str]
    values: pd.Series[float]
    shared: pd.Series[float] | None = None


def parts(observations: pd.DataFrame, runs: list[str]) -> Iterator[Part]:
    """Yield the parts of comparable runs: of one machine, of one identity and with problems of one size."""
    seen = observations.drop_duplicates(["run", "case"], keep="last")
    yield from _of_times(seen, runs)
    measured = seen[seen["log_effect"].notna()]
    about = measured.drop_duplicates("case").set_index("case", drop=False)[_ABOUT].astype(str).T.to_dict()
    for case, values in _table(measured, "log_effect", runs).items():
        yield Part(kind="technique", about=about[case], values=values.dropna())


def _of_times(seen: pd.DataFrame, runs: list[str]) -> Iterator[Part]:
    baselines, candidates = (_courses(arms, runs) for arms in (seen[seen["baseline"]], seen[~seen["baseline"]]))
    machine = pd.Series(0.0, index=runs)
    if len(baselines) >= _FEWEST:
        machine = _course(pd.DataFrame(baselines))
        yield Part(kind="machine", about={}, values=machine.dropna())
    for (framework, workload), course in baselines.items():
        together = candidates.get((framework, workload))
        yield Part(
            kind="workload",
            about={"framework": framework, "workload": workload},
            values=(course - machine).dropna(),
            shared=None if together is None else together - machine,
        )


def _courses(seen: pd.DataFrame, runs: list[str]) -> dict[tuple[str, str], pd.Series[float]]:
    """Return each workload's course, by framework and workload."""
    table = _table(seen, "log_s", runs)
    cases = seen.drop_duplicates("case").astype({"case": str, "framework": str, "workload": str})
    places = cases.groupby(["framework", "workload"], sort=False)["case"]
    return {(str(place[0]), str(place[1])): _course(table[[*names]]) for place, names in places}


def _course(table: pd.DataFrame) -> pd.Series[float]:
    """Return what the columns have in common, by run."""
    course = pd.Series(0.0, index=table.index)
    for _ in range(_ROUNDS):
        course = table.sub(table.sub(course, axis=0).median(), axis=1).median(axis=1)
    return course


def _table(seen: pd.DataFrame, column: str, runs: list[str]) -> pd.DataFrame:
    """Return one column per case and one row per run."""
    table = seen.assign(run=seen["run"].astype(str), case=seen["case"].astype(str)).pivot(
        index="run", columns="case", values=column
    )
    return table.reindex(runs).replace([np.inf, -np.inf], np.nan)
