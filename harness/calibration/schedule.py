"""What a calibration measures, in which order and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice

from harness.calibration.known_work import KNOWN
from harness.calibration.laboratory import Laboratory
from harness.calibration.simulation import NOISES
from harness.calibration.suite import KINDS
from harness.experiment import Plan

SLOW_CALLS = (1, 3, 200)  # the cold call, one while blocks are sized, one among the samples
_DUEL_S, _DOSE_S, _WORKER_S, _SERIES_S = 0.6, 0.4, 5.0, 0.008  # guesses, for the time left at the start


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How often things are measured.

    So many duels of ``identical`` code go through ``compare``; ``doses`` maps more work to the duels with each kind
    of work; the suite compares identical arms of every workload in so many ``rounds``. All of these are measured
    beside neighbours as often as without. ``series`` are simulated for each kind of noise.
    """

    identical: int
    doses: Mapping[float, int]
    rounds: int
    series: int
    budget_s: float = 1.0


FULL = Extent(identical=175, doses={0.01: 10, 0.02: 10, 0.03: 50, 0.05: 10, 0.1: 10}, rounds=6, series=1000)
QUICK = Extent(identical=20, doses={0.01: 1, 0.02: 1, 0.03: 5, 0.05: 1, 0.1: 1}, rounds=1, series=100, budget_s=0.5)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One thing to measure. ``guess_s`` is what it may take."""

    part: str
    guess_s: float
    measure: Callable[[Laboratory], None]


def tasks(extent: Extent, frameworks: Sequence[str], neighbours: int) -> list[Task]:
    """Return what is measured beside so many neighbours; without any, also what does not depend on them."""
    beside = f" beside {neighbours} busy" if neighbours else ""
    alone = [] if neighbours else [*_stopwatch(extent), *_simulated(extent)]
    return [
        *alone,
        *_identical(extent, frameworks, neighbours, f"identical code{beside}"),
        *_doses(extent, frameworks, neighbours, f"more work{beside}"),
        *_suite(extent, frameworks, neighbours, f"identical arms in fresh workers{beside}"),
    ]


def _stopwatch(extent: Extent) -> Iterator[Task]:
    def task(measure: Callable[[Laboratory], None]) -> Task:
        return Task(part="work of known length", guess_s=extent.budget_s, measure=measure)

    yield task(Laboratory.read_timer)
    yield task(partial(Laboratory.wait, budget_s=extent.budget_s))
    for work in KNOWN:
        if work.divisible:
            yield task(partial(Laboratory.multiply, work=work.name, budget_s=2 * extent.budget_s))
    for call in SLOW_CALLS:
        yield task(partial(Laboratory.slow_down, call=call, budget_s=extent.budget_s))


def _simulated(extent: Extent) -> Iterator[Task]:
    for noise in NOISES:
        measure = partial(Laboratory.simulate, noise=noise, series=extent.series)
        yield Task(part="simulated noise", guess_s=_SERIES_S * extent.series, measure=measure)


def _identical(extent: Extent, frameworks: Sequence[str], neighbours: int, part: str) -> Iterator[Task]:
    """Yield duels of every kind in turn, so that a bad minute of the machine meets them all."""
    kinds = [work for work in KNOWN if work.framework in frameworks]
    for work in islice(cycle(kinds), extent.identical):
        yield _duel(extent, work.name, work.framework, 0.0, neighbours, part)


def _doses(extent: Extent, frameworks: Sequence[str], neighbours: int, part: str) -> Iterator[Task]:
    kinds = [work for work in KNOWN if work.divisible and work.framework in frameworks]
    for number in range(max(extent.doses.values())):
        for dose, duels in extent.doses.items():
            for work in kinds if number < duels else ():
                yield _duel(extent, work.name, work.framework, dose, neighbours, part)


def _duel(extent: Extent, work: str, framework: str, dose: float, neighbours: int, part: str) -> Task:
    measure = partial(
        Laboratory.meet,
        work=work,
        framework=framework,
        dose=dose,
        neighbours=neighbours,
        budget_s=extent.budget_s,
    )
    return Task(part=part, guess_s=_DOSE_S if dose else _DUEL_S, measure=measure)


def _suite(extent: Extent, frameworks: Sequence[str], neighbours: int, part: str) -> Iterator[Task]:
    plan = Plan(budget_s=extent.budget_s)
    for _ in range(extent.rounds):
        for kind in KINDS:
            if kind.framework in frameworks:
                measure = partial(Laboratory.meet_in_suite, kind=kind, neighbours=neighbours, plan=plan)
                yield Task(part=part, guess_s=_WORKER_S, measure=measure)
