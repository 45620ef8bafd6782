"""The figures of a run, each drawn only where there is something to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, islice

import pandas as pd

from harness.reading import SizeSweep, level_sweeps, size_sweeps
from harness.reading.table import by_technique
from harness.report.figures.drawing import Drawn
from harness.report.figures.effects import forest
from harness.report.figures.sweeps import by_batch, by_size, by_workers

_MOST = 200  # figures; a run of every benchmark has about thirty


def draw(arms: pd.DataFrame, effects: pd.DataFrame, noise: float) -> list[Drawn]:
    """Return the figures for which a run has data, no two of one name."""
    figures: dict[str, Drawn] = {}
    for figure in islice(_all(arms, effects, noise), _MOST):
        names = chain([figure.name], (f"{figure.name}-{again}" for again in count(2)))
        name = next(name for name in names if name not in figures)
        figures[name] = replace(figure, name=name)
    return list(figures.values())


def _all(arms: pd.DataFrame, effects: pd.DataFrame, noise: float) -> Iterator[Drawn]:
    for framework, technique, found in by_technique(effects):
        yield forest(found, f"{technique} ({framework})", noise)
    for sweep in level_sweeps(arms, "batch_size"):
        yield by_batch(sweep)
    for sweep in level_sweeps(arms, "workers"):
        yield by_workers(sweep)
    together: dict[tuple[str, ...], list[SizeSweep]] = {}
    for size in size_sweeps(effects):
        together.setdefault((size.test, size.workload, size.framework, size.held, size.axis), []).append(size)
    yield from map(by_size, together.values())
