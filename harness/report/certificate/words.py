"""What a certificate says, in sentences."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import units
from harness.certificate import Certificate, Duel
from harness.reading.certificates import KeptCertificates, Share, by, called, changed_since, identical, spread
from harness.record import Environment

PROVED_DOSE = 0.03  # so much more work must be seen
_NAMED = 4  # changes of a configuration
NO_CERTIFICATE = "No calibration certificate of this machine was found; accelbench calibrate makes one."


@dataclass(frozen=True, kw_only=True)
class Certified:
    """What a run's report carries of its machine's newest certificate; ``page`` leads to the whole of it."""

    said: list[str]
    page: str = ""


def certified(kept: KeptCertificates, environment: Environment, folder: Path | None) -> Certified:
    """Return what the report in a folder, or elsewhere, carries of a certificate, or that there is none."""
    if kept.newest is None or kept.path is None:
        return Certified(said=[NO_CERTIFICATE])
    page = kept.path.with_suffix(".html")
    return Certified(
        said=[
            f"The newest calibration certificate of this machine was made on {taken_in_words(kept.newest)}.",
            *in_brief(kept.newest),
            *changes_in_words(kept.newest, environment),
        ],
        page=Path(os.path.relpath(page, folder)).as_posix() if folder and page.is_file() else "",
    )


def taken_in_words(certificate: Certificate) -> str:
    """Say when a certificate was made."""
    return certificate.taken.replace("T", " ").replace("+00:00", " UTC")


def in_brief(certificate: Certificate) -> list[str]:
    """Say what a certificate has shown, the most important first."""
    parts = (_identical, _more_work, _intervals, _workers, _interruption)
    return [sentence for part in parts for sentence in part(certificate)]


def changes_in_words(certificate: Certificate, environment: Environment) -> Iterator[str]:
    """Say what has changed since a certificate was made."""
    changed = changed_since(certificate, environment)
    each = [f"{name} was {before} and is {now}" for name, (before, now) in changed.items()]
    if each:
        more = f", and {len(each) - _NAMED} more" if len(each) > _NAMED else ""
        yield f"It was made under another configuration: {', '.join(each[:_NAMED])}{more}."


def where_in_words(duel: Duel) -> str:
    """Say beside what was measured, or that it was alone."""
    return _beside(duel) or "alone"


def _beside(duel: Duel) -> str:
    return f"beside {units.plural(duel.neighbours, 'busy neighbour')}" if duel.neighbours else ""


def dose_in_words(dose: float) -> str:
    """Return a known amount of more work, exact to a tenth of a per cent."""
    return f"{round(100 * dose, 1):g} %"


def at_most(share: Share) -> str:
    """Return a share that should be small, with its bound."""
    return f"{share.count} of {share.of} (at most {units.percent(share.most)})"


def at_least(share: Share) -> str:
    """Return a share that should be large, with its bound."""
    return f"{share.count} of {share.of} (at least {units.percent(share.least)})"


def between(share: Share) -> str:
    """Return the exact bounds of a share on both sides."""
    low, high = share.interval
    return f"{100 * low:.1f}–{100 * high:.1f} %"


def _identical(certificate: Certificate) -> Iterator[str]:
    for group in by(identical(certificate), "neighbours").values():
        wrong = called(group, "faster", "slower")
        yield (
            f"{_comparisons(group)} of identical code, {wrong.count} called it different "
            f"(at most {units.percent(wrong.most)} with 95 % confidence)."
        )


def _more_work(certificate: Certificate) -> Iterator[str]:
    proving = (duel for duel in certificate.duels if duel.dose == PROVED_DOSE)
    for group in by(proving, "neighbours").values():
        seen = called(group, "slower")
        yield (
            f"{_comparisons(group)} with {dose_in_words(PROVED_DOSE)} more work, {seen.count} called it slower "
            f"(at least {units.percent(seen.least)} with 95 % confidence)."
        )


def _comparisons(duels: Sequence[Duel]) -> str:
    where = _beside(duels[0])
    counted = units.plural(len(duels), "comparison")
    return f"{where.capitalize()}, of {counted}" if where else f"Of {counted}"


def _intervals(certificate: Certificate) -> Iterator[str]:
    if found := certificate.coverage:
        least = min(each.covered / each.series for each in found)
        yield (
            f"Intervals that claim to hold the truth in {units.percent(found[0].nominal)} of cases held it in "
            f"{100 * least:.1f} % of simulated series or more, under each kind of noise."
        )


def _workers(certificate: Certificate) -> Iterator[str]:
    groups = by((duel for duel in certificate.duels if duel.through == "suite"), "framework", "work", "neighbours")
    found = sorted(width for group in groups.values() if (width := spread(group)) is not None)
    if found:
        least, most = units.percent(found[0]), units.percent(found[-1])
        yield f"The speedup of identical arms varied by {least} to {most} (standard deviation) between fresh workers."


def _interruption(certificate: Certificate) -> Iterator[str]:
    if certificate.interrupted:
        yield "The calibration was interrupted; this is what it had measured until then."
