"""A NumPy program as accelbench takes it: a step that takes the array library as an argument."""

import numpy as np

from accelbench import ArrayProgram


def advance(xp, positions, velocities):
    """Three steps of gravity between all pairs of bodies."""
    for _ in range(3):
        apart = positions[:, None, :] - positions[:, :, None]
        squares = xp.sum(apart * apart, axis=0) + 0.04
        velocities = velocities + 0.001 * xp.sum(apart / (squares * xp.sqrt(squares)), axis=2)
        positions = positions + 0.001 * velocities
    return positions, velocities


def build() -> ArrayProgram:
    """Gravity between 256 bodies."""
    positions = np.random.default_rng(0).standard_normal((3, 256))
    return ArrayProgram(step=advance, arrays=(positions, np.zeros((3, 256))), items=3 * 256**2)
