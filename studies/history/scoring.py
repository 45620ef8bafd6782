"""How good a detector is: false alarms, changes found, and their intervals; and the tables of these figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from studies.history.rules import Alarm
from studies.history.simulated_series import Series

EARLY, LATE = 2, 4  # runs by which a change may be dated wrongly


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the study. ``cells`` returns the cells of a row, from that many series."""

    title: str
    head: Sequence[str]
    rows: Sequence[Any]
    cells: Callable[[Any, int], Sequence[str]]


@dataclass(frozen=True)
class Rate:
    """A number of hits in a total."""

    hits: int
    of: int

    def __add__(self, other: Rate) -> Rate:
        """Return the rate of both together."""
        return Rate(self.hits + other.hits, self.of + other.of)

    @property
    def share(self) -> float:
        """The share of hits."""
        return self.hits / self.of

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact binomial interval of the share (Clopper and Pearson 1934)."""
        found = stats.binomtest(self.hits, self.of).proportion_ci(confidence, method="exact")
        return float(found.low), float(found.high)

    def per_hundred(self) -> str:
        """Return the hits per hundred with their interval, such as ``0.12 (0.08–0.17)``; a dash for no total."""
        if not self.of:
            return "–"
        middle, low, high = (_short(100 * share) for share in (self.share, *self.interval()))
        return f"{middle} ({low}–{high})"


def false_alarm_rate(series: Sequence[Series], found: Iterable[list[Alarm]]) -> Rate:
    """Return the share of runs with an alarm, in series in which nothing changed."""
    raised = sum(len({alarm.at for alarm in alarms}) for alarms in found)
    return Rate(raised, sum(len(each.values) for each in series))


def flag_rate(found: Sequence[list[Alarm]]) -> Rate:
    """Return the share of series in which anything was reported."""
    return Rate(sum(bool(alarms) for alarms in found), len(found))


def detection_rate(series: Sequence[Series], found: Iterable[list[Alarm]]) -> Rate:
    """Return the share of planted changes that were reported as slower and dated about right.

    A rule with many false alarms also hits by chance.
    """
    hits = [
        any(alarm.slower and -EARLY <= alarm.at - each.changed <= LATE for alarm in alarms)
        for each, alarms in zip(series, found, strict=True)
        if each.changed is not None
    ]
    return Rate(sum(hits), len(hits))


def _short(value: float) -> str:
    """Return a number of hits per hundred with as many decimals as are useful."""
    if value == 0 or value >= 9.5:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
