"""Log intervals: what reading a training loop's loss costs, by how often it is read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import pandas as pd

from harness.reading.table import held_in_words

_TECHNIQUE, _NEVER = "log_interval", "never"
_EVERY = re.compile(r"every-([1-9]\d{0,8}|step)")


@dataclass(frozen=True, kw_only=True)
class LogIntervals:
    """One training loop that reads its loss in every so many steps, against never.

    ``arms`` is one row per interval, the most frequent first, with the steps from one reading to the next in a column
    ``every`` and the time of a step over that without a reading in ``time``, between ``time_low`` and ``time_high``.
    """

    trial: str
    workload: str
    framework: str
    held: str
    arms: pd.DataFrame


def log_intervals(effects: pd.DataFrame) -> list[LogIntervals]:
    """Return every training loop that was measured with readings and without. Takes the effects of one run."""
    if effects.empty:
        return []
    alone = effects[[levels == {_TECHNIQUE: _NEVER} for levels in effects["baseline_levels"]]]
    steps = pd.Series([_steps(levels[_TECHNIQUE]) for levels in alone["levels"]], index=alone.index, dtype=float)
    every = alone.assign(every=steps).dropna(subset="every")
    return [_of_trial(arms) for _, arms in every.groupby("trial", sort=False)]


def _steps(level: str) -> float:
    """Return how many steps lie between two readings; not a number where the level names none."""
    match = _EVERY.fullmatch(level)
    return float(match[1].replace("step", "1")) if match else math.nan


def _of_trial(arms: pd.DataFrame) -> LogIntervals:
    arms = arms.sort_values("every").reset_index(drop=True)
    first = arms.iloc[0]
    return LogIntervals(
        trial=first["trial"],
        workload=first["workload"],
        framework=first["framework"],
        held=held_in_words(first["problem"], first["fixed"]),
        arms=arms.assign(time=1 / arms["speedup"], time_low=1 / arms["high"], time_high=1 / arms["low"]),
    )
