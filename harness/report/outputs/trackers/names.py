"""Names and numbers as trackers take them."""

from __future__ import annotations

import math
from hashlib import blake2b

_DIGITS = 7  # more than any measurement has


def named(case: str, longest: int) -> str:
    """Return a case's name; of one that is too long the beginning and a digest, so that it is still no other's."""
    if len(case) <= longest:
        return case
    digest = blake2b(case.encode(), digest_size=6).hexdigest()
    return f"{case[: longest - len(digest) - 1]}~{digest}"


def exact(log: float, times: float = 1.0) -> float:
    """Return the number of which this is the logarithm, so many times, without the digits that mean nothing."""
    return float(f"{math.exp(log) * times:.{_DIGITS}g}")
