"""An array program of a user's own runs in every array library, or is refused in one sentence."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench import Arm, ArrayProgram, Setting, array_program
from accelbench.core import AS_IS, Host, Trial, apply_all, find_technique
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import host, load
from accelbench.measuring.applicable import applicable
from accelbench.measuring.checks import output as check

SIDE = 12


def spread(xp: Any, heat: Any, rate: float) -> Any:
    """Return the heat after a step: code that every array library understands."""
    return heat + rate * (xp.roll(heat, 1, axis=0) + xp.roll(heat, -1, axis=0) - 2 * heat)


def spread_in_place(_: Any, heat: Any, rate: float) -> Any:
    heat[1:-1] += rate * (heat[2:] + heat[:-2] - 2 * heat[1:-1])
    return heat


def build() -> ArrayProgram:
    """Heat in a ring."""
    heat = np.random.default_rng(0).random((SIDE, 3))
    return ArrayProgram(step=spread, arrays=(heat, 0.2), items=SIDE)


def with_changes(**changes: Any) -> Callable[[], ArrayProgram]:
    return lambda: replace(build(), **changes)


def arm_of(built: Callable[[], Any] = build, **options: Any) -> Arm:
    return array_program(built).build(Setting(cores=2), **options)


def test_a_step_computes_the_same_in_pytorch_as_in_numpy() -> None:
    expected = spread(np, *build().arrays)
    for library in ("numpy", "torch-cpu"):
        arm = arm_of(array_library=library)
        assert (arm.items, arm.device) == (SIDE, "cpu")
        assert relative_error(check.output_of(arm, load("torch")), [expected]) < 1e-12
    assert isinstance(arm.step(), torch.Tensor)


def test_masked_arrays_keep_their_masks_and_only_numpy_has_them() -> None:
    def step(_: Any, heat: Any) -> Any:
        heat *= 2
        return heat.filled(-1.0).sum()

    gaps = np.ma.masked_greater(np.random.default_rng(0).random(SIDE), 0.5)
    build_masked = with_changes(step=step, arrays=(gaps,))
    arm = arm_of(build_masked)
    first = arm.step()
    (array,) = arm.inputs()
    for place in range(SIDE):
        before = host.item(array, place)
        host.put(array, place, 7.0)
        host.put(array, place, before)
    assert arm.step() == first == step(np, gaps.copy())
    with pytest.raises(Unavailable, match="masked arrays, which no other library has"):
        arm_of(build_masked, array_library="torch-cpu")


def test_a_step_may_begin_without_arrays() -> None:
    def makes_its_own() -> ArrayProgram:
        return ArrayProgram(step=lambda xp: xp.sum(xp.sin(xp.linspace(0.0, 1.0, 100))))

    outputs = [
        check.output_of(arm_of(makes_its_own, array_library=name), load("torch")) for name in ("numpy", "torch-cpu")
    ]
    assert relative_error(*outputs) < 1e-6
    with pytest.raises(Unavailable, match="none of the program's arrays is in float64"):
        arm_of(makes_its_own, dtype="float32")


def draw(xp: Any, heat: Any, rate: float) -> Any:
    return heat + rate * xp.asarray(np.random.default_rng().random(heat.shape))


def draw_from_a_seed(xp: Any, heat: Any, rate: float) -> Any:
    return heat + rate * xp.asarray(np.random.default_rng(0).random(heat.shape))


def test_outputs_of_a_step_that_draws_random_numbers_without_a_seed_are_not_compared() -> None:
    arm = arm_of(with_changes(step=draw))
    assert arm.ignore_output
    (remark,) = arm.remarks
    assert str(remark).startswith("outputs are not compared, since the program's own differs by ")
    seeded = arm_of(with_changes(step=draw_from_a_seed))
    assert (seeded.ignore_output, seeded.remarks) == (False, ())


def test_a_step_that_writes_into_its_arrays_begins_with_the_same_ones_every_time() -> None:
    for library in ("numpy", "torch-cpu"):
        arm = arm_of(with_changes(step=spread_in_place), array_library=library)
        first, second = arm.step(), arm.step()
        assert bool((first == second).all())
        assert relative_error([np.asarray(first)], [np.asarray(arm.inputs()[0])]) > 0.01


def test_single_precision_halves_the_arrays_and_leaves_numbers_as_they_are() -> None:
    arm = arm_of(dtype="float32")
    heat, rate = arm.inputs()
    assert (heat.dtype, rate, arm.step().dtype) == (np.float32, 0.2, np.float32)
    with pytest.raises(Unavailable, match="none of the program's arrays is in float64"):
        arm_of(with_changes(arrays=(np.ones(3, np.float32), 1.0)), dtype="float32")


@pytest.mark.parametrize(
    ("kind", "present", "levels", "refused"),
    [
        (np.float64, ("float64",), (AS_IS, "float32"), {}),
        (np.complex64, ("float32",), (AS_IS,), {}),
        (np.int64, (), (AS_IS,), {"*": "none of the program's arrays is in float64"}),
    ],
)
def test_a_program_has_the_precision_of_its_arrays(
    kind: type, present: tuple[str, ...], levels: tuple[str, ...], refused: dict[str, str]
) -> None:
    built = []

    def build_once() -> ArrayProgram:
        built.append(kind)
        return ArrayProgram(step=lambda _, array: array + array, arrays=(np.ones(3, kind),))

    trial = Trial(framework="numpy", workload=array_program(build_once), arms=({},))
    (dtype,) = [each for each in applicable(trial, Host()) if each.technique == "dtype"]
    assert (dtype.present, dtype.levels, dtype.refused) == (present, levels, refused)
    assert len(built) == 1


def test_techniques_of_array_libraries_apply_and_others_say_why_they_do_not() -> None:
    def built(framework: str, name: str, level: str) -> Arm:
        return apply_all(
            [(find_technique(framework, name), level)],
            lambda **options: array_program(build).build(Setting(), **options),
        )

    assert isinstance(built("torch", "array_library", "torch-cpu").step(), torch.Tensor)
    assert built("numpy", "dtype", "float32").step().dtype == np.float32
    assert built("numpy", "threads", "1").step().shape == (SIDE, 3)
    with pytest.raises(Unavailable, match="has no option 'blocking', so this technique does not apply to it"):
        built("numpy", "blocking", "on")
    with pytest.raises(Unavailable, match="so it is not fused as a whole"):
        built("cupy", "array_library", "fused")


def test_a_function_that_a_library_lacks_leaves_that_library_out() -> None:
    arm = arm_of(with_changes(step=lambda xp, heat, _: xp.gradient(heat, axis=0), arrays=(np.eye(4), 1)))
    assert arm.step().shape == (4, 4)
    missing = with_changes(step=lambda xp, heat, _: xp.apply_along_axis(np.sort, 0, heat))
    with pytest.raises(Unavailable, match=r"the program does not run with PyTorch: AttributeError: .*apply_along_axis"):
        arm_of(missing, array_library="torch-cpu").step()
    with pytest.raises(AttributeError, match="no_such_name"):  # an error of the program itself stays what it is
        arm_of(with_changes(step=lambda xp, *_: xp.no_such_name))


@pytest.mark.skipif(bool(load("cupy").accelerators()), reason="there is a device")
def test_without_a_device_cupy_is_left_out_with_one_sentence() -> None:
    with pytest.raises(Unavailable, match="cupy") as raised:
        arm_of(array_library="resident")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("built", "sentence"),
    [
        (dict, "the function returned a dict; expected an accelbench.ArrayProgram"),
        (with_changes(step=None), "the program's step is None; expected a function of xp and the arrays"),
        (with_changes(arrays=np.ones(3)), "the program's arrays are a ndarray; expected a tuple of NumPy arrays"),
        (
            with_changes(arrays=(torch.ones(3), 1)),
            r"arrays\[0\] of the program is a torch.Tensor; expected a NumPy",
        ),
        (with_changes(step=lambda heat, rate: heat * rate), "step cannot be called with xp and its 2 arrays: too many"),
        (with_changes(step=lambda *_: None), "the program's step returned None; expected the arrays that it computed"),
        (with_changes(items=0), "the program's items must be above 0 and finite, got 0"),
        (with_changes(items=2j), "the program's items must be above 0 and finite, got 2j"),
    ],
)
def test_what_is_no_array_program_is_refused_in_one_sentence(built: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        arm_of(built)
