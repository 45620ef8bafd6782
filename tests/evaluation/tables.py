"""The tables of the evaluation: who is asked, and what is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from generators import HELD_OUT, STATIONARY, Series
from peers import ASV, DETECTORS, FIVE_PERCENT, OTAVA, OURS, RUPTURES, Detector
from planted import SCENARIOS, SPREADS, STEPS, cases, drifting, stepped, unchanged
from scoring import LATE, Rate, false_alarms, flagged, found_near
from whole_tables import LENGTHS, NOISES, RULES, cells_of_changes, cells_of_checks, cells_of_lengths, cells_of_newest
from whole_tables import SCENARIOS as WHOLE_SCENARIOS

from harness.reading.history.changes.drift import drift


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: a row's cells come from whom it is about and from how many series are drawn."""

    title: str
    head: Sequence[str]
    rows: Sequence[Any]
    cells: Callable[[Any, int], Sequence[str]]


@dataclass(frozen=True)
class Watching:
    """A detector that watches the times of a candidate, or its effect."""

    detector: Detector
    effects: bool

    def __str__(self) -> str:
        """Return both as Markdown."""
        return f"{self.detector}, {'effects' if self.effects else 'times'}"


def cells_of_false_alarms(detector: Detector, number: int) -> list[str]:
    """Return false alarms per 100 runs, in the worst noise model of each kind and over all."""
    groups = unchanged(number)
    found = detector.find_in(list(groups.values()))
    rates = {key: false_alarms(group, told) for (key, group), told in zip(groups.items(), found, strict=True)}
    worst = [
        max(((rates[name, spread], name) for name in kind), key=lambda rated: rated[0].share)
        for spread, kind in product(SPREADS, (STATIONARY, HELD_OUT))
    ]
    told = [rate.per_hundred() + (f", {name}" if rate.hits else "") for rate, name in worst]
    return [*told, sum(rates.values(), Rate(0, 0)).per_hundred()]


def cells_of_own_false_alarms(noise: str, number: int) -> list[str]:
    """Return our search's false alarms per 100 runs in one kind of noise, by spread."""
    groups = [unchanged(number)[noise, spread] for spread in SPREADS]
    return [false_alarms(*pair).per_hundred() for pair in zip(groups, OURS.find_in(groups), strict=True)]


def cells_of_early_finds(detector: Detector, number: int) -> list[str]:
    """Return the shares of steps that are reported when five runs have been made since."""
    groups = [[each.until((each.changed or 0) + LATE + 1) for each in group] for group in stepped(number).values()]
    return [found_near(*pair).per_hundred() for pair in zip(groups, detector.find_in(groups), strict=True)]


def cells_of_late_finds(detector: Detector, number: int) -> list[str]:
    """Return the shares of steps that are reported in the whole history, and the steps told in a drift."""
    groups = [*stepped(number).values(), drifting(number)]
    *found, told = detector.find_in(groups)
    shares = [found_near(*pair).per_hundred() for pair in zip(groups[:-1], found, strict=True)]
    return [*shares, f"{sum(map(len, told)) / len(told):.1f}"]


def cells_of_scenarios(row: Watching, number: int) -> list[str]:
    """Return the shares of cases flagged where the technique is as it was, and of changes of the technique found."""
    groups = [[each.shares if row.effects else each.times for each in group] for group in cases(number).values()]
    return [
        (found_near(group, found) if technique else flagged(found)).per_hundred()
        for (_, technique), group, found in zip(SCENARIOS.values(), groups, row.detector.find_in(groups), strict=True)
    ]


def cells_of_drifts(truth: str, number: int) -> list[str]:
    """Return how often our search calls a series a drift, and how many steps it reports in it, at 1 % spread."""
    group = TRUTHS[truth](number)
    drifts = Rate(sum(drift(each.values) is not None for each in group), len(group))
    return [drifts.per_hundred(), f"{sum(map(len, OURS.find(group))) / len(group):.2f}"]


TRUTHS: dict[str, Callable[[int], list[Series]]] = {
    "nothing happens": lambda number: [each for name in STATIONARY for each in unchanged(number)[name, 0.01]],
    "it drifts by 5 % in 100 runs": lambda number: drifting(number, slower=0.05),
    "it drifts by 10 % in 100 runs": drifting,
    "it steps by 5 %": lambda number: stepped(number)[0.01, 0.05],
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
    Table(
        title="The gate at the first run after something happened: percent of 300 cases raised, and whether rightly",
        head=[
            *("", "nothing happens: raised", "machine 40 % faster: raised", "power cap, 15 % slower: raised"),
            *("10 lose 10 %: found", "false among the raised"),
            *("masked by a machine 9 % faster: found", "false among the raised"),
        ],
        rows=RULES,
        cells=cells_of_newest,
    ),
    Table(
        title="`accelbench check` after each of five runs, by noise of the effects at a spread of 1 %, in percent",
        head=[
            *("", "nothing happens: cases raised", "checks that raise any"),
            *("10 of 300 lose 5 %: found within five runs", "false among the raised"),
        ],
        rows=tuple(NOISES),
        cells=cells_of_checks,
    ),
    Table(
        title="`accelbench check` at the first run after so many, at a spread of 1 %, in percent",
        head=[
            "runs before",
            "undecided",
            "cases raised wrongly",
            "10 of 300 lose 10 %: found",
            "false among the raised",
        ],
        rows=LENGTHS,
        cells=cells_of_lengths,
    ),
    Table(
        title="Changes over histories of 100 runs and 300 cases, in percent",
        head=["", "cases raised wrongly", "losses found", "false among the raised", "histories with a machine step"],
        rows=tuple(WHOLE_SCENARIOS),
        cells=cells_of_changes,
    ),
)
