"""Numbers with units: formatted for a person, and parsed as a person writes them. Nothing else does either."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from accelbench.errors import BadInput

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNTS = ((1e12, " T "), (1e9, " G "), (1e6, " M "), (1e3, " k "), (1.0, " "))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_JOULES = ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"), (1e-12, "pJ"))
_ROUNDS_UP = 0.9995  # above this share of a unit, three digits would read 1000 of the next smaller unit
_READ_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_READ_BYTES = {"": 1.0, "b": 1.0} | {
    f"{prefix}{suffix}": float(base**power)
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}
_READ_FRACTION = {"": 1.0, "%": 0.01}
ROUNDING_ERROR = 1e-4  # a relative error below this is what reordered float32 operations cost


Value = TypeVar("Value")


def finite_or_none(value: Value) -> Value | None:
    """Return a value for JSON, which knows neither infinity nor NaN: None instead of either."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def significant(value: float, digits: int = 3) -> str:
    """Return a number such as ``16,400`` with this many significant digits and no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    rounded = float(f"{value:.{digits - 1}e}")  # 9.999 counts as 10.0, not as 10.00
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def count(value: float) -> str:
    """Return a whole number such as ``1,000,000``; one that is not whole keeps three digits."""
    return f"{value:,.0f}" if float(value).is_integer() else significant(value)


def plural(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 trial`` or ``2 trials``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def short(value: float) -> str:
    """Return a number for an axis, such as ``10 k``."""
    scale, prefix = _scale(value, _COUNTS)
    return f"{value / scale:.3g}{prefix}".strip()


def seconds(value: float) -> str:
    """Return a duration such as ``12.3 ms``."""
    scale, unit = _scale(value, _SECONDS) if value else _SECONDS[0]
    return f"{significant(value / scale)} {unit}"


def minutes(value: float) -> str:
    """Return a rough waiting time such as ``40 s`` or ``3 min 20 s``."""
    whole = round(value)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def size(value: float) -> str:
    """Return a number of bytes such as ``1.50 GiB``, with its sign."""
    scale, unit = _scale(value, _BYTES)
    return f"{significant(value / scale)} {unit}"


def joules(value: float) -> str:
    """Return an amount of energy such as ``12.3 mJ``."""
    scale, unit = _scale(value, _JOULES) if value else (1.0, "J")
    return f"{significant(value / scale)} {unit}"


def rate(per_second: float, unit: str) -> str:
    """Return a throughput such as ``3.08 k images/s``; bytes are given in GB/s."""
    if unit == "byte":
        return f"{significant(per_second / 1e9)} GB/s"
    scale, prefix = _scale(per_second, _COUNTS)
    return f"{significant(per_second / scale)}{prefix}{unit}s/s"


def speedup(value: float) -> str:
    """Return a ratio such as ``1.83×``."""
    return f"{significant(value)}×"


def interval(low: float, high: float) -> str:
    """Return an interval of ratios such as ``1.79–1.88``; an unbounded side reads ``0`` or ``∞``."""
    return f"{significant(low)}–{'∞' if math.isinf(high) else significant(high)}"


def bounds(low: float, high: float) -> str:
    """Return an interval of ratios, or ``no interval`` where neither side is bounded."""
    return interval(low, high) if low > 0 or high < math.inf else "no interval"


def ratio(value: float, low: float, high: float) -> str:
    """Return a ratio with its interval, such as ``1.83× (1.79–1.88)``."""
    return f"{speedup(value)} ({bounds(low, high)})"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage such as ``4.2 %``."""
    return f"{significant(100 * fraction, 2)} %"


def p_value(probability: float) -> str:
    """Return the p-value of a test, such as ``p = 0.21``, or ``p < 0.001`` below that, without line breaks."""
    text = f"p = {significant(probability, 2)}" if probability >= 1e-3 else "p < 0.001"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def error(relative: float) -> str:
    """Return a relative numeric error such as ``0.42 %``; mere rounding reads ``below 0.01 %``."""
    return f"below {percent(ROUNDING_ERROR)}" if 0 < relative < ROUNDING_ERROR else percent(relative)


def with_unit(name: str, value: float) -> str:
    """Return a value in the unit at the end of its name, as in ``span_s`` or ``sm_clock_mhz``."""
    for suffix, written in {**_WRITTEN, **_NAMED}.items():
        if name.endswith(suffix):
            return written(value)
    return count(value)


def without_unit(name: str) -> str:
    """Return a name in words, without the unit at its end: ``sm_clock_mhz`` reads ``sm clock``."""
    suffix = next((suffix for suffix in _WRITTEN if name.endswith(suffix)), "")
    return name.removesuffix(suffix).replace("_", " ")


_WRITTEN: dict[str, Callable[[float], str]] = {  # the first matching suffix decides
    "_per_s": lambda value: f"{count(value)}/s",
    "_s": seconds,
    "_bytes": size,
    "_share": percent,
    "_mhz": lambda value: f"{count(value)} MHz",
    "_w": lambda value: f"{count(value)} W",
    "_c": lambda value: f"{count(value)} °C",
}
_NAMED: dict[str, Callable[[float], str]] = {"_utilisation": percent}  # this ending stays part of the name


def _scale(value: float, steps: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    return next((step for step in steps if abs(value) >= step[0] * _ROUNDS_UP), steps[-1])


def read_seconds(text: str, option: str) -> float:
    """Return a duration such as ``60s`` or ``5m`` in seconds.

    Raises:
        BadInput: the text is no duration, or not above 0.
    """
    return _read(text, option, _READ_SECONDS, "a time such as 60s, 5m or 1h")


def read_bytes(text: str, option: str) -> float:
    """Return an amount of memory such as ``8GiB`` in bytes.

    Raises:
        BadInput: the text is no amount of memory, or not above 0.
    """
    return _read(text, option, _READ_BYTES, "an amount of memory such as 8GiB or 500MB")


def read_fraction(text: str, option: str) -> float:
    """Return a fraction such as ``1%`` or ``0.01``.

    Raises:
        BadInput: the text is no fraction, or not above 0.
    """
    return _read(text, option, _READ_FRACTION, "a fraction such as 1% or 0.01")


def _read(text: str, option: str, scales: Mapping[str, float], expected: str) -> float:
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([a-z%]*)", text.strip().lower())
    value = float(match[1]) * scales.get(match[2], 0.0) if match else 0.0
    if not value > 0:
        raise BadInput(f"{option}: {text!r} is not {expected}")
    return value
