"""A calibration certificate: what comparisons of known truth have shown on one machine, as frozen facts.

It is stored apart from the runs, as ``certificates/MACHINE/NNNN.json``. Shares, bounds and medians are computed from
what stands here, never stored in its place.

Schema history:
    1  first version
    2  what an interrupted calibration had measured: ``interrupted``
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from harness.errors import UnreadableResult
from harness.record import Count, Environment, Seconds, Verdict
from harness.untrusted import as_schema, read_document, shown

SCHEMA_VERSION = 2
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e15)]
Bound = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


@dataclass(frozen=True, kw_only=True)
class Duel:
    """One comparison whose truth is known: the candidate does ``dose`` more of the baseline's work, 0.03 being 3 %.

    At dose 0 both are the same code, built twice. ``through`` says by what they were compared: by ``compare`` in a
    process that goes on to the next duel, or by the suite in a fresh worker. So many busy ``neighbours`` ran beside
    it. ``spent_s`` passed until the answer. ``high`` is None where the interval has no upper end.
    """

    through: Literal["compare", "suite"]
    framework: str
    work: str
    dose: Bound
    neighbours: Count
    spent_s: Seconds
    verdict: Verdict
    speedup: Positive
    low: Bound
    high: Bound | None


@dataclass(frozen=True, kw_only=True)
class Multiple:
    """So many ``times`` the same work, and how many times as long it was measured to take, with its interval."""

    work: str
    times: Positive
    measured: Positive
    low: Bound
    high: Bound | None


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A wait of known length, and how long a stopwatch found it."""

    asked_s: Positive
    measured_s: Seconds


@dataclass(frozen=True, kw_only=True)
class SlowCall:
    """A comparison of two arms that are the same but for one ``call`` of the candidate, slower by ``slow_s``."""

    call: Count
    slow_s: Seconds
    verdict: Verdict
    speedup: Positive
    low: Bound
    high: Bound | None


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How many of so many simulated ``series`` under one kind of noise gave an interval that holds the truth.

    ``nominal`` is the confidence that the interval claims, ``pairs`` the median number at which measuring stopped.
    """

    noise: str
    nominal: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    series: Annotated[int, msgspec.Meta(ge=1)]
    covered: Count
    pairs: Bound

    def __post_init__(self) -> None:
        if self.covered > self.series:
            raise ValueError(f"{self.covered} of {self.series} series hold the truth")


@dataclass(frozen=True, kw_only=True)
class Timer:
    """The clock that times blocks: what reading it costs, and the least step that it shows."""

    cost_s: Seconds
    resolution_s: Seconds


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """One calibration, or what an ``interrupted`` one had measured until then.

    ``taken`` is an ISO time; ``remarks`` are sentences on what could not be measured.
    """

    schema_version: int
    machine: str
    environment: Environment
    taken: str
    settings: dict[str, str | int | float | bool | None]
    spent_s: Seconds = 0.0
    duels: list[Duel] = field(default_factory=list)
    multiples: list[Multiple] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    slow_calls: list[SlowCall] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    timer: Timer | None = None
    remarks: list[str] = field(default_factory=list)
    interrupted: bool = False


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as plain JSON values."""
    return msgspec.to_builtins(certificate)  # type: ignore[no-any-return]  # a dataclass becomes a dict


def read_certificate(path: Path) -> Certificate:
    """Read one certificate.

    Raises:
        UnreadableResult: the file is truncated, of a newer schema, not ours, or does not follow the schema.
    """
    return from_json(read_document(path), source=str(path))


def from_json(document: Any, *, source: str) -> Certificate:
    """Return the certificate held by a file's JSON.

    Raises:
        UnreadableResult: the JSON is of a newer schema, not ours, or does not follow the schema.
    """
    source = shown(source)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise UnreadableResult(f"{source}: not a calibration certificate; make one with accelbench calibrate")
    return as_schema(document, Certificate, SCHEMA_VERSION, source=source, again="calibrate")
