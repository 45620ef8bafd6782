"""Arrays record every operation of a NumPy program, and change nothing."""

from itertools import count
from typing import Any

import numpy as np
import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench import ArrayProgram
from accelbench.core import Setting, find_workload
from accelbench.errors import Unavailable
from accelbench.explain.array_profile import ArrayPass, profile_array_program, profile_workload, record_pass
from accelbench.explain.causes import find_causes
from accelbench.explain.parts import plan_parts
from accelbench.explain.profiler_passes import time_steps
from accelbench.explain.recording_array import RecordingArray, RecordingNamespace


def step(xp, left, right):
    """A product, elementwise operations, an assignment, and a loop that Python runs."""
    product = left @ right
    inner = xp.sqrt(xp.abs(product)) * 2.0
    result = xp.zeros_like(inner)
    result[1:] = inner[1:] + 1
    total = 0.0
    for number in range(20_000):
        total += number * 1e-9
    return result + total, xp.sum(inner, axis=0)


def build() -> ArrayProgram:
    rng = np.random.default_rng(0)
    return ArrayProgram(step=step, arrays=(rng.random((32, 32)), rng.random((32, 32))), items=32)


def test_a_recorded_program_computes_the_same() -> None:
    program = build()
    recorder = ArrayPass()
    recording = [RecordingArray.of(array, recorder) for array in program.arrays]
    for found, expected in zip(program.step(np, *recording), program.step(np, *program.arrays), strict=True):
        assert np.array_equal(np.asarray(found), expected)
    assert recorder.calls == {
        "matmul": 1,
        "absolute": 1,
        "sqrt": 1,
        "multiply": 1,
        "zeros_like": 1,
        "add": 2,
        "assignment": 1,
        "sum": 1,
    }


def test_methods_parts_by_arrays_and_new_arrays_are_operations_too() -> None:
    recorder = ArrayPass()
    array = RecordingArray.of(np.arange(12.0).reshape(3, 4), recorder)
    xp = RecordingNamespace(np, recorder)
    made = xp.zeros(4) + array.astype(np.float32).T.reshape(-1)[:4] + array[[0, 2]].sum(axis=0) + array[0].copy()
    assert isinstance(made, RecordingArray)
    assert recorder.calls == {"zeros": 1, "astype": 1, "indexing": 1, "copy": 1, "add.reduce": 1, "add": 3}


def test_what_is_changed_in_its_place_is_assigned_to_itself_which_moves_nothing() -> None:
    recorder = ArrayPass()
    array = RecordingArray.of(np.zeros((4, 4)), recorder)
    array[1:-1, 1:-1] += 1.0
    assert recorder.calls == {"add": 1, "assignment": 1}
    assert recorder.moved_bytes["assignment"] == recorder.operations["assignment"] == 0
    array[:2] = array[2:]  # other elements of the same memory
    array[[0, 1]] += 1.0  # the copy of a part
    assert recorder.moved_bytes["assignment"] == 2 * 2 * 8 * 8
    assert recorder.precisions["assignment"] == "fp64"


def test_every_operation_has_its_operations_and_bytes() -> None:
    profile = profile_array_program(build, Setting(), {})
    found = {each.name: each for each in profile.operators}
    assert found["matmul"].operations == 2 * 32**3
    assert found["multiply"].moved_bytes == 2 * 8 * 32**2
    assert found["sqrt"].precision == "fp64"


@pytest.mark.parametrize(("faster", "is_slowed"), [(1, False), (1000, True)])
def test_the_shares_of_operations_that_recording_slows_down_add_up_to_all_of_the_time(
    monkeypatch: pytest.MonkeyPatch, faster: int, is_slowed: bool
) -> None:
    monkeypatch.setattr(
        "accelbench.explain.array_profile.time_steps", lambda *given: (time_steps(*given)[0] / faster, 0.0)
    )
    profile = profile_array_program(build, Setting(), {})
    shares = [each.share.share for each in profile.operators if not each.is_function]
    assert (sum(shares) == pytest.approx(1.0)) == is_slowed
    assert ("they take longer together than the program does" in profile.caveat) == is_slowed


