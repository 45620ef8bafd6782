"""The noise zone of a run, and what would decide an effect that is undecided: an estimate from its interval."""

from __future__ import annotations

import math

from harness.record import Run

_NOISE = 0.01  # of a run whose settings do not tell it


def noise_of(run: Run) -> float:
    """Return within which fraction of 1 a speedup counts as the same, as the run was told."""
    noise = run.settings.get("noise")
    return noise if isinstance(noise, float) and 0 < noise < 1 else _NOISE


def times_the_pairs(speedup: float, low: float, high: float, noise: float) -> float | None:
    """Return about how many times the pairs would decide an effect that stays where it is.

    An interval for a median narrows with the square root of the pairs (Serfling 1980, *Approximation Theorems of
    Mathematical Statistics*, 2.3.3). The half of it that reaches over the border of the noise zone must shrink to the
    room between the estimate and the nearest border. An interval that may be looked at after every pair narrows a
    little more slowly (Howard et al. 2021, *Annals of Statistics* 49), and the next estimate will lie elsewhere.

    Returns infinity for an estimate on the border, and None where an interval without an end tells nothing.
    """
    if not (speedup > 0 and low > 0) or math.isinf(high):
        return None
    zone, centre = math.log1p(noise), math.log(speedup)
    below, above = centre - math.log(low), math.log(high) - centre
    outside = below if centre > 0 else above
    reach = outside if abs(centre) > zone else max(below, above)
    room = abs(abs(centre) - zone)
    times = reach / room if room else math.inf
    return max(1.0, times * times)
