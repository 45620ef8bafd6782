"""What a configuration must keep to, and how a user writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness import units
from harness.errors import BadInput

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {"": 1, "b": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most memory and the largest relative error that are allowed; None where all are."""

    memory_bytes: float | None = None
    error: float | None = None

    def objection(self, memory_bytes: float | None, error: float | None) -> str:
        """Return what speaks against a configuration, "" where nothing does.

        What was not measured cannot be shown to keep a limit, except the error of what others are compared with.
        """
        if self.memory_bytes is not None:
            if memory_bytes is None:
                return "its memory could not be measured"
            if memory_bytes > self.memory_bytes:
                return f"takes {units.size(memory_bytes)}, {units.size(self.memory_bytes)} is allowed"
        if self.error is not None and (error or 0.0) > self.error:
            return f"costs an error of {units.error(error or 0.0)}, {units.percent(self.error)} is allowed"
        return ""


NO_LIMITS = Limits()


def read_seconds(text: str, option: str) -> float:
    """Return a duration such as ``60s`` or ``5m`` in seconds.

    Raises:
        BadInput: it is none, or not above 0.
    """
    return _read(text, option, _SECONDS, "a time such as 60s, 5m or 1h")


def read_bytes(text: str, option: str) -> float:
    """Return an amount of memory such as ``8GiB`` in bytes.

    Raises:
        BadInput: it is none, or not above 0.
    """
    return _read(text, option, _BYTES, "an amount of memory such as 8GiB or 500MB")


def read_fraction(text: str, option: str) -> float:
    """Return a fraction such as ``1%`` or ``0.01``.

    Raises:
        BadInput: it is none, or not above 0.
    """
    return _read(text, option, {"": 1.0, "%": 0.01}, "a fraction such as 1% or 0.01")


def _read(text: str, option: str, scales: dict[str, float] | dict[str, int], expected: str) -> float:
    written = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([a-z%]*)", text.strip().lower())
    value = float(written[1]) * scales.get(written[2], 0) if written else 0.0
    if not value > 0:
        raise BadInput(f"{option}: {text!r} is not {expected}")
    return value
