"""A value of many cases in many runs, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.reading.history.time_parts import WORKLOAD

CASE = [*WORKLOAD, "case", "against"]  # where the baselines differ, a case is another one


def by_case(observations: pd.DataFrame, value: str, runs: Sequence[str]) -> pd.DataFrame:
    """Return a value of each case in each of the runs; missing where a run does not have it."""
    here = observations[observations["run"].isin(list(runs)) & observations[value].notna()]
    keys = here[[*CASE, "run"]].astype(str)
    wide = here[[value]].groupby([keys[name] for name in keys]).mean()[value].unstack("run")
    return wide.reindex(columns=list(runs)).astype(float)


def in_both(wide: pd.DataFrame, before: Sequence[str], after: Sequence[str]) -> pd.DataFrame:
    """Return the rows that have a value in at least one run of each side."""
    return wide[wide[list(before)].notna().any(axis=1) & wide[list(after)].notna().any(axis=1)]
