"""The newest certificate of a machine, and the statistics of its known comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles, stdev

from accelbench.errors import UnreadableResult
from accelbench.schema.certificate import Certificate, KnownComparison, read_certificate

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class MachineCertificates:
    """The newest certificate of a machine with its path, and the errors of those that cannot be read."""

    path: Path | None = None
    newest: Certificate | None = None
    unreadable: list[UnreadableResult] = field(default_factory=list)


def find_certificates(folder: Path, machine: str) -> MachineCertificates:
    """Find the newest certificate of a machine below a folder."""
    readable: list[tuple[Path, Certificate]] = []
    unreadable: list[UnreadableResult] = []
    for path in sorted(folder.glob("*/*.json")):
        if path.parent.name == machine:
            try:
                readable.append((path, read_certificate(path)))
            except UnreadableResult as error:
                unreadable.append(error)
    if not readable:
        return MachineCertificates(unreadable=unreadable)
    path, newest = max(readable, key=lambda each: (each[1].created, each[0].stem))
    return MachineCertificates(path=path, newest=newest, unreadable=unreadable)


@dataclass(frozen=True, kw_only=True)
class Share:
    """``count`` of ``total``, with exact bounds at 95 % confidence (Clopper and Pearson 1934, Biometrika 26)."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.total if self.total else math.nan

    @property
    def upper_bound(self) -> float:
        """The one-sided upper bound of the true share."""
        return self._bounds("less")[1]

    @property
    def lower_bound(self) -> float:
        """The one-sided lower bound of the true share."""
        return self._bounds("greater")[0]

    def _bounds(self, side: str) -> tuple[float, float]:
        if not self.total:
            return 0.0, 1.0
        from scipy import stats  # here, since it takes half a second to load

        bounds = stats.binomtest(self.count, self.total, alternative=side).proportion_ci(CONFIDENCE)
        return float(bounds.low), float(bounds.high)


def count_verdicts(comparisons: Sequence[KnownComparison], *verdicts: str) -> Share:
    """Return the share of comparisons with one of these verdicts."""
    return Share(count=sum(each.verdict in verdicts for each in comparisons), total=len(comparisons))


def count_covered(comparisons: Sequence[KnownComparison]) -> Share:
    """Return the share of comparisons whose interval contains the known speedup."""
    return Share(count=sum(each.contains_truth for each in comparisons), total=len(comparisons))


def time_to_decide_s(comparisons: Sequence[KnownComparison]) -> tuple[float, float]:
    """Return the median and the 95th percentile of the time until the answer; ``comparisons`` must not be empty."""
    spent_s = [each.spent_s for each in comparisons]
    return median(spent_s), quantiles([*spent_s, spent_s[-1]], n=20, method="inclusive")[-1]


def spread(comparisons: Sequence[KnownComparison]) -> float | None:
    """Return the standard deviation of the log speedups; None for fewer than two comparisons."""
    return stdev(math.log(each.speedup) for each in comparisons) if len(comparisons) > 1 else None


def group_by(comparisons: Iterable[KnownComparison], *names: str) -> list[list[KnownComparison]]:
    """Return groups of comparisons that agree in the named fields, in the order of their first members."""
    groups: dict[tuple[object, ...], list[KnownComparison]] = {}
    for each in comparisons:
        groups.setdefault(tuple(getattr(each, name) for name in names), []).append(each)
    return list(groups.values())
