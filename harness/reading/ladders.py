"""Ladders: techniques stacked on each other, from a naive start to all of them together.

A technique is a ladder where the name of every level after the first begins with ``+``: each adds one thing to the
level before it, such as ``naive``, ``+prefetch``, ``+cache``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness import units
from harness.reading.table import held_in_words

_ADDS = "+"
_MOST_SHARES = 3  # as of memory, matrix rate and link


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """One workload on every rung of a ladder.

    ``rungs`` is one row per level that was measured, in the order of stacking, the start first, with the level in a
    column ``rung`` and its speedup over the start. ``gain`` is its speedup over the rung below, with its interval from
    ``gain_low`` to ``gain_high`` and its ``gain_verdict``. Where the two were not paired with each other, as in files
    before schema version 4, a gain is the ratio of both speedups over the start, its bounds are what their intervals
    allow, and it has no verdict. ``missing`` are the rungs that were not measured, each with its reason.
    """

    trial: str
    workload: str
    framework: str
    held: str
    technique: str
    rungs: pd.DataFrame
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> str:
        """The level that nothing was added to."""
        return str(self.rungs["rung"].iloc[0])

    @property
    def top(self) -> pd.Series[Any]:
        """Everything together."""
        return self.rungs.iloc[-1]

    @property
    def paired(self) -> bool:
        """Whether every rung was paired with the one below."""
        return bool(self.rungs["gain_verdict"].iloc[1:].notna().all())

    @property
    def reached(self) -> str:
        """How fast start and top are, and how near the ceilings, as a sentence; empty where no items were counted."""
        start, top = self.rungs.iloc[0], self.top
        if not start["items_per_s"] > 0 or not top["items_per_s"] > 0:
            return ""
        return f"From {_speed(start)} at the start to {_speed(top)} at the top."

    @property
    def left_out(self) -> str:
        """Which rungs were not measured, and why, as a sentence; empty where all were."""
        told = "; ".join(f"{rung} ({reason})" for rung, reason in self.missing)
        return f"Not measured: {told}." if told else ""

    @property
    def largest(self) -> pd.Series[Any]:
        """The rung that gains most over the one below."""
        return self.rungs.iloc[int(self.rungs["gain"].argmax())]


def _speed(rung: pd.Series[Any]) -> str:
    """Return a rung's throughput, and its shares of what the machine can do, the largest first."""
    nearest = sorted(rung["shares"].items(), key=lambda each: each[1], reverse=True)[:_MOST_SHARES]
    told = ", ".join(f"{units.percent(share)} of {ceiling}" for ceiling, share in nearest)
    said = units.rate(rung["items_per_s"], rung["unit"])
    return f"{said} ({told})" if told else said


def ladders(arms: pd.DataFrame) -> list[Ladder]:
    """Return every ladder of which the start and at least two rungs were measured. Takes the arms of one run."""
    if arms.empty:
        return []
    return [ladder for _, trial in arms.groupby("trial", sort=False) for ladder in _of_trial(trial)]


def _of_trial(arms: pd.DataFrame) -> Iterator[Ladder]:
    start = arms.iloc[0]
    for technique in start["levels"]:
        others = _without(technique, start["levels"])
        alike = arms[[_without(technique, levels) == others for levels in arms["levels"]]]
        alike = alike.assign(rung=[levels.get(technique, "") for levels in alike["levels"]])
        adding = all(rung.startswith(_ADDS) for rung in alike["rung"].iloc[1:])
        if adding and start["outcome"] == "measured" and alike["speedup"].notna().sum() >= 2:
            yield _ladder(alike, technique)


def _without(technique: str, levels: dict[str, str]) -> dict[str, str]:
    return {name: level for name, level in levels.items() if name != technique}


def _ladder(arms: pd.DataFrame, technique: str) -> Ladder:
    first = arms.iloc[0]
    measured = arms["baseline"] | arms["speedup"].notna()
    missing = arms[~measured]
    return Ladder(
        trial=first["trial"],
        workload=first["workload"],
        framework=first["framework"],
        held=held_in_words(first["problem"], first["fixed"], _without(technique, first["levels"])),
        technique=technique.replace("_", "-"),
        rungs=_with_gains(arms[measured].reset_index(drop=True)),
        missing=tuple(zip(missing["rung"], missing["reason"], strict=True)),
    )


def _with_gains(rungs: pd.DataFrame) -> pd.DataFrame:
    speedup, low, high = (rungs[name].fillna(1.0) for name in ("speedup", "low", "high"))  # the start is once as fast
    return rungs.assign(
        speedup=speedup,
        low=low,
        high=high,
        gain=rungs["gain"].fillna(speedup / speedup.shift()),
        gain_low=rungs["gain_low"].fillna(low / high.shift()),
        gain_high=rungs["gain_high"].fillna(high / low.shift()),
    )
