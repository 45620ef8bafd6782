"""The only code that formats a number for a person."""

from __future__ import annotations

import math

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNTS = ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, " "))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def significant(value: float, digits: int = 3) -> str:
    """Return ``value`` with that many significant digits and no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def seconds(value: float) -> str:
    """Return a duration such as ``12.3 ms``."""
    scale, unit = next((step for step in _SECONDS if abs(value) >= step[0]), _SECONDS[-1])
    return f"{significant(value / scale)} {unit}"


def minutes(value: float) -> str:
    """Return a rough waiting time such as ``40 s`` or ``3 min 20 s``."""
    whole = round(value)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def size(value: float) -> str:
    """Return a number of bytes such as ``1.50 GiB``, with its sign."""
    scale, unit = next((step for step in _BYTES if abs(value) >= step[0]), _BYTES[-1])
    return f"{significant(value / scale)} {unit}"


def rate(per_second: float, unit: str) -> str:
    """Return a throughput such as ``3.08 k images/s``; bytes are given in GB/s."""
    if unit == "byte":
        return f"{significant(per_second / 1e9)} GB/s"
    scale, prefix = next((step for step in _COUNTS if per_second >= step[0]), _COUNTS[-1])
    return f"{significant(per_second / scale)}{prefix}{unit}s/s"


def speedup(value: float) -> str:
    """Return a ratio such as ``1.83×``."""
    return f"{significant(value)}×"


def interval(low: float, high: float) -> str:
    """Return an interval of ratios such as ``1.79–1.88``; an unbounded side reads ``0`` or ``∞``."""
    return f"{significant(low)}–{'∞' if math.isinf(high) else significant(high)}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage such as ``4.2 %``."""
    return f"{significant(100 * fraction, 2)} %"
