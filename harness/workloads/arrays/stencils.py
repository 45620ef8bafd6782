"""Fields on a periodic grid that change by what their neighbours hold: heat, and shallow water."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from harness.experiment import Arm, Setting, workload
from harness.workloads.arrays.libraries import Operands
from harness.workloads.arrays.simulations import Simulation
from harness.workloads.verification import Conserved

STEPS = 8
SPREADING = 6  # operations per cell and time step: three sums of neighbours, two products, and their sum
FLOWING = 37  # as written in `flow` and `fluxes`
DIFFUSION = 0.2  # diffusivity × time step / spacing²; the explicit scheme is stable up to 1/4
COURANT = 0.3  # time step / spacing, where gravity and the mean depth are 1 and so is the speed of waves

# In float32, sums over 32² to 1024² cells changed by at most 1e-8, three seeds each.
CONSERVED_TO = 1e-6


@workload("numpy", "cupy", "torch", unit="cell")
def heat(setting: Setting, *, elements: int = 1_000_000, array_library: str = "numpy") -> Arm:
    """Heat that spreads on a square grid: eight steps of the explicit five-point stencil."""
    return HEAT.arm(setting, elements, array_library)


@workload("numpy", "cupy", "torch", unit="cell")
def shallow_water(setting: Setting, *, elements: int = 250_000, array_library: str = "numpy") -> Arm:
    """Shallow-water equations of weather and waves on a square grid: eight Lax–Friedrichs steps."""
    return SHALLOW_WATER.arm(setting, elements, array_library)


def around(xp: Any, field: Any) -> Any:
    """Return the sum of the four neighbours of every cell; the last two axes are y and x."""
    north_south = xp.roll(field, 1, axis=-2) + xp.roll(field, -1, axis=-2)
    return north_south + xp.roll(field, 1, axis=-1) + xp.roll(field, -1, axis=-1)


def across(xp: Any, field: Any, axis: int) -> Any:
    """Return the difference of the two neighbours of every cell along an axis."""
    return xp.roll(field, -1, axis=axis) - xp.roll(field, 1, axis=axis)


def spread(xp: Any, temperature: Any) -> tuple[Any]:
    """Return the temperature after the time steps."""
    for _ in range(STEPS):
        temperature = temperature + DIFFUSION * (around(xp, temperature) - 4 * temperature)
    return (temperature,)


def flow(xp: Any, water: Any) -> tuple[Any]:
    """Return depth and momenta after the time steps, shape ``(3, side, side)``.

    Lax–Friedrichs, in conservation form: LeVeque 2002, Finite Volume Methods for Hyperbolic Problems, section 4.6; the
    fluxes of depth and momentum are those of section 13.1.
    """
    for _ in range(STEPS):
        along_x, along_y = fluxes(xp, water)
        outflow = across(xp, along_x, -1) + across(xp, along_y, -2)
        water = around(xp, water) / 4 - outflow * (COURANT / 2)
    return (water,)


def fluxes(xp: Any, water: Any) -> tuple[Any, Any]:
    """Return what flows along x and along y, of depth and of both momenta."""
    depth, along_x, along_y = water[0], water[1], water[2]
    pressure = depth * depth / 2
    crossing = along_x * along_y / depth
    return (
        xp.stack([along_x, along_x * along_x / depth + pressure, crossing]),
        xp.stack([along_y, crossing, along_y * along_y / depth + pressure]),
    )


def _warm(rng: np.random.Generator, cells: int) -> Operands:
    return (rng.random((isqrt(cells),) * 2, dtype=np.float32),)


def _hump(rng: np.random.Generator, cells: int) -> Operands:
    """Return a round hump of water somewhere on a rippled current."""
    side = isqrt(cells)
    y, x = (np.abs(np.arange(side) - rng.integers(side)) for _ in "yx")
    y, x = (np.minimum(away, side - away) * (8 / side) for away in (y, x))
    depth = 1 + 0.3 * np.exp(-(y[:, None] ** 2) - x**2)
    current = 0.2 + 0.05 * rng.standard_normal((2, side, side))
    return (np.stack([depth, *(depth * current)]).astype(np.float32),)


def _thermal(temperature: np.ndarray) -> Conserved:
    return {"heat": _total(temperature)}


def _hydraulic(water: np.ndarray) -> Conserved:
    return {"mass": _total(water[0]), "momentum": _total(water[1:])}


def _total(field: np.ndarray) -> tuple[Any, float]:
    """Return the sums over the grid, and what a change of them is measured by."""
    return field.sum(axis=(-2, -1)), float(np.abs(field).sum())


def _updates(cells: int) -> int:
    return isqrt(cells) ** 2 * STEPS


HEAT = Simulation(
    initial=_warm,
    advance=spread,
    conserved=_thermal,
    tolerance={"heat": CONSERVED_TO},
    work=_updates,
    operations=lambda cells: SPREADING * _updates(cells),
    small=1_000_000,
)
SHALLOW_WATER = Simulation(
    initial=_hump,
    advance=flow,
    conserved=_hydraulic,
    tolerance={"mass": CONSERVED_TO, "momentum": CONSERVED_TO},
    work=_updates,
    operations=lambda cells: FLOWING * _updates(cells),
    small=250_000,
)
