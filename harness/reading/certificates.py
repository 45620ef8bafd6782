"""Certificates: the newest of a machine, and what its comparisons of known truth add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles, stdev

from scipy import stats

from harness.certificate import Certificate, Duel, read_certificate
from harness.errors import UnreadableResult
from harness.record import Environment

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class KeptCertificates:
    """The newest certificate of a machine with its file, and why others of it cannot be read."""

    path: Path | None = None
    newest: Certificate | None = None
    unreadable: list[UnreadableResult] = field(default_factory=list)


def find_certificates(folder: Path, machine: str) -> KeptCertificates:
    """Return the newest certificate of a machine below a folder."""
    kept: list[tuple[Path, Certificate]] = []
    unreadable: list[UnreadableResult] = []
    for path in sorted(folder.glob("*/*.json")):
        if path.parent.name == machine:
            try:
                kept.append((path, read_certificate(path)))
            except UnreadableResult as error:
                unreadable.append(error)
    if not kept:
        return KeptCertificates(unreadable=unreadable)
    path, newest = max(kept, key=lambda each: (each[1].taken, each[0].stem))
    return KeptCertificates(path=path, newest=newest, unreadable=unreadable)


def changed_since(certificate: Certificate, environment: Environment) -> dict[str, tuple[str, str]]:
    """Return the settings and versions that differ, as the certificate and the environment have them.

    What only one of the two tells is left out: they may have used different frameworks.
    """
    before, now = certificate.environment.configuration, environment.configuration
    return {name: (before[name], now[name]) for name in sorted(before.keys() & now.keys()) if before[name] != now[name]}


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many out of so many, with the exact bounds of Clopper and Pearson (1934, Biometrika 26)."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.of if self.of else math.nan

    @property
    def most(self) -> float:
        """What the true share is at most, with 95 % confidence."""
        return self._bounds("less")[1]

    @property
    def least(self) -> float:
        """What the true share is at least, with 95 % confidence."""
        return self._bounds("greater")[0]

    @property
    def interval(self) -> tuple[float, float]:
        """Between what the true share lies, with 95 % confidence."""
        return self._bounds("two-sided")

    def _bounds(self, side: str) -> tuple[float, float]:
        if not self.of:
            return 0.0, 1.0
        bounds = stats.binomtest(self.count, self.of, alternative=side).proportion_ci(CONFIDENCE)
        return float(bounds.low), float(bounds.high)


def truth(duel: Duel) -> float:
    """Return the speedup that is known."""
    return 1 / (1 + duel.dose)


def found_dose(duel: Duel) -> float:
    """Return how much more work a comparison found."""
    return 1 / duel.speedup - 1


def called(duels: Sequence[Duel], *verdicts: str) -> Share:
    """Return how many comparisons came to one of these verdicts."""
    return Share(count=sum(duel.verdict in verdicts for duel in duels), of=len(duels))


def holding(duels: Sequence[Duel]) -> Share:
    """Return how many intervals hold what is known."""
    held = (duel.low <= truth(duel) <= (math.inf if duel.high is None else duel.high) for duel in duels)
    return Share(count=sum(held), of=len(duels))


def time_to_decide_s(duels: Sequence[Duel]) -> tuple[float, float]:
    """Return the median and the 95th percentile of the time that the answer took, ``duels`` not being empty."""
    spent_s = [duel.spent_s for duel in duels]
    return median(spent_s), quantiles([*spent_s, spent_s[-1]], n=20, method="inclusive")[-1]


def spread(duels: Sequence[Duel]) -> float | None:
    """Return the standard deviation of log speedups between workers; None where there are too few."""
    return stdev(math.log(duel.speedup) for duel in duels) if len(duels) > 1 else None


def by(duels: Iterable[Duel], *names: str) -> dict[tuple[object, ...], list[Duel]]:
    """Return the duels in groups that agree in the named fields, in the order in which they first come."""
    groups: dict[tuple[object, ...], list[Duel]] = {}
    for duel in duels:
        groups.setdefault(tuple(getattr(duel, name) for name in names), []).append(duel)
    return groups


def identical(certificate: Certificate) -> list[Duel]:
    """Return the comparisons of identical code."""
    return [duel for duel in certificate.duels if duel.dose == 0]
