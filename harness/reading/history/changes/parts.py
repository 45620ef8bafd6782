"""A history taken apart into series: the machine's course, each workload's beyond it, and each technique's effect.

Times are split as everywhere, by :mod:`harness.reading.history.time_parts`; effects are compared as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from harness.reading.history.time_parts import FEWEST, WORKLOAD, split

Kind = Literal["machine", "workload", "technique"]

_ABOUT = ["framework", "workload", "problem", "technique", "level", "against", "case"]


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
    for case, values in _table(measured, ["case"], "log_effect", runs).iterrows():
        yield Part(kind="technique", about=about[str(case)], values=values.dropna())


def _of_times(seen: pd.DataFrame, runs: list[str]) -> Iterator[Part]:
    times = split(_table(seen, [*WORKLOAD, "baseline", "case"], "log_s", runs))
    if len(times.workloads) >= FEWEST:
        yield Part(kind="machine", about={}, values=times.machine.dropna())
    for framework, workload in times.workloads.index:
        together = (framework, workload) in times.candidates.index
        yield Part(
            kind="workload",
            about={"framework": framework, "workload": workload},
            values=times.workloads.loc[(framework, workload)].dropna(),
            shared=times.candidates.loc[(framework, workload)] if together else None,
        )


def _table(seen: pd.DataFrame, arms: list[str], column: str, runs: list[str]) -> pd.DataFrame:
    """Return one row per arm and one column per run."""
    texts = dict.fromkeys([name for name in ("run", *arms) if name != "baseline"], str)
    table = seen.astype(texts).pivot(index=arms, columns="run", values=column)
    return table.reindex(columns=runs).replace([np.inf, -np.inf], np.nan)
