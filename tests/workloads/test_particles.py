"""Particles move by the forces of their potentials, and a step that breaks a law of mechanics is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Plan, Setting, Trial, Workload, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.reasons import Reason
from accelbench.workloads.arrays.simulations import (
    BODIES_TIME_STEP,
    LENNARD_JONES,
    MOLECULES_TIME_STEP,
    N_BODY,
    PARTICLE_STEPS,
    SOFTENING,
    Simulation,
    attraction,
    gravity,
    separations,
    verlet,
)

framework = load("torch")
SYSTEMS = {
    "n-body": (N_BODY, gravity, BODIES_TIME_STEP),
    "lennard-jones": (LENNARD_JONES, attraction, MOLECULES_TIME_STEP),
}
Acceleration = Callable[[Any, Any], Any]


def verdict(arm: Arm) -> Reason | str | None:
    return arm.verify(check.output_of(arm, framework))


def moved_by(name: str, acceleration: Acceleration) -> Simulation:
    simulation, _, time_step = SYSTEMS[name]
    return replace(simulation, advance=lambda xp, *state: verlet(xp, *state, acceleration, time_step))


@pytest.mark.parametrize("name", SYSTEMS)
def test_numpy_and_pytorch_agree_and_obey_mechanics(name: str) -> None:
    arms = [find_workload(name).build(Setting(), array_library=library) for library in ("numpy", "torch-cpu")]
    expected, output = (check.output_of(arm, framework) for arm in arms)
    assert relative_error(output, expected) < 1e-5
    assert [verdict(arm) for arm in arms] == [None, None]
    assert [part.dtype for part in arms[0].step()] == [np.float32, np.float32]
    assert arms[0].items == 256**2 * (PARTICLE_STEPS + 1)


@pytest.mark.parametrize("name", SYSTEMS)
def test_two_steps_start_from_different_states_and_a_reset_starts_over(name: str) -> None:
    arm = find_workload(name).build(Setting())
    first, second = arm.step(), arm.step()
    assert not np.array_equal(first[0], second[0])
    arm.reset()
    assert np.array_equal(arm.step()[0], first[0])


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_acceleration_is_the_slope_of_the_potential(name: str) -> None:
    simulation, acceleration, _ = SYSTEMS[name]
    positions = simulation.initial(np.random.default_rng(1), 256)[0].astype(float)
    still = np.zeros_like(positions)
    mass = 1 / 256 if name == "n-body" else 1

    def potential(axis: int, particle: int, shift: float) -> float:
        moved = positions.copy()
        moved[axis, particle] += shift
        return float(simulation.conserved(moved, still)["energy"][0])

    expected = acceleration(np, positions)
    for axis, particle in [(0, 3), (1, 100), (2, 255)]:
        slope = (potential(axis, particle, 1e-5) - potential(axis, particle, -1e-5)) / 2e-5
        assert -slope / mass == pytest.approx(expected[axis, particle], rel=1e-4)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_force_of_the_wrong_sign_is_refused(name: str) -> None:
    right = SYSTEMS[name][1]
    wrong = moved_by(name, lambda xp, positions: -right(xp, positions)).arm(Setting(), 256, "numpy")
    assert "energy is not conserved: it changed by" in str(verdict(wrong))


def test_a_body_that_attracts_without_being_attracted_is_refused() -> None:
    def one_sided(_: Any, positions: Any) -> Any:
        distances = np.sqrt((separations(positions) ** 2).sum(axis=0) + SOFTENING**2)
        return (np.triu(1 / distances**3) * separations(positions)).sum(axis=2) / 256

    wrong = moved_by("n-body", one_sided).arm(Setting(), 256, "numpy")
    assert "momentum is not conserved" in str(verdict(wrong))


def test_a_time_stepping_that_gains_energy_is_refused() -> None:
    def euler(xp: Any, positions: Any, velocities: Any) -> Any:
        for _ in range(PARTICLE_STEPS):
            kick = gravity(xp, positions) * BODIES_TIME_STEP
            positions, velocities = positions + velocities * BODIES_TIME_STEP, velocities + kick
        return positions, velocities

    assert "energy is not conserved" in str(verdict(replace(N_BODY, advance=euler).arm(Setting(), 256, "numpy")))


def test_a_wrong_baseline_shows_its_error_instead_of_a_speed() -> None:
    wrong = moved_by("n-body", lambda xp, positions: -gravity(xp, positions))

    def build(setting: Setting, *, array_library: str) -> Arm:
        return wrong.arm(setting, 256, array_library)

    workload = Workload(name="repulsion", frameworks=("torch",), unit="interaction", summary="", builder=build)
    arms = ({"array_library": "numpy"}, {"array_library": "torch-cpu"})
    trial = Trial(framework="torch", workload=workload, arms=arms, plan=Plan(rehearse=True))
    baseline, candidate = TrialRun(trial, framework).run().arms
    assert baseline.outcome == "wrong-output"
    assert "energy is not conserved" in str(baseline.reason)
    assert candidate.outcome == "wrong-output"


@pytest.mark.parametrize("molecules", [300, 32])
def test_molecules_that_do_not_fill_the_lattice_are_refused_with_numbers_that_do(molecules: int) -> None:
    with pytest.raises(BadInput, match=f"such as 256, 500 or 2048, got {molecules}"):
        find_workload("lennard-jones").build(Setting(), elements=molecules)
