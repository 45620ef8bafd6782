"""Where a value lies on a small figure's axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_LOGARITHMIC_FROM = 5  # times from one end to the other
_MARGIN = 0.04  # of the axis, at each end


@dataclass(frozen=True, kw_only=True)
class Scale:
    """An axis of ``length`` units between two values; logarithmic where they lie far apart."""

    low: float
    high: float
    length: int
    logarithmic: bool = False

    @classmethod
    def over(cls, values: Iterable[float], length: int) -> Scale:
        """Return an axis on which all values find room; of equal ones, in its middle."""
        known = list(values)
        low, high = min(known), max(known)
        if low == high:
            around = abs(low) * _MARGIN or 1.0
            return cls(low=low - around, high=high + around, length=length)
        if low > 0 and high / low > _LOGARITHMIC_FROM:
            margin = (high / low) ** _MARGIN
            return cls(low=low / margin, high=high * margin, length=length, logarithmic=True)
        margin = (high - low) * _MARGIN
        return cls(low=low - margin, high=high + margin, length=length)

    def at(self, value: float) -> int:
        """Return the place of a value; one beyond an end lies at the end."""
        clamped = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(clamped / self.low) / math.log(self.high / self.low)
        else:
            share = (clamped - self.low) / (self.high - self.low)
        return round(share * self.length)

    def holds(self, value: float) -> bool:
        """Say whether a value lies between the ends."""
        return self.low <= value <= self.high
