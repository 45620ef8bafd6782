"""The noise zone around a speedup of 1, and the verdict on an interval: the same wherever a speedup is judged."""

from __future__ import annotations

import math

from accelbench.schema.result import Verdict

GLYPHS: dict[str, str] = {"faster": "▲", "slower": "▼", "same": "=", "undecided": "?"}


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


def noise_zone(noise: float) -> tuple[float, float]:
    """Return the ends of the zone of speedups that count as the same, as ratios."""
    return 1 / (1 + noise), 1 + noise


def verdict_on_ratios(low: float, high: float, noise: float) -> Verdict:
    """Return the verdict on an interval of ratios, whose ends may be 0 and infinity."""
    return verdict(_log(low), _log(high), noise)


def possible_verdicts(low: float, high: float, noise: float) -> list[Verdict]:
    """Return the verdicts that an undecided interval of ratios leaves open, the slowest first."""
    least, most = noise_zone(noise)
    slower: list[Verdict] = ["slower"] if low < least else []
    faster: list[Verdict] = ["faster"] if high > most else []
    return [*slower, "same", *faster]


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf
