"""What the looks so far let one expect of a configuration: each level's own factor, fitted on the log scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.advice.board import Board
from harness.advice.space import Configuration, Space

SHRINKAGE = 0.1  # a ridge (Hoerl and Kennard 1970): levels seen rarely, or only together, are fitted with care


def expected(space: Space, board: Board, configurations: Sequence[Configuration]) -> np.ndarray:
    """Return the log speedup that is expected of each configuration, were techniques to act independently."""
    seen = [each for each, first in board.first.items() if not first.reason]
    found = np.array([board.log_speedup(each) for each in seen])
    switched = _switched(space, seen)
    offset, middle = found.mean(), switched.mean(axis=0)
    centred = switched - middle
    ridge = SHRINKAGE * np.eye(centred.shape[1])
    factors = np.linalg.solve(centred.T @ centred + ridge, centred.T @ (found - offset))
    return np.asarray(offset + (_switched(space, configurations) - middle) @ factors)


def _switched(space: Space, configurations: Sequence[Configuration]) -> np.ndarray:
    """Return which level each configuration has, shape ``(configurations, levels of all axes)``, 0 or 1."""
    places = [(place, level) for place, axis in enumerate(space.axes) for level in axis.levels]
    return np.array([[each[place] == level for place, level in places] for each in configurations], dtype=float)
