"""Times whose machine, workloads and techniques changed in known ways, split again."""

import numpy as np
import pandas as pd
import pytest

from accelbench.history.decompose import split_times

RUNS = [f"r{place}" for place in range(6)]
AFTER = np.arange(6) >= 3


def times(workloads: int = 5, *, machine: float = 1.0, baseline: float = 1.0, candidates: float = 1.0) -> pd.DataFrame:
    """Return logarithms of times of a baseline and two candidates a workload, without noise.

    From run r3 on all of them are so many times as long, and on workload 0 the baseline or both candidates, too.
    """
    rows = {}
    for place in range(workloads):
        for level in ("off", "a", "b"):
            own = baseline if level == "off" else candidates
            log_s = np.log(machine) + (np.log(own) if place == 0 else 0.0)
            rows["torch", f"w{place}", f"t{place}|{level}", level == "off"] = place + np.where(AFTER, log_s, 0.0)
    index = pd.MultiIndex.from_tuples(list(rows), names=["framework", "workload", "case", "baseline"])
    return pd.DataFrame(list(rows.values()), index=index, columns=RUNS)


def change(course: pd.Series) -> float:
    return round(float(np.exp(course.iloc[-1] - course.iloc[0])), 6)


@pytest.mark.parametrize("of", [{"baseline": 1.2}, {"candidates": 0.8}, {"baseline": 1.2, "candidates": 1.2}])
def test_what_one_workload_does_is_not_the_machines(of):
    found = split_times(times(machine=1.5, **of))
    assert change(found.machine) == 1.5
    assert change(found.workloads.loc["torch", "w0"]) == of.get("baseline", 1.0)
    assert change(found.candidates.loc["torch", "w0"]) == of.get("candidates", 1.0)
    assert change(found.workloads.loc["torch", "w1"]) == 1.0


def test_a_technique_that_slows_down_everywhere_is_neither_a_machine_nor_a_workload():
    every = times()
    candidates = ~every.index.get_level_values("baseline")
    every.loc[candidates, RUNS[3:]] += np.log(1.3)
    found = split_times(every)
    assert change(found.machine) == change(found.workloads.loc["torch", "w0"]) == 1.0
    assert change(found.candidates.loc["torch", "w0"]) == 1.3


def test_an_arm_that_joins_late_or_misses_runs_bends_nothing():
    every = times(6, machine=1.5)
    every.iloc[0, :4] = np.nan
    every.iloc[6, 2] = np.nan
    found = split_times(every)
    assert change(found.machine) == 1.5
    course = found.workloads.loc["torch", "w2"].dropna()
    assert course.index.tolist() == ["r0", "r1", "r3", "r4", "r5"]
    assert np.ptp(course) == pytest.approx(0)


def test_four_workloads_tell_nothing_of_the_machine_unless_asked_for():
    found = split_times(times(4, machine=1.5))
    assert found.machine.isna().all()
    assert change(found.workloads.loc["torch", "w0"]) == 1.5
    assert change(split_times(times(4, machine=1.5), min_workloads=1).machine) == 1.5


def test_a_run_of_one_workload_tells_nothing_of_the_machine():
    every = times(machine=1.5)
    every.loc[every.index.get_level_values("workload") != "w0", "r5"] = np.nan
    found = split_times(every)
    assert found.machine.isna().tolist() == [False] * 5 + [True]
    own = found.workloads.loc[("torch", "w0")]
    assert own["r4"] == pytest.approx(own["r0"])
    assert own["r5"] > own["r4"] + 0.1


def test_without_any_time_there_is_no_part():
    found = split_times(times()[:0])
    assert found.workloads.empty
    assert found.candidates.empty
