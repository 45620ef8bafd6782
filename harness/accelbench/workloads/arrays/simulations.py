"""Simulations of grids and particles, whose conservation laws are checked, and a Monte Carlo integral of known value.

Arrays of particles have the shape ``(3, particles)``. Their time is stepped by velocity Verlet (Swope et al. 1982,
J. Chem. Phys. 76, 637), which is the leapfrog of astronomy: it keeps momentum up to rounding, energy up to the square
of the time step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import erf, isqrt, pi, sqrt
from typing import Any

import numpy as np

from accelbench.core import Arm, Setting, workload
from accelbench.core.arm import no_arrays
from accelbench.core.verification import Conserved, find_broken_law, find_distance
from accelbench.errors import BadInput
from accelbench.schema.reasons import Reason
from accelbench.workloads.arrays.libraries import INPUT_SETS, ArrayLibrary, Draw, Operands, check_elements, find_library


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A step is a fixed number of time steps from one of a few initial states, so that every step is equal work.

    ``initial`` draws a state of a number of elements. ``advance`` takes a namespace and a state, and returns the state
    after the time steps. ``conserved`` computes, in float64, the quantities that must not change by more than their
    ``tolerance``. ``work`` takes the number of elements and returns a step's items, ``operations`` the least number of
    operations; a known algorithm does with ``saving`` times fewer. ``items_of`` returns a view of an array whose first
    axis counts the items that a program might skip. Up to ``small`` elements fit a small machine.
    """

    initial: Callable[[np.random.Generator, int], Operands]
    advance: Callable[..., tuple[object, ...]]
    conserved: Callable[..., Conserved]
    tolerance: Mapping[str, float]
    work: Callable[[int], int]
    operations: Callable[[int], float]
    saving: float = 1
    small: int
    items_of: Callable[[Any], Any] = lambda array: array

    def arm(self, setting: Setting, elements: int, array_library: str) -> Arm:
        """Return the arm that simulates with one of the array libraries, and refuses a step that breaks a law."""
        check_elements(setting, elements, small=self.small)
        library = find_library(array_library)
        rng = np.random.default_rng(setting.seed)
        states = [self.initial(rng, elements) for _ in range(INPUT_SETS)]

        def verify(output: Sequence[np.ndarray]) -> Reason | None:
            before = self.conserved(*(part.astype(np.float64) for part in states[0]))
            return find_broken_law(before, self.conserved(*output), self.tolerance)

        return library.arm(
            lambda *state: self.advance(library.xp, *state),
            states,
            items=self.work(elements),
            verify=verify,
            operations=self.operations(elements),
            saving=self.saving,
            output_bytes=sum(part.nbytes for part in states[0]),
            items_of=self.items_of,
        )


STENCIL_STEPS = 8
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
    for _ in range(STENCIL_STEPS):
        temperature = temperature + DIFFUSION * (around(xp, temperature) - 4 * temperature)
    return (temperature,)


def flow(xp: Any, water: Any) -> tuple[Any]:
    """Return depth and momenta after the time steps, shape ``(3, side, side)``.

    Lax–Friedrichs, in conservation form: LeVeque 2002, Finite Volume Methods for Hyperbolic Problems, section 4.6; the
    fluxes of depth and momentum are those of section 13.1.
    """
    for _ in range(STENCIL_STEPS):
        along_x, along_y = fluxes(xp, water)
        outflow = across(xp, along_x, -1) + across(xp, along_y, -2)
        water = around(xp, water) / 4 - outflow * (COURANT / 2)
    return (water,)


def fluxes(xp: Any, water: Any) -> tuple[Any, Any]:
    """Return the fluxes of depth and of both momenta along x and along y."""
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
    """Return the sums over the grid, and the scale of a relative change."""
    return field.sum(axis=(-2, -1)), float(np.abs(field).sum())


def _updates(cells: int) -> int:
    return isqrt(cells) ** 2 * STENCIL_STEPS


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


PARTICLE_STEPS = 5

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
    for _ in range(PARTICLE_STEPS):
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
    """Return the vector from every particle to every other, shape ``(3, particles, particles)``."""
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
    """Return momentum and energy, each with the scale of a relative change, which is not zero where they are."""
    kinetic = float((momenta * velocities).sum()) / 2
    return {
        "momentum": (momenta.sum(axis=1), float(np.abs(momenta).sum())),
        "energy": (kinetic + potential, kinetic + abs(potential)),
    }


def _by_particle(state: Any) -> Any:
    return state.T


def _interactions(particles: int) -> int:
    return particles * particles * (PARTICLE_STEPS + 1)


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
    operations=lambda molecules: ATTRACTION * molecules * NEIGHBOURS * (PARTICLE_STEPS + 1),
    saving=2,
    small=512,
    items_of=_by_particle,
)


EXACT = pi / 4 * erf(1) ** 2
VARIANCE = 0.0461  # the mean of |∇f|² / 12
MOST_SAMPLES = 1_000_000
SAMPLE_OPERATIONS = 10  # per sample, beside those that draw it


@workload("numpy", "cupy", "torch", unit="sample")
def monte_carlo(setting: Setting, *, elements: int = 1_000_000, array_library: str = "numpy") -> Arm:
    """Integral of exp(−x² − y²) over the unit square, by one random point in each of a grid of small squares.

    Stratified so (Owen 2013, Monte Carlo theory, methods and examples, chapter 10), it errs by so little that a wrong
    generator shows. With a round trip, the result alone crosses the link.
    """
    side = isqrt(check_elements(setting, elements, small=MOST_SAMPLES))
    return sampled(find_library(array_library), setting.seed, side)


def sampled(library: ArrayLibrary, seed: int, side: int) -> Arm:
    """Return the arm that draws ``side`` × ``side`` samples in every step, and refuses a wrong estimate."""
    xp, corners = library.xp, np.arange(side, dtype=np.float32)
    draw: Draw

    def estimate(corners: Any) -> Any:
        x = (corners + draw((side, side))) / side
        y = (corners[:, None] + draw((side, side))) / side
        return xp.mean(xp.exp(-x * x - y * y))

    def reset() -> None:
        nonlocal draw
        draw = library.uniform(seed)

    def verify(output: Sequence[np.ndarray]) -> Reason | None:
        return find_distance(output[0], EXACT, tolerance(side), "the known integral")

    reset()
    samples = side * side
    arm = library.arm(
        estimate, [(corners,)], items=samples, verify=verify, operations=SAMPLE_OPERATIONS * samples, output_bytes=0
    )
    return replace(arm, reset=reset, inputs=no_arrays)  # the step itself draws the random numbers


def tolerance(side: int) -> float:
    """Return six standard deviations of the estimate's relative error, and what float32 rounds.

    In a small square the integrand varies by its gradient: var f ≈ |∇f|² / (12·side²), whose mean over the unit
    square is ``VARIANCE / side²``. The estimate is the mean of side² such samples.
    """
    return 6 * sqrt(VARIANCE) / side**2 / EXACT + 2e-6
