"""The figures of a run, each drawn only where there is something to show.

Every module here that defines a `FigureKind` adds to them; nothing else needs to know of a new kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import chain, count, islice
from pkgutil import iter_modules

from accelbench.disk_cache import as_bytes, recall
from accelbench.report.figures.drawing import FigureKind, FigureWithData, RenderedFigure
from accelbench.results import Findings

_MOST = 200  # figures; a run of every benchmark has about seventy


def draw(findings: Findings) -> list[FigureWithData]:
    """Return the figures for which a run has data, each under a unique name."""
    return name_uniquely(islice(_all(findings), _MOST))


def render(findings: Findings) -> list[RenderedFigure]:
    """Return the figures of a run as texts, which are kept by a hash of the run."""
    result = findings.result
    inputs = as_bytes((result.name, result.number, result.taken, result.run))
    return recall("figures", list[RenderedFigure], [inputs], lambda: [figure.render() for figure in draw(findings)])


def name_uniquely(drawn: Iterable[FigureWithData]) -> list[FigureWithData]:
    """Return the figures under unique names."""
    figures: dict[str, FigureWithData] = {}
    for figure in drawn:
        names = chain([figure.name], (f"{figure.name}-{again}" for again in count(2)))
        name = next(name for name in names if name not in figures)
        figures[name] = replace(figure, name=name)
    return list(figures.values())


@cache
def figure_kinds() -> tuple[FigureKind, ...]:
    """Return one of each kind of figure that this package defines, in the order in which a page shows them."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    return tuple(sorted((kind() for kind in FigureKind.__subclasses__()), key=lambda kind: kind.position))


def _all(findings: Findings) -> Iterator[FigureWithData]:
    for kind in figure_kinds():
        yield from kind.draw(findings)
