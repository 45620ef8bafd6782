"""Heat and water follow their equations on the grid, and a step that loses any of them is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.arrays.simulations import (
    COURANT,
    DIFFUSION,
    HEAT,
    SHALLOW_WATER,
    STENCIL_STEPS,
    Simulation,
    flow,
    spread,
)

framework = load("torch")


@pytest.mark.parametrize("name", ["heat", "shallow-water"])
def test_numpy_and_pytorch_agree_and_lose_nothing(name: str) -> None:
    arms = [
        find_workload(name).build(Setting(), elements=10_000, array_library=library)
        for library in ("numpy", "torch-cpu")
    ]
    outputs = [check.output_of(arm, framework) for arm in arms]
    assert relative_error(outputs[1], outputs[0]) < 1e-5
    assert [arm.verify(output) for arm, output in zip(arms, outputs, strict=True)] == [None, None]
    assert arms[0].step()[0].dtype == np.float32
    assert arms[0].items == 10_000 * STENCIL_STEPS


@pytest.mark.parametrize("name", ["heat", "shallow-water"])
def test_two_steps_start_from_different_fields(name: str) -> None:
    arm = find_workload(name).build(Setting(), elements=400)
    assert not np.array_equal(arm.step()[0], arm.step()[0])


def test_heat_decays_as_the_eigenvalues_of_the_stencil_say() -> None:
    before = np.random.default_rng(1).random((20, 30))
    waves = (np.cos(2 * np.pi * np.arange(side) / side) for side in before.shape)
    along_y, along_x = waves
    decay = (1 + 2 * DIFFUSION * (along_y[:, None] + along_x - 2)) ** STENCIL_STEPS
    expected = np.fft.ifft2(decay * np.fft.fft2(before)).real
    np.testing.assert_allclose(spread(np, before)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("axis", [1, 2], ids=["y", "x"])
def test_a_small_wave_travels_at_the_speed_of_gravity(axis: int) -> None:
    side = 64
    wave = 1e-4 * np.cos(2 * np.pi * np.arange(side) / side)
    wave = np.broadcast_to(wave if axis == 2 else wave[:, None], (side, side))
    still = np.zeros((side, side))
    water = np.stack([1 + wave, wave, still] if axis == 2 else [1 + wave, still, wave])
    (after,) = flow(np, water)
    profile = np.fft.fft(after[0], axis=axis - 1).sum(axis=2 - axis)[1]
    assert -np.angle(profile) * side / (2 * np.pi) == pytest.approx(COURANT * STENCIL_STEPS, rel=0.01)


@pytest.mark.parametrize(
    ("simulation", "advance", "lost"), [(HEAT, spread, "heat"), (SHALLOW_WATER, flow, "mass")], ids=["heat", "water"]
)
def test_a_border_that_is_never_updated_is_refused(
    simulation: Simulation, advance: Callable[..., Any], lost: str
) -> None:
    def stuck(xp: Any, field: Any) -> Any:
        (after,) = advance(xp, field)
        after[..., 0, :] = field[..., 0, :]
        return (after,)

    arm = replace(simulation, advance=stuck).arm(Setting(), 10_000, "numpy")
    assert f"{lost} is not conserved: it changed by" in str(arm.verify(check.output_of(arm, framework)))


def test_cold_that_flows_in_over_the_border_is_refused() -> None:
    def open_border(_: Any, field: Any) -> Any:
        for _ in range(STENCIL_STEPS):
            wide = np.pad(field, 1)
            around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
            field = field + DIFFUSION * (around - 4 * field)
        return (field,)

    arm = replace(HEAT, advance=open_border).arm(Setting(), 10_000, "numpy")
    assert "heat is not conserved" in str(arm.verify(check.output_of(arm, framework)))