def test_one_disturbed_pass_does_not_show_that_recording_slows_operations_down(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()

    def record(*given: Any) -> ArrayPass:
        found = record_pass(*given)
        if next(numbers) == 2:
            found.seconds.update({name: 1000 * spent_s for name, spent_s in found.seconds.items()})
        return found

    monkeypatch.setattr("accelbench.explain.array_profile.record_pass", record)
    assert "they take longer together" not in profile_array_program(build, Setting(), {}).caveat


def test_python_that_takes_most_of_the_time_is_named_with_its_line() -> None:
    profile = profile_array_program(build, Setting(), {})
    assert profile.outside is not None
    assert profile.outside.share > 0.5
    assert f"step (test_array_profile.py:{step.__code__.co_firstlineno})" in {each.name for each in profile.operators}


def test_time_of_operations_that_no_array_records_is_not_said_to_be_pythons() -> None:
    def draw(xp, array):
        return xp.maximum(np.random.default_rng(0).standard_normal((10_000, 32)).max(axis=0), array)

    def integrate(_, array):
        grid = np.linspace(0.0, 1.0, 1_000_000)
        return array * np.sum(np.exp(grid))

    for step_of_program in (draw, integrate):
        program = ArrayProgram(step=step_of_program, arrays=(np.ones(32),))
        profile = profile_array_program(lambda program=program: program, Setting(), {})
        assert profile.outside is not None
        assert profile.outside.share > 0.5
        assert not profile.outside_is_python
        assert [cause.code for cause in find_causes(profile, [], [])] == []
    assert profile_array_program(build, Setting(), {}).outside_is_python


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_technique_shows_in_the_precision(dtype: str) -> None:
    profile = profile_array_program(build, Setting(), {"dtype": dtype})
    product = next(each for each in profile.operators if each.name == "matmul")
    assert product.precision == {"float64": "fp64", "float32": "fp32"}[dtype]


def test_what_computes_in_float64_is_worth_computing_in_float32() -> None:
    def build() -> ArrayProgram:
        return ArrayProgram(step=lambda xp, array: xp.sqrt(array), arrays=(np.ones(100_000),))

    parts = dict(plan_parts(profile_array_program(build, Setting(), {})))
    assert parts["float64"] == {"dtype": "float32"}
    assert "float64" not in dict(plan_parts(profile_array_program(build, Setting(), {"dtype": "float32"})))


@pytest.fixture
def quick(monkeypatch):
    """Profiles that repeat little."""
    monkeypatch.setattr("accelbench.explain.profiler_passes.TIMED_S", 0.01)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("name", "levels", "options", "operators"),
    [
        ("vector-add", {}, {"elements": 1000}, {"add": 1}),
        ("heat", {}, {"elements": 1024}, {"roll": 32, "add": 32, "multiply": 16, "subtract": 8}),
        ("monte-carlo", {}, {"elements": 1024}, {"random": 2, "exp": 1, "mean": 1}),
        ("gaussian-blur", {}, {}, {"gaussian_filter": 1}),
        ("distance-matrix", {"vectorise": "array"}, {}, {"subtract": 1, "multiply": 1, "sum": 1, "sqrt": 1}),
        ("polynomial", {"expression_compiler": "numexpr"}, {"elements": 1000}, {"polynomial, fused": 1}),
    ],
)
def test_a_workload_of_the_suite_is_recorded_through_its_array_library(name, levels, options, operators):
    profile = profile_workload(find_workload(name), Setting(), levels, options)
    calls = {each.name: each.calls for each in profile.operators}
    assert {operator: calls.get(operator) for operator in operators} == operators
    assert profile.items > 0


@pytest.mark.usefixtures("quick")
def test_a_workload_whose_arrays_no_library_hands_out_says_so():
    with pytest.raises(Unavailable, match="no array operation of ladder-chain can be recorded"):
        profile_workload(find_workload("ladder-chain"), Setting(), {}, {})


@pytest.mark.usefixtures("quick")
def test_libraries_are_as_before_once_a_workload_is_profiled():
    profile_workload(find_workload("vector-add"), Setting(), {}, {"elements": 1000})
    arm = find_workload("vector-add").build(Setting(), elements=1000)
    assert type(arm.step()) is np.ndarray


VIEWS = {
    "reshape": lambda xp, array: xp.reshape(array, (4, 3)),
    "transpose": lambda xp, array: xp.transpose(array),
    "broadcast_to": lambda xp, array: xp.broadcast_to(array, (5, 3, 4)),
    "expand_dims": lambda xp, array: xp.expand_dims(array, 0),
    "ravel": lambda xp, array: xp.ravel(array),
    "split": lambda xp, array: xp.split(array, 3),
    "asarray": lambda xp, array: xp.asarray(array),
    "astype": lambda _, array: array.astype("float64", copy=False),
}
COPIES = {
    "ravel": lambda xp, array: xp.ravel(array.T),
    "reshape": lambda xp, array: xp.reshape(array.T, (2, 6)),
    "asarray": lambda xp, array: xp.asarray(array, dtype="float32"),
    "clip": lambda xp, array: xp.clip(array, 0, 1, array),
    "cumsum": lambda xp, array: xp.cumsum(array, axis=0, out=array),
    "nan_to_num": lambda xp, array: xp.nan_to_num(array, copy=False),
    "add": lambda _, array: array.__iadd__(1.0),
}


@pytest.mark.parametrize(
    ("step", "moves"),
    [*((each, False) for each in VIEWS.values()), *((each, True) for each in COPIES.values())],
    ids=[*VIEWS, *(f"{name}, which computes" for name in COPIES)],
)
def test_a_function_that_returns_a_view_moves_no_bytes(step, moves):
    found = record_pass(step, np, (np.ones((3, 4)),))
    assert sum(found.calls.values()) == 1
    assert (sum(found.moved_bytes.values()) > 0, sum(found.operations.values()) > 0) == (moves, moves)


def test_an_operation_that_first_returns_a_view_and_then_a_copy_counts_the_copy_with_its_precision():
    array = np.ones((3, 4))
    found = record_pass(lambda xp, array: (xp.ravel(array), xp.ravel(array.T)), np, (array,))
    assert (found.calls["ravel"], found.moved_bytes["ravel"]) == (2, 2 * array.nbytes)
    assert found.precisions["ravel"] == "fp64"
