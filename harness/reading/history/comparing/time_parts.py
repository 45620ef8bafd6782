"""Times of many arms in several runs, split into what all share, what a workload shares, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness.reading.history.comparing.sides import Side

WORKLOAD = ["framework", "workload"]
CASE = [*WORKLOAD, "case", "against"]  # where the baselines differ, a case is another one


@dataclass(frozen=True, kw_only=True)
class TimeParts:
    """Logarithms of times as deviations from a case's mean, one column per run.

    ``machine`` is one row, ``workloads`` one per workload and ``cases`` one per case; the latter two are what remains
    after the machine's part.
    """

    machine: pd.DataFrame
    workloads: pd.DataFrame
    cases: pd.DataFrame


def by_case(observations: pd.DataFrame, value: str, runs: Sequence[str]) -> pd.DataFrame:
    """Return a value of each case in each of the runs; missing where a run does not have it."""
    here = observations[observations["run"].isin(list(runs)) & observations[value].notna()]
    keys = here[[*CASE, "run"]].astype(str)
    wide = here[[value]].groupby([keys[name] for name in keys]).mean()[value].unstack("run")
    return wide.reindex(columns=list(runs)).astype(float)


def in_both(wide: pd.DataFrame, before: Sequence[str], after: Sequence[str]) -> pd.DataFrame:
    """Return the rows that have a value in at least one run of each side."""
    return wide[wide[list(before)].notna().any(axis=1) & wide[list(after)].notna().any(axis=1)]


def split(times: pd.DataFrame, before: Side, after: Side) -> TimeParts:
    """Split the times of the cases that both sides have.

    The machine's part of a run is the median over workloads of the median over their cases, so that neither a workload
    with many cases nor one that changed moves it. What a workload shifted by is the median of its cases' shifts nearest
    to none: of two arms of which one moved, none moved in common.
    """
    centre = (times[list(before.runs)].mean(axis=1) + times[list(after.runs)].mean(axis=1)) / 2
    off = times.sub(centre, axis=0)
    machine = off.groupby(level=WORKLOAD).median().median()
    rest = off.sub(machine, axis=1)
    return TimeParts(machine=machine.to_frame("machine").T, workloads=_by_workload(rest, before, after), cases=rest)


def _by_workload(cases: pd.DataFrame, before: Side, after: Side) -> pd.DataFrame:
    """Return each workload's part: around 0 in every group of runs that are alike, and shifted after."""
    groups = dict.fromkeys((*before.alike, *after.alike))
    around = pd.concat([_around_its_mean(cases[list(group)]) for group in groups], axis=1)
    medians = around.groupby(level=WORKLOAD).median()
    found = pd.concat([medians[list(group)].sub(medians[list(group)].mean(axis=1), axis=0) for group in groups], axis=1)
    shifts = (cases[list(after.runs)].mean(axis=1) - cases[list(before.runs)].mean(axis=1)).groupby(level=WORKLOAD)
    lower, upper = (shifts.quantile(0.5, interpolation=side) for side in ("lower", "higher"))
    found[list(after.runs)] = found[list(after.runs)].add(lower.clip(lower=0) + upper.clip(upper=0), axis=0)
    return found


def _around_its_mean(cases: pd.DataFrame) -> pd.DataFrame:
    """Return how far each case is off its mean, as widely as it is off what the mean estimates (Bessel)."""
    runs = cases.notna().sum(axis=1)
    return cases.sub(cases.mean(axis=1), axis=0).mul((runs / (runs - 1).clip(lower=1)) ** 0.5, axis=0)
