"""The verdict on an interval of speedups, and the zones around 1 that it rests on."""

from __future__ import annotations

import math

from accelbench.schema.result import Effect, Verdict

GLYPHS: dict[str, str] = {"faster": "▲", "slower": "▼", "same": "=", "undecided": "?"}
DOUBTFUL = "†"  # behind the speedup of an effect one of whose arms is doubtful
_MAX_LOG = 700.0  # logarithm beyond which a ratio exceeds floating point

FURTHEST = 50.0  # the logarithm of a ratio beyond which nobody measured one
NEGLIGIBLE = 0.05  # an effect within this fraction of 1 is worth no change of a program


def verdict(low: float, high: float, noise: float, same: float | None = None) -> Verdict:
    """Return the verdict on an interval of log speedups.

    Beyond the zone ``±noise``, it is faster or slower. Within the zone ``±same``, which is that of the noise if it is
    not given, it is the same. That zone may be wider: then an interval around 1.03 may be either, and what is shown to
    be faster is called faster.
    """
    zone, same_zone = math.log1p(noise), math.log1p(noise if same is None else max(noise, same))
    if low > zone:
        return "faster"
    if high < -zone:
        return "slower"
    if -same_zone < low and high < same_zone:
        return "same"
    return "undecided"


def verdict_of_this_run(effect: Effect, noise: float) -> Verdict:
    """Return the verdict on what a run shows of an effect without the earlier runs that have joined it."""
    _, low, high = effect.of_this_run
    return verdict(low, high, noise, NEGLIGIBLE) if effect.joined_runs else effect.verdict


def noise_zone(noise: float) -> tuple[float, float]:
    """Return the ends of the zone of speedups that count as the same, as ratios."""
    return 1 / (1 + noise), 1 + noise


def verdict_on_ratios(low: float, high: float, noise: float, same: float | None = None) -> Verdict:
    """Return the verdict on an interval of ratios, whose ends may be 0 and infinity."""
    return verdict(log_ratio(low), log_ratio(high), noise, same)


def possible_verdicts(low: float, high: float, noise: float) -> list[Verdict]:
    """Return the verdicts that an undecided interval of ratios leaves open, the slowest first."""
    least, most = noise_zone(noise)
    slower: list[Verdict] = ["slower"] if low < least else []
    faster: list[Verdict] = ["faster"] if high > most else []
    return [*slower, "same", *faster]


def log_ratio(ratio: float) -> float:
    """Return the logarithm of a ratio, which may be 0 or infinite."""
    return math.log(ratio) if ratio > 0 else -math.inf


def ratio_of(log: float) -> float:
    """Return the ratio of a logarithm: 0 or infinity for an unbounded one, and a finite number for every other."""
    if math.isinf(log):
        return math.inf if log > 0 else 0.0
    return math.exp(min(max(log, -_MAX_LOG), _MAX_LOG))
