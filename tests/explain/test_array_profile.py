"""Arrays record every operation of a NumPy program, and change nothing."""

import numpy as np
import pytest

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench import ArrayProgram
from accelbench.core import Setting
from accelbench.explain.array_profile import ArrayPass, RecordingArray, profile_array_program


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


def test_every_operation_has_its_operations_and_bytes() -> None:
    profile = profile_array_program(build, Setting(), {})
    found = {each.name: each for each in profile.operators}
    assert found["matmul"].operations == 2 * 32**3
    assert found["multiply"].moved_bytes == 2 * 8 * 32**2
    assert found["sqrt"].precision == "fp64"


def test_python_that_takes_most_of_the_time_is_named_with_its_line() -> None:
    profile = profile_array_program(build, Setting(), {})
    assert profile.outside is not None
    assert profile.outside.share > 0.5
    assert "step (test_array_profile.py:12)" in {each.name for each in profile.operators}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_technique_shows_in_the_precision(dtype: str) -> None:
    profile = profile_array_program(build, Setting(), {"dtype": dtype})
    product = next(each for each in profile.operators if each.name == "matmul")
    assert product.precision == {"float64": "fp64", "float32": "fp32"}[dtype]
