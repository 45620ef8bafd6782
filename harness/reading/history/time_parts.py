"""The times of many arms, split into the machine's course, each workload's beyond it, and the rest.

An arm's time is its level, times the machine's course, times its workload's. Levels and courses are medians that are
taken out in turn until they stay (median polish: Tukey 1977, Exploratory Data Analysis), so that an arm may join late,
miss runs or change by itself without bending what is common. A workload's course is that of its baselines, for a
technique that changes moves candidates, perhaps all of them; the machine's is what the workloads have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.reading.history.medians import median

WORKLOAD = ["framework", "workload"]
FEWEST = 3  # workloads from which on what they have in common is the machine's, and not one of theirs
_ROUNDS = 5  # of median polish; it hardly moves after the second


@dataclass(frozen=True, kw_only=True)
class TimeParts:
    """Courses of logarithms of times, a column per run; each lies anywhere, only its differences count.

    ``machine`` is what all workloads share. ``workloads`` and ``candidates``, indexed by framework and workload, are
    the courses of a workload's baselines and of its candidates beyond the machine's.
    """

    machine: pd.Series[float]
    workloads: pd.DataFrame
    candidates: pd.DataFrame


def split(times: pd.DataFrame, *, fewest: int = FEWEST) -> TimeParts:
    """Split logarithms of times, a column per run and a row per arm.

    The rows are indexed by ``framework``, ``workload`` and ``baseline``, among others. With fewer workloads than
    ``fewest`` the machine's course is 0.
    """
    is_baseline = np.asarray(times.index.get_level_values("baseline"), dtype=bool)
    baselines, candidates = (_by_workload(arms) for arms in (times[is_baseline], times[~is_baseline]))
    machine = pd.Series(0.0, index=times.columns)
    if len(baselines) >= fewest:
        machine += _course(baselines.to_numpy(float))
    return TimeParts(
        machine=machine, workloads=baselines.sub(machine, axis=1), candidates=candidates.sub(machine, axis=1)
    )


def _by_workload(times: pd.DataFrame) -> pd.DataFrame:
    """Return the course of each workload, in the order in which they come."""
    courses = {workload: _course(arms.to_numpy(float)) for workload, arms in times.groupby(level=WORKLOAD, sort=False)}
    index = pd.MultiIndex.from_tuples(list(courses), names=WORKLOAD)
    return pd.DataFrame(list(courses.values()), index=index, columns=times.columns, dtype=float)


def _course(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the rows have in common, by column; not a number where no row has one."""
    course = np.zeros(times.shape[1])
    for _ in range(_ROUNDS if len(times) > 1 else 1):  # of a single row, the second finds what the first did
        levels = median((times - course).T)
        course = median(times - levels[:, None])
    return course
