"""The verdict on an interval of log speedups, the same wherever a speedup is judged."""

from __future__ import annotations

import math

from harness.record import Verdict


def verdict(low: float, high: float, noise: float) -> Verdict:
    """Return the verdict on an interval of log speedups, given the zone ``±noise`` that counts as the same."""
    zone = math.log1p(noise)
    if low > zone:
        return "faster"
    if high < -zone:
        return "slower"
    if -zone < low and high < zone:
        return "same"
    return "undecided"
