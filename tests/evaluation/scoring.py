"""How good a detector is: false alarms, changes found, and how sure these figures are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from generators import Series
from rules import Alarm
from scipy import stats

EARLY, LATE = 2, 4  # runs by which a change may be dated wrongly


@dataclass(frozen=True)
class Rate:
    """So many of so many."""

    hits: int
    of: int

    def __add__(self, other: Rate) -> Rate:
        """Return both together."""
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
        """Return the hits per hundred with their interval, such as ``0.12 (0.08–0.17)``; of none there is none."""
        if not self.of:
            return "–"
        middle, low, high = (_short(100 * share) for share in (self.share, *self.interval()))
        return f"{middle} ({low}–{high})"


def false_alarms(series: Sequence[Series], found: Iterable[list[Alarm]]) -> Rate:
    """Return in how many of all runs an alarm was raised though nothing had changed."""
    told = sum(len({alarm.at for alarm in alarms}) for alarms in found)
    return Rate(told, sum(len(each.values) for each in series))


def flagged(found: Sequence[list[Alarm]]) -> Rate:
    """Return in how many of the series anything was reported."""
    return Rate(sum(bool(alarms) for alarms in found), len(found))


def found_near(series: Sequence[Series], found: Iterable[list[Alarm]]) -> Rate:
    """Return how many of the changes to the slower were reported as such, and dated about right.

    A rule with many false alarms hits by chance, too.
    """
    hits = [
        any(alarm.slower and -EARLY <= alarm.at - each.changed <= LATE for alarm in alarms)
        for each, alarms in zip(series, found, strict=True)
        if each.changed is not None
    ]
    return Rate(sum(hits), len(hits))


def _short(value: float) -> str:
    """Return a number of hits per hundred with as many decimals as are of use."""
    if value == 0 or value >= 9.5:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
