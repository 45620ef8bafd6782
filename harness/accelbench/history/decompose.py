"""The one split of times into the machine, each workload, and the rest.

The logarithm of an arm's time is its level, plus the machine's part, plus its workload's part. Levels and parts are
medians that are taken out in turn until they settle (median polish: Tukey 1977, Exploratory Data Analysis), so that an
arm may join late, miss runs or change alone without distorting what is common. A workload's part is its
baselines' part, since a technique that changes moves candidates, perhaps all of them. The machine's part is what the
workloads have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from accelbench.history.run_statistics import column_medians

WORKLOAD = ["framework", "workload"]
MIN_WORKLOADS = 5  # with fewer, what they have in common may be theirs, and the one in the middle hardly deviates
_ROUNDS = 5  # of median polish; it hardly moves after the second


@dataclass(frozen=True, kw_only=True)
class TimeParts:
    """Logarithms of times with a column per run; only the differences between runs are meaningful.

    ``machine`` is what all workloads share, NaN in a run of too few. ``workloads`` and ``candidates``, indexed by
    framework and workload, are the parts of a workload's baselines and of its candidates beyond the machine's.
    """

    machine: pd.Series[float]
    workloads: pd.DataFrame
    candidates: pd.DataFrame


def split_times(times: pd.DataFrame, *, min_workloads: int = MIN_WORKLOADS) -> TimeParts:
    """Split logarithms of times, with a column per run and a row per arm.

    The rows are indexed by ``framework``, ``workload`` and ``baseline``, among others. In a run of fewer than
    ``min_workloads`` workloads the machine's part is not known, and what changed there is taken to be the workloads'.
    """
    is_baseline = np.asarray(times.index.get_level_values("baseline"), dtype=bool)
    baselines, candidates = (_parts_of_workloads(arms) for arms in (times[is_baseline], times[~is_baseline]))
    machine = pd.Series(np.nan, index=times.columns)
    telling = baselines.notna().sum() >= min_workloads
    if telling.any():
        machine[telling] = _common_part(baselines.loc[:, telling].to_numpy(float))
    known = machine.fillna(0.0)
    return TimeParts(machine=machine, workloads=baselines.sub(known, axis=1), candidates=candidates.sub(known, axis=1))


def _parts_of_workloads(times: pd.DataFrame) -> pd.DataFrame:
    parts = {
        workload: _common_part(arms.to_numpy(float)) for workload, arms in times.groupby(level=WORKLOAD, sort=False)
    }
    index = pd.MultiIndex.from_tuples(list(parts), names=WORKLOAD)
    return pd.DataFrame(list(parts.values()), index=index, columns=times.columns, dtype=float)


def _common_part(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the rows have in common in each column; NaN where no row has a value."""
    part = np.zeros(times.shape[1])
    for _ in range(_ROUNDS if len(times) > 1 else 1):  # of a single row, the second round finds what the first did
        levels = column_medians((times - part).T)
        part = column_medians(times - levels[:, None])
    return part
