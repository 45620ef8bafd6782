"""The tables over single series: how often each detector raises a false alarm, and which changes it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from accelbench.history.change_points import segment
from studies.history.detectors import ASV, DETECTORS, FIVE_PERCENT, OTAVA, OURS, RUPTURES, Detector
from studies.history.scoring import LATE, Rate, Table, detection_rate, false_alarm_rate, flag_rate
from studies.history.simulated_series import (
    HELD_OUT,
    SCENARIOS,
    SPREADS,
    STATIONARY,
    STEPS,
    Series,
    draw_cases,
    draw_drifts,
    draw_steps,
    draw_unchanged,
)


@dataclass(frozen=True)
class Watching:
    """A detector that watches the times of a candidate, or its effect."""

    detector: Detector
    effects: bool

    def __str__(self) -> str:
        """Return detector and series as Markdown."""
        return f"{self.detector}, {'effects' if self.effects else 'times'}"


def cells_of_false_alarms(detector: Detector, number: int) -> list[str]:
    """Return false alarms per 100 runs, in the worst noise model of each kind and over all."""
    groups = draw_unchanged(number)
    found = detector.find_in(list(groups.values()))
    rates = {
        key: false_alarm_rate(group, reported) for (key, group), reported in zip(groups.items(), found, strict=True)
    }
    worst = [
        max(((rates[name, spread], name) for name in kind), key=lambda rated: rated[0].share)
        for spread, kind in product(SPREADS, (STATIONARY, HELD_OUT))
    ]
    reported = [rate.per_hundred() + (f", {name}" if rate.hits else "") for rate, name in worst]
    return [*reported, sum(rates.values(), Rate(0, 0)).per_hundred()]


def cells_of_own_false_alarms(noise: str, number: int) -> list[str]:
    """Return accelbench's false alarms per 100 runs in one kind of noise, by spread."""
    groups = [draw_unchanged(number)[noise, spread] for spread in SPREADS]
    return [false_alarm_rate(*pair).per_hundred() for pair in zip(groups, OURS.find_in(groups), strict=True)]


def cells_of_early_finds(detector: Detector, number: int) -> list[str]:
    """Return the shares of steps that are reported when five runs have been made since."""
    groups = [[each.until((each.changed or 0) + LATE + 1) for each in group] for group in draw_steps(number).values()]
    return [detection_rate(*pair).per_hundred() for pair in zip(groups, detector.find_in(groups), strict=True)]


def cells_of_late_finds(detector: Detector, number: int) -> list[str]:
    """Return the shares of steps that are reported in the whole history, and the steps reported in a drift."""
    groups = [*draw_steps(number).values(), draw_drifts(number)]
    *found, reported = detector.find_in(groups)
    shares = [detection_rate(*pair).per_hundred() for pair in zip(groups[:-1], found, strict=True)]
    return [*shares, f"{sum(map(len, reported)) / len(reported):.1f}"]


def cells_of_scenarios(row: Watching, number: int) -> list[str]:
    """Return the shares of cases flagged where no technique changed, and of changes of a technique found."""
    groups = [[each.shares if row.effects else each.times for each in group] for group in draw_cases(number).values()]
    return [
        (detection_rate(group, found) if technique else flag_rate(found)).per_hundred()
        for (_, technique), group, found in zip(SCENARIOS.values(), groups, row.detector.find_in(groups), strict=True)
    ]


def cells_of_drifts(truth: str, number: int) -> list[str]:
    """Return how often accelbench calls a series a drift, and how many steps it reports there, at 1 % spread."""
    group = TRUTHS[truth](number)
    drifts = Rate(sum(segment(each.values).drift is not None for each in group), len(group))
    return [drifts.per_hundred(), f"{sum(map(len, OURS.find(group))) / len(group):.2f}"]


TRUTHS: dict[str, Callable[[int], list[Series]]] = {
    "nothing happens": lambda number: [each for name in STATIONARY for each in draw_unchanged(number)[name, 0.01]],
    "it drifts by 5 % in 100 runs": lambda number: draw_drifts(number, slower=0.05),
    "it drifts by 10 % in 100 runs": draw_drifts,
    "it steps by 5 %": lambda number: draw_steps(number)[0.01, 0.05],
}
_SIZES = [f"{100 * size:g} % at {100 * spread:g} %" for spread, size in product(SPREADS, STEPS)]
_KINDS = [f"{100 * spread:g} %, {kind}" for spread, kind in product(SPREADS, ("known noise", "held-out noise"))]
_COMPARED = (OTAVA, ASV, RUPTURES, FIVE_PERCENT, OURS)
TABLES = (
    Table(
        title="False alarms per 100 runs of a case in which nothing happens: the worst noise model of each kind",
        head=["", *_KINDS, "all"],
        rows=DETECTORS,
        cells=cells_of_false_alarms,
    ),
    Table(
        title=f"False alarms of accelbench per 100 runs, by noise; the last {len(HELD_OUT)} kinds are held out",
        head=["", *(f"{100 * spread:g} % spread" for spread in SPREADS)],
        rows=(*STATIONARY, *HELD_OUT),
        cells=cells_of_own_false_alarms,
    ),
    Table(
        title="Percent of steps found when five runs have been made since, by size of the step at which spread",
        head=["", *_SIZES],
        rows=DETECTORS,
        cells=cells_of_early_finds,
    ),
    Table(
        title="Percent of steps found in a history of 100 runs, and steps reported per history that drifts by 10 %",
        head=["", *_SIZES, "steps in a drift"],
        rows=DETECTORS,
        cells=cells_of_late_finds,
    ),
    Table(
        title="A slow drift, a step and nothing: what accelbench calls them, at 1 % spread",
        head=["", "called a drift, percent", "steps per history"],
        rows=tuple(TRUTHS),
        cells=cells_of_drifts,
    ),
    Table(
        title="Percent of cases with an alarm on a machine with 4 % noise of its own: the first three should be 0",
        head=["", *SCENARIOS],
        rows=[Watching(detector, effects) for detector, effects in product(_COMPARED, (False, True))],
        cells=cells_of_scenarios,
    ),
)
