"""What a technique's arms gain in speed and pay for it, in words."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from harness import units
from harness.reading.pareto import gaining, has_price, on_front
from harness.report.figures.words import sampled


def tradeoff_in_words(points: pd.DataFrame) -> str:
    """Say what the strongest arm on a front gains and pays, and which levels are dominated."""
    kept = gaining(points)
    faster = kept[kept["verdict"] == "faster"]
    best = kept.loc[[kept["memory_ratio"].idxmin() if faster.empty else faster["speedup"].idxmax()]]
    level, workload, speedup = best[["level", "workload", "speedup"]].iloc[0]
    if faster.empty:
        said = f"{level} takes {_memory(best)} on {workload}, at {units.speedup(speedup)} the speed{_inexact(best)}"
    else:
        said = f"{level} is {units.speedup(speedup)} as fast on {workload}{_price(best)}"
    return "; ".join([said, *_dominated(points)])


def notes(points: pd.DataFrame, every: int) -> Iterator[str]:
    """Say what the marks rest on and what they mean."""
    shown = units.plural(len(points), "arm") if len(points) == every else f"The {len(points)} strongest of {every} arms"
    trials = units.plural(points["trial"].nunique(), "trial")
    yield f"{shown} in {trials}, {sampled(points['pairs'], 'pair')} each; the cross is the baseline."
    yield "Filled: by the estimates, no other arm of its trial is as fast for less (Pareto front); hollow: dominated."
    if has_price(points, "error"):
        yield f"An error below {units.percent(units.ROUNDING_ERROR)} is rounding."
    if has_price(points, "memory_ratio"):
        yield f"Memory: {' or '.join(sorted(set(points['memory_kind'])))}, over the baseline’s."


def _dominated(points: pd.DataFrame) -> Iterator[str]:
    """Yield which levels are decided and dominated in every trial."""
    hopeless = ~on_front(points) & (points["verdict"] != "undecided")
    everywhere = hopeless.groupby(points["level"], sort=False).all()
    levels = everywhere.index[everywhere].tolist()
    if 0 < len(levels) <= 2:
        yield f"{' and '.join(levels)} {'is' if len(levels) == 1 else 'are'} dominated everywhere"
    elif levels:
        yield f"{len(levels)} of {len(everywhere)} levels are dominated everywhere"


def _price(row: pd.DataFrame) -> str:
    memory = _memory(row) if has_price(row, "memory_ratio") else ""
    inexact = _inexact(row)
    if not memory:
        return inexact or " at no price"
    return f"{inexact} and {memory}" if inexact else f" with {memory}"


def _inexact(row: pd.DataFrame) -> str:
    return f" with {units.error(row['error'].iloc[0])} error" if has_price(row, "error") else ""


def _memory(row: pd.DataFrame) -> str:
    ratio = row["memory_ratio"].iloc[0]
    if ratio >= 2:
        return f"{units.significant(ratio, 2)} times the memory"
    return f"{units.percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} memory"
