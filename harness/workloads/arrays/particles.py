"""Particles that move under the forces between all pairs of them: gravity, and molecules in a periodic box.

Arrays have the shape ``(3, particles)``. Time is stepped by velocity Verlet (Swope et al. 1982, J. Chem. Phys. 76,
637), which is the leapfrog of astronomy: it keeps momentum up to rounding, energy up to the square of the time step.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from harness.errors import BadInput
from harness.experiment import Arm, Setting, workload
from harness.workloads.arrays.libraries import Operands
from harness.workloads.arrays.simulations import Simulation
from harness.workloads.verification import Conserved

STEPS = 5

# Gravity in natural units: the gravitational constant and the total mass are 1.
SOFTENING = 0.2  # Plummer's, which bounds the force of a close pair; Dehnen & Read 2011, Eur. Phys. J. Plus 126, 55
BODIES_TIME_STEP = 0.05  # a body takes about 4 to cross the cluster

# Lennard-Jones in reduced units: well depth, diameter and mass are 1; Allen & Tildesley 2017, chapter 1.
DENSITY = 0.8442  # with this temperature near the triple point, the usual test of codes
TEMPERATURE = 0.722
CUT_OFF = 2.5
MOLECULES_TIME_STEP = 0.004

# Operations per interaction, as they are written below; of molecules without the search for the nearest images, and
# only within the cut-off, since cell lists leave the other pairs out.
GRAVITY = 17
ATTRACTION = 21
NEIGHBOURS = DENSITY * 4 / 3 * pi * CUT_OFF**3  # of a molecule, within the cut-off

# In float32, momentum changed by at most 3e-8 and energy by 7e-5, which is what these time steps cost: 32 to 256
# particles, sixty seeds each. A force of the wrong sign changes energy by 4e-3 (bodies) and 2e-2 (molecules).
TOLERANCE = {"momentum": 1e-6, "energy": 2e-4}

Acceleration = Callable[[Any, Any], Any]


@workload("numpy", "cupy", "torch", unit="interaction")
def n_body(setting: Setting, *, elements: int = 256, array_library: str = "numpy") -> Arm:
    """Gravity between all pairs of bodies: five leapfrog steps."""
    return N_BODY.arm(setting, elements, array_library)


@workload("numpy", "cupy", "torch", unit="interaction")
def lennard_jones(setting: Setting, *, elements: int = 256, array_library: str = "numpy") -> Arm:
    """Molecular dynamics of a Lennard-Jones liquid in a periodic box, all pairs with a cut-off: five Verlet steps."""
    return LENNARD_JONES.arm(setting, elements, array_library)


def verlet(xp: Any, positions: Any, velocities: Any, acceleration: Acceleration, time_step: float) -> tuple[Any, Any]:
    """Return positions and velocities after the steps of velocity Verlet."""
    kick = acceleration(xp, positions) * (time_step / 2)
    for _ in range(STEPS):
        velocities = velocities + kick
        positions = positions + velocities * time_step
        kick = acceleration(xp, positions) * (time_step / 2)
        velocities = velocities + kick
    return positions, velocities


def gravity(xp: Any, positions: Any) -> Any:
    """Return the acceleration of each body by all others."""
    apart = separations(positions)
    squares = xp.sum(apart * apart, axis=0) + SOFTENING**2
    return xp.sum(apart / (squares * xp.sqrt(squares)), axis=2) / positions.shape[1]


def attraction(xp: Any, positions: Any) -> Any:
    """Return the acceleration of each molecule by all others within the cut-off."""
    apart = nearest_images(xp, separations(positions), box_of(positions.shape[1]))
    near = _inverse_squares(xp, apart)
    cubes = near * near * near
    return xp.sum(apart * ((24 - 48 * cubes) * cubes * near), axis=2)


def separations(positions: Any) -> Any:
    """Return the way from every particle to every other, shape ``(3, particles, particles)``."""
    return positions[:, None, :] - positions[:, :, None]


def nearest_images(xp: Any, apart: Any, box: float) -> Any:
    """Return the ways to the nearest of the periodic images."""
    return apart - box * xp.round(apart / box)


def box_of(molecules: int) -> float:
    """Return the side of the box."""
    return float((molecules / DENSITY) ** (1 / 3))


def _inverse_squares(xp: Any, apart: Any) -> Any:
    """Return 1/r², and zero for a molecule with itself and beyond the cut-off."""
    squares = xp.sum(apart * apart, axis=0)
    return 1 / xp.where((squares > 0) & (squares < CUT_OFF**2), squares, xp.inf)


def cluster(rng: np.random.Generator, bodies: int) -> Operands:
    """Return a round cluster of bodies near its virial equilibrium."""
    positions = rng.standard_normal((3, bodies), dtype=np.float32)
    return positions, 0.3 * rng.standard_normal((3, bodies), dtype=np.float32)


def liquid(rng: np.random.Generator, molecules: int) -> Operands:
    """Return molecules near the places of a face-centred cubic lattice, where no two overlap.

    Raises:
        BadInput: they do not fill the lattice, or the box is too small for the cut-off.
    """
    cells = round((molecules / 4) ** (1 / 3))
    if molecules != 4 * cells**3 or box_of(molecules) < 2 * CUT_OFF:
        raise BadInput(f"molecules must be 4·k³ with k from 3, such as 256, 500 or 2048, got {molecules}")
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3), axis=-1).reshape(-1, 1, 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    places = (corners + basis).reshape(-1, 3) * (box_of(molecules) / cells)
    shaken = places.T + 0.05 * rng.standard_normal((3, molecules))
    velocities = np.sqrt(TEMPERATURE) * rng.standard_normal((3, molecules))
    return shaken.astype(np.float32), velocities.astype(np.float32)


def _gravitating(positions: np.ndarray, velocities: np.ndarray) -> Conserved:
    bodies = positions.shape[1]
    distances = np.sqrt((separations(positions) ** 2).sum(axis=0) + SOFTENING**2)
    pairs = 1 / distances[np.triu_indices(bodies, 1)]
    return _mechanics(velocities / bodies, velocities, -pairs.sum() / bodies**2)


def _attracting(positions: np.ndarray, velocities: np.ndarray) -> Conserved:
    """The potential is shifted to be continuous at the cut-off."""
    apart = nearest_images(np, separations(positions), box_of(positions.shape[1]))
    cubes = _inverse_squares(np, apart)[np.triu_indices(positions.shape[1], 1)] ** 3
    pairs = np.where(cubes > 0, 4 * (cubes**2 - cubes) - 4 * (CUT_OFF**-12 - CUT_OFF**-6), 0)
    return _mechanics(velocities, velocities, pairs.sum())


def _mechanics(momenta: np.ndarray, velocities: np.ndarray, potential: float) -> Conserved:
    """Return momentum and energy; what they are measured by is not zero where they are."""
    kinetic = float((momenta * velocities).sum()) / 2
    return {
        "momentum": (momenta.sum(axis=1), float(np.abs(momenta).sum())),
        "energy": (kinetic + potential, kinetic + abs(potential)),
    }


def _by_particle(state: Any) -> Any:
    return state.T


def _interactions(particles: int) -> int:
    return particles * particles * (STEPS + 1)


N_BODY = Simulation(
    initial=cluster,
    advance=lambda xp, positions, velocities: verlet(xp, positions, velocities, gravity, BODIES_TIME_STEP),
    conserved=_gravitating,
    tolerance=TOLERANCE,
    work=_interactions,
    operations=lambda bodies: GRAVITY * _interactions(bodies),
    saving=2,  # every force acts on both bodies
    small=512,
    items_of=_by_particle,
)
LENNARD_JONES = Simulation(
    initial=liquid,
    advance=lambda xp, positions, velocities: verlet(xp, positions, velocities, attraction, MOLECULES_TIME_STEP),
    conserved=_attracting,
    tolerance=TOLERANCE,
    work=_interactions,
    operations=lambda molecules: ATTRACTION * molecules * NEIGHBOURS * (STEPS + 1),
    saving=2,
    small=512,
    items_of=_by_particle,
)
