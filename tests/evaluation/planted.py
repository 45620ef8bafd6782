"""The series that every detector is given: drawn anew from the same seeds wherever they are needed."""

from __future__ import annotations

from itertools import product

import numpy as np
from generators import HELD_OUT, STATIONARY, Case, Series, case, drift, series

MODELS = STATIONARY | HELD_OUT
SPREADS = (0.01, 0.03)
STEPS = (0.02, 0.05, 0.10, 0.25)
SCENARIOS = {  # by how large a share the machine, and the candidate alone, get slower
    "nothing happens": (0.0, 0.0),
    "machine 40 % faster": (1 / 1.4 - 1, 0.0),
    "power cap: machine 15 % slower": (0.15, 0.0),
    "technique loses 5 %": (0.0, 0.05),
    "technique loses 10 %": (0.0, 0.10),
    "masked: loses 10 %, machine 9 % faster": (1 / 1.09 - 1, 0.10),
}
_SEED = 20260101


def unchanged(number: int) -> dict[tuple[str, float], list[Series]]:
    """Return half as many series per noise model and spread in which nothing happens: there are many of both."""
    rng = np.random.default_rng(_SEED)
    return {
        (name, spread): [series(rng, noise, spread) for _ in range((number + 1) // 2)]
        for (name, noise), spread in product(MODELS.items(), SPREADS)
    }


def stepped(number: int) -> dict[tuple[float, float], list[Series]]:
    """Return so many series per spread and size of the step, the noise models in turn."""
    rng, noises = np.random.default_rng(_SEED + 1), list(MODELS.values())
    return {
        (spread, size): [series(rng, noises[place % len(noises)], spread, slower=size) for place in range(number)]
        for spread, size in product(SPREADS, STEPS)
    }


def drifting(number: int, slower: float = 0.10) -> list[Series]:
    """Return so many series that get slower over all their runs, the stationary noise models in turn, at 1 %."""
    rng, noises = np.random.default_rng(_SEED + 2), list(STATIONARY.values())
    return [drift(rng, noises[place % len(noises)], 0.01, slower=slower) for place in range(number)]


def cases(number: int) -> dict[str, list[Case]]:
    """Return so many cases per scenario."""
    rng = np.random.default_rng(_SEED + 3)
    return {
        name: [case(rng, machine=machine, technique=technique) for _ in range(number)]
        for name, (machine, technique) in SCENARIOS.items()
    }
