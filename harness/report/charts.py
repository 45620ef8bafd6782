"""The figures of a run, each drawn only where there is something to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from harness.reading import SizeSweep, level_sweeps, size_sweeps
from harness.report.drawing import Drawn
from harness.report.forest import forest
from harness.report.sweeps import by_batch, by_size, by_workers


def draw(arms: pd.DataFrame, effects: pd.DataFrame, noise: float) -> list[Drawn]:
    """Return every figure for which a run has data, no two of one name."""
    taken: dict[str, int] = {}
    figures = []
    for figure in _all(arms, effects, noise):
        taken[figure.name] = taken.get(figure.name, 0) + 1
        again = taken[figure.name]
        figures.append(figure if again == 1 else replace(figure, name=f"{figure.name}-{again}"))
    return figures


def _all(arms: pd.DataFrame, effects: pd.DataFrame, noise: float) -> Iterator[Drawn]:
    for module in effects["module"].unique() if len(effects) else ():
        yield forest(effects[effects["module"] == module], module.removeprefix("test_").replace("_", " "), noise)
    for sweep in level_sweeps(arms, "batch_size"):
        yield by_batch(sweep)
    for sweep in level_sweeps(arms, "workers"):
        yield by_workers(sweep)
    together: dict[tuple[str, ...], list[SizeSweep]] = {}
    for size in size_sweeps(effects):
        together.setdefault((size.test, size.workload, size.framework, size.held, size.axis), []).append(size)
    yield from map(by_size, together.values())
