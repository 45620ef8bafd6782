"""Warm-up that ends by evidence: two consecutive windows of blocks agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

WINDOW = 20
AGREEMENT = 0.05  # medians within this fraction of each other, quartiles within twice it
MOST_WINDOWS = 10


@dataclass(frozen=True, kw_only=True)
class Warmup:
    """The blocks that were run before measuring, and whether their times had settled or a cap ended it."""

    blocks_s: tuple[float, ...]
    settled: bool


def warm_up(block_s: Callable[[], float], *, cap_s: float) -> Warmup:
    """Run blocks until two windows of them agree, at most ``cap_s`` seconds of block time or ten windows."""
    times_s: list[float] = []
    spent_s = 0.0
    while len(times_s) < WINDOW * MOST_WINDOWS and spent_s < cap_s:
        times_s.append(block_s())
        spent_s += times_s[-1]
        if len(times_s) % WINDOW == 0 and len(times_s) >= 2 * WINDOW and _agree(times_s):
            return Warmup(blocks_s=tuple(times_s), settled=True)
    return Warmup(blocks_s=tuple(times_s), settled=False)


def _agree(times_s: list[float]) -> bool:
    before = np.percentile(times_s[-2 * WINDOW : -WINDOW], (25, 50, 75))
    after = np.percentile(times_s[-WINDOW:], (25, 50, 75))
    apart = np.abs(after - before)
    return bool(np.all(apart <= AGREEMENT * np.array([2, 1, 2]) * before))
