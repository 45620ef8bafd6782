"""The figures of a run, each drawn only where there is something to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, count, islice

import pandas as pd

from harness.reading import SizeSweep, level_sweeps, size_sweeps
from harness.reading.attributions import attributions
from harness.reading.interactions import interactions
from harness.reading.ladders import ladders
from harness.reading.log_intervals import log_intervals
from harness.reading.pareto import tradeoffs
from harness.reading.shares import ceiling_shares
from harness.reading.table import by_technique
from harness.report.figures.attribution import apart
from harness.report.figures.ceilings import ceiling_figure
from harness.report.figures.crossover import by_size
from harness.report.figures.drawing import Drawn
from harness.report.figures.effects import forest
from harness.report.figures.interaction import combined
from harness.report.figures.ladder import climb
from harness.report.figures.log_interval import by_log_interval
from harness.report.figures.pareto import tradeoff
from harness.report.figures.sweeps import by_batch, by_workers

_MOST = 200  # figures; a run of every benchmark has about seventy


def draw(arms: pd.DataFrame, effects: pd.DataFrame, noise: float) -> list[Drawn]:
    """Return the figures for which a run has data, no two of one name."""
    return named_apart(islice(_all(arms, effects, noise), _MOST))


def named_apart(drawn: Iterable[Drawn]) -> list[Drawn]:
    """Return figures of which no two have one name."""
    figures: dict[str, Drawn] = {}
    for figure in drawn:
        names = chain([figure.name], (f"{figure.name}-{again}" for again in count(2)))
        name = next(name for name in names if name not in figures)
        figures[name] = replace(figure, name=name)
    return list(figures.values())


def _all(arms: pd.DataFrame, effects: pd.DataFrame, noise: float) -> Iterator[Drawn]:
    for _, _, found in by_technique(effects):
        yield forest(found, noise)
    for framework, technique, priced in tradeoffs(effects):
        yield tradeoff(framework, technique, priced)
    for sweep in level_sweeps(arms, "batch_size"):
        yield by_batch(sweep)
    for sweep in level_sweeps(arms, "workers"):
        yield by_workers(sweep)
    yield from (by_log_interval(found, noise) for found in log_intervals(effects))
    yield from map(climb, ladders(arms))
    bundles = attributions(arms, noise)
    yield from map(apart, bundles)
    taken_apart = {found.trial for found in bundles}
    yield from (combined(found, noise) for found in interactions(arms) if found.trial not in taken_apart)
    together: dict[tuple[str, ...], list[SizeSweep]] = {}
    for size in size_sweeps(effects):
        together.setdefault((size.test, size.workload, size.framework, size.held, size.axis), []).append(size)
    yield from map(by_size, together.values())
    for shares in ceiling_shares(arms):
        yield ceiling_figure(shares)
