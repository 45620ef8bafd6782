"""A calibration certificate: the comparisons with a known result that were made on one machine, as frozen facts.

It is stored apart from the runs, as ``certificates/MACHINE/NNNN.json``. Shares, bounds and medians are computed from
these facts, never stored in their place.

Schema history:
    1  first version
    2  how far apart the cores lay during each known comparison
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from accelbench import files
from accelbench.errors import BadInput
from accelbench.schema.result import Count, Environment, Seconds, Verdict
from accelbench.schema.safe_json import as_schema, read_bytes, unreadable_in_one_line

SCHEMA_VERSION = 2
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e15)]
Bound = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


@dataclass(frozen=True, kw_only=True)
class KnownComparison:
    """A comparison with a known result: the candidate does ``effect_size`` more work than the baseline, 0.03 being 3 %.

    At effect size 0 both are the same code, built twice. ``through`` is ``compare``, in a process that makes several
    comparisons, or ``suite``, in a fresh worker. ``busy_processes`` ran at the same time. ``spent_s`` is the time until
    the answer. ``high`` is None if the interval has no upper end. ``core_latency_s`` is the time from one core to
    another, before or after it, whichever is longer. ``cores_are_far`` says whether that is far more than the least
    ever seen on the machine. Both are None where nothing can be read.
    """

    through: Literal["compare", "suite"]
    framework: str
    work: str
    effect_size: Bound
    busy_processes: Count
    spent_s: Seconds
    verdict: Verdict
    speedup: Positive
    low: Bound
    high: Bound | None
    core_latency_s: Seconds | None = None
    cores_are_far: bool | None = None

    @property
    def measured_effect_size(self) -> float:
        """How much more work the comparison found."""
        return 1 / self.speedup - 1

    @property
    def contains_truth(self) -> bool:
        """Whether the interval contains the known speedup."""
        known = 1 / (1 + self.effect_size)
        return self.low <= known and (self.high is None or known <= self.high)


@dataclass(frozen=True, kw_only=True)
class Multiple:
    """A multiple of the same work (``times``), and how many times as long it was ``measured`` to take."""

    work: str
    times: Positive
    measured: Positive
    low: Bound
    high: Bound | None


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A wait of known length, and its measured length."""

    requested_s: Positive
    measured_s: Seconds


@dataclass(frozen=True, kw_only=True)
class SlowCall:
    """A comparison of identical arms, except that one ``call`` of the candidate is slower by ``slow_s``."""

    call: Count
    slow_s: Seconds
    verdict: Verdict
    speedup: Positive
    low: Bound
    high: Bound | None


@dataclass(frozen=True, kw_only=True)
class Timer:
    """The clock that times blocks: the cost of reading it, and its resolution."""

    cost_s: Seconds
    resolution_s: Seconds


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """One calibration; an ``interrupted`` one holds what was measured until then.

    ``created`` is an ISO time. ``not_measured`` are sentences about what could not be measured.
    """

    schema_version: int
    machine: str
    environment: Environment
    created: str
    settings: dict[str, str | int | float | bool | None]
    spent_s: Seconds = 0.0
    comparisons: list[KnownComparison] = field(default_factory=list)
    multiples: list[Multiple] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    slow_calls: list[SlowCall] = field(default_factory=list)
    timer: Timer | None = None
    not_measured: list[str] = field(default_factory=list)
    interrupted: bool = False


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as plain JSON values."""
    return msgspec.to_builtins(certificate)  # type: ignore[no-any-return]  # a dataclass becomes a dict


def from_bytes(data: bytes, *, source: str) -> Certificate:
    """Return the certificate in a file's content.

    Raises:
        UnreadableResult: it is truncated or no certificate, has a newer schema, or does not follow its schema.
    """
    other = "not a calibration certificate; make one with accelbench calibrate"
    return as_schema(data, Certificate, SCHEMA_VERSION, source=source, again="calibrate", otherwise=other)


def read_certificate(path: Path) -> Certificate:
    """Read one certificate.

    Raises:
        UnreadableResult: the file is truncated or no certificate, has a newer schema, or does not follow its schema.
    """
    with unreadable_in_one_line(str(path)):
        data = read_bytes(path)
    return from_bytes(data, source=str(path))


def require_writable(folder: Path) -> None:
    """Check that certificates can be written, before minutes are spent on measuring one.

    Raises:
        BadInput: the folder cannot be written.
    """
    try:
        files.require_writable(folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def write_certificate(certificate: Certificate, folder: Path) -> Path:
    """Write a certificate under the next number into its machine's folder, and return its path.

    Raises:
        BadInput: the folder cannot be written.
    """
    place = folder / certificate.machine
    try:
        place.mkdir(parents=True, exist_ok=True)
        number = max((int(path.stem) for path in place.glob("*.json") if path.stem.isdecimal()), default=0) + 1
        path = place / f"{number:04}.json"
        files.write_atomically(path, json.dumps(to_json(certificate), indent=1, allow_nan=False).encode())
    except OSError as error:
        raise _unwritable(place, error) from None
    return path


def _unwritable(folder: Path, error: OSError) -> BadInput:
    return BadInput(
        f"{folder}: certificates cannot be written ({error.strerror or error}); name another folder with --output"
    )
