"""Episodes of one series: a level that was left and soon came back, which is something that happened and no change.

A neighbour's load, a hot afternoon or a backup slows a few runs down and is gone. As long as it goes on it cannot be
told from a change of level, and is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from harness.reading.history.changes.splitting import Boundary, chance

_LONGEST = 15  # runs: three times the shortest segment; what holds for longer is a level of its own
_ALPHA = 0.01  # chance that a level which came back is taken for another


def episodes(values: NDArray[np.float64], found: Sequence[Boundary], margin: float) -> dict[Boundary, Boundary]:
    """Return where episodes begin, each with where it is over.

    An episode is no longer than the level that it interrupts, and that level is back afterwards: where the runs of the
    episode are left out, it changes by no more than a margin, or not beyond chance.
    """
    told: dict[Boundary, Boundary] = {}
    level = 0  # where the level that may be interrupted begins
    ends = [*(boundary.at for boundary in found[2:]), len(values)]
    for (begins, over), end in zip(pairwise(found), ends, strict=False):
        if begins in told.values():
            continue
        before, after = values[level : begins.at], values[over.at : end]
        if over.at - begins.at <= min(_LONGEST, len(before)) and _alike(before, after, begins, over, margin):
            told[begins], level = over, over.at
        else:
            level = begins.at
    return told


def _alike(
    before: NDArray[np.float64], after: NDArray[np.float64], begins: Boundary, over: Boundary, margin: float
) -> bool:
    inflated = max(begins.inflation, over.inflation)
    return bool(abs(np.median(after) - np.median(before)) <= margin or chance(before, after, inflated) > _ALPHA)
