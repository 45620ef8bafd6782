"""A wave that spreads on a square membrane and is slower in its middle, by finite differences."""

from typing import Any

import numpy as np

from accelbench import ArrayProgram

CELLS, STEPS = 384, 20  # along one side, and of time


def step(xp: Any, now: Any, before: Any, courant: Any) -> Any:
    """Return the displacements after ``STEPS`` steps of time, and one step earlier.

    The border stands still. ``courant`` is the square of the speed in cells per step of time.
    """
    for _ in range(STEPS):
        inner = now[1:-1, 1:-1]
        neighbours = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        after = xp.zeros_like(now)
        after[1:-1, 1:-1] = 2 * inner - before[1:-1, 1:-1] + courant * (neighbours - 4 * inner)
        now, before = after, now
    return now, before


def start() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a bump at rest and the squares of the speed."""
    x, y = np.meshgrid(*2 * [np.linspace(-1, 1, CELLS)])
    bump = np.exp(-200 * ((x + 0.5) ** 2 + y**2))
    bump[[0, -1], :] = bump[:, [0, -1]] = 0
    return bump, bump.copy(), np.where(x**2 + y**2 < 0.1, 0.1, 0.4)[1:-1, 1:-1]


def build() -> ArrayProgram:
    """A wave on a membrane, by finite differences."""
    return ArrayProgram(step=step, arrays=start(), items=STEPS * CELLS**2)


if __name__ == "__main__":
    now, before, courant = start()
    for round_number in range(20):
        now, before = step(np, now, before, courant)
        print(f"step {STEPS * (round_number + 1)}: highest {now.max():.3f}, lowest {now.min():.3f}")
