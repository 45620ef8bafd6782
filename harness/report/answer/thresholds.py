"""From where on techniques pay, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading import LevelSweep, SizeSweep, level_sweeps, size_sweeps


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """From where on a technique pays on one workload, and to which framework and technique that belongs."""

    about: tuple[str, str]
    said: str


def thresholds(arms: pd.DataFrame, effects: pd.DataFrame) -> Iterator[Threshold]:
    """Yield the knee of every sweep over batch sizes and workers, and the crossover of every sweep over sizes."""
    for technique in ("batch_size", "workers"):
        for sweep in level_sweeps(arms, technique):
            about = (sweep.framework, technique.replace("_", "-"))
            yield Threshold(about=about, said=f"{_place(sweep)}: {knee_in_words(sweep)}")
    for size in size_sweeps(effects):
        about = (size.framework, size.arms["switched"].iloc[0])
        yield Threshold(about=about, said=f"{_place(size)}: {crossover_in_words(size)}")


def _place(sweep: LevelSweep | SizeSweep) -> str:
    return f"{sweep.workload} ({', '.join(filter(None, (sweep.framework, sweep.held)))})"


def knee_in_words(sweep: LevelSweep) -> str:
    """Say which level is enough, which is best, and what set the limit."""
    top = units.rate(sweep.ran["items_per_s"].max(), sweep.unit)
    knee = level_in_words(sweep, sweep.knee)
    said = f"knee at {knee}, the smallest within 5 % of the best throughput, {top} at {sweep.best}."
    if sweep.stopped_by:
        return f"{said} The largest that ran is {sweep.limit} ({sweep.stopped_by})."
    return f"{said} {sweep.limit} was the largest asked for."


def level_in_words(sweep: LevelSweep, level: int) -> str:
    """Return a level of a sweep, such as ``batch size 32``."""
    if sweep.technique == "workers":
        return units.plural(level, "worker")
    return f"{sweep.technique.replace('_', ' ')} {level}"


def crossover_in_words(sweep: SizeSweep) -> str:
    """Say from which size on the candidate pays."""
    least, most = (units.count(size) for size in (sweep.arms["size"].min(), sweep.arms["size"].max()))
    tested = f"from {sweep.axis} {least} to {most}"
    if sweep.crossover is None:
        none = "no single crossover" if sweep.direction == "mixed" else "no crossover"
        faster, slower = (int((sweep.arms["verdict"] == verdict).sum()) for verdict in ("faster", "slower"))
        counted = f"faster at {faster} and slower at {slower} of {units.plural(len(sweep.arms), 'size')}"
        return f"{sweep.level}: {none} in the range; {counted} {tested}, against {sweep.against}."
    side = "above" if sweep.direction == "up" else "below"
    low = units.count(_rounded(sweep.low)) if sweep.low else f"less than {least}"
    high = units.count(_rounded(sweep.high)) if sweep.high else f"more than {most}"
    at = units.count(_rounded(sweep.crossover))
    within = f"crossover between {low} and {high}" if low != high else "its interval rounds to the same number"
    return f"{sweep.level} pays {side} {sweep.axis} {at} ({within})."


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
