"""An error that the norm over all hides is seen in its slice, and honest rounding is no such error."""

import math

import numpy as np
import pytest
from rounded import COMPUTED, Round, computed, to_bfloat16, to_float16, to_float32

from accelbench.core.verification import find_excess_error, measure_error, relative_error
from accelbench.schema.reasons import reason

TOLERANCES = {to_bfloat16: 5e-2, to_float16: 2e-2, to_float32: 1e-4}


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape)


@pytest.mark.parametrize(
    ("shape", "wrong", "tolerance", "place"),
    [
        ((2000, 30), np.s_[7], 5e-2, "output[7]"),
        ((2000, 30), np.s_[1999], 5e-2, "output[1999]"),
        ((30, 2000), np.s_[:, 1999], 5e-2, "output[:, 1999]"),
        ((5, 400, 6, 10), np.s_[:, 3], 8e-2, "output[:, 3]"),
        ((2, 3, 2000, 8), np.s_[:, :, 100], 5e-2, "output[:, :, 100]"),
        ((1, 2000, 70), np.s_[0, 10], 5e-2, "output[:, 10]"),
        ((100_000,), np.s_[77], 1e-2, "output[77]"),
        ((3_000_001,), np.s_[500], 3e-3, "output[498:501]"),
        ((1000, 1000), np.s_[500, 40], 5e-3, "output[500]"),
    ],
)
def test_a_wrong_slice_is_named_although_the_norm_over_all_hides_it(
    shape: tuple[int, ...], wrong: tuple[slice | int, ...], tolerance: float, place: str
) -> None:
    expected = drawn(*shape)
    expected[wrong] = np.abs(expected[wrong]) + 0.5
    output = expected.copy()
    output[wrong] = 0
    error = measure_error([output], [expected])
    assert error.over_all < tolerance < error.relative
    found = find_excess_error(error.relative, tolerance, "the baseline's", ([output], [expected]))
    assert found is not None
    assert (found.code, found.values["place"]) == ("slice-too-far", place)
    assert "hides it" in str(found)


def test_a_wrong_column_of_small_numbers_beside_large_ones_is_seen() -> None:
    expected = drawn(1000, 2) * [1e6, 1.0]
    output = to_float32(expected)
    output[:, 1] = 0
    assert measure_error([output], [expected]).over_all < 1e-5
    assert relative_error([output], [expected]) > 1e-2


def test_a_wrong_tensor_of_many_is_seen() -> None:
    expected = [drawn(30, 40) * 1000 for _ in range(50)]
    output = [*expected[:-1], expected[-1][::-1]]
    assert relative_error(output, expected) > 1


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("rounded", TOLERANCES, ids=lambda rounded: rounded.__name__)
@pytest.mark.filterwarnings("ignore:overflow")
def test_rounding_after_every_operation_is_no_wrong_slice(name: str, rounded: Round) -> None:
    for seed in range(20):
        output, expected = computed(name, seed, rounded)
        error = measure_error([output], [expected])
        assert error.in_slice / error.allowance < TOLERANCES[rounded] / 4
        assert error.in_slice / error.allowance < 2 * error.over_all


@pytest.mark.parametrize("shape", [(300,), (50, 20), (4, 6, 30), (1000, 2)])
@pytest.mark.parametrize("spread", ["with each slice", "evenly"])
def test_of_honest_errors_as_large_as_the_tolerance_no_slice_is_too_far(shape: tuple[int, ...], spread: str) -> None:
    rng, tolerance = np.random.default_rng(len(shape)), 1e-2
    for _ in range(300):
        expected = rng.normal(size=shape) * 10 ** rng.uniform(-2, 2, shape[-1])
        scale = np.abs(expected) if spread == "with each slice" else np.sqrt(np.mean(expected**2))
        error = measure_error([expected + tolerance * scale * rng.normal(size=shape)], [expected])
        assert error.in_slice <= tolerance * error.allowance


def test_an_allowance_shrinks_with_the_elements_of_a_slice() -> None:
    expected = drawn(50, 10)
    output = expected.copy()
    output[0, 0] += 1
    narrow = measure_error([output], [expected])
    wide = measure_error([np.tile(output, 1000)], [np.tile(expected, 1000)])
    assert 3 < wide.allowance < narrow.allowance < 20


@pytest.mark.parametrize(
    ("output", "expected", "error"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], 0),
        ([np.nan, 1.0], [np.nan, 1.1], 1 / 11),
        ([-np.inf, 1.0], [-np.inf, 1.0], 0),
        ([-np.inf, 1.0], [np.inf, 1.0], math.inf),
        ([np.nan, 1.0], [0.0, 1.0], math.inf),
        ([0.0, 1.0], [np.nan, 1.0], math.inf),
        ([1e300, 1e300], [1e300, 1.1e300], 0.1 / math.hypot(1, 1.1)),
        ([1e-300, 1e-300], [1e-300, 1.1e-300], 0.1 / math.hypot(1, 1.1)),
        ([1e-9, 0.0], [0.0, 0.0], 1e-9),
        ([], [], 0),
        (["a", "b", "c", "d"], ["a", "b", "c", "d"], 0),
        (["a", "b", "c", "d"], ["a", "b", "c", "e"], 0.25),
        (["1", "2"], [1.0, 2.0], math.inf),
        (np.array(["2026-01-01", "NaT"], "M8[D]"), np.array(["2026-01-01", "NaT"], "M8[s]"), 0),
        (np.array(["2026-01-01", "NaT"], "M8[D]"), np.array(["2026-01-02", "NaT"], "M8[D]"), 0.5),
        (np.array(["2026-01-01"], "M8[D]"), np.array(["2026-01-01"]), 1),
        (np.array([b"a", None], object), np.array([b"a", None], object), 0),
        ([1 + 1j], [1 + 1j], 0),
        ([True, False], [True, True], 1 / math.sqrt(2)),
        (np.uint8([1, 0]), np.uint8([0, 1]), math.sqrt(2)),
    ],
)
@pytest.mark.filterwarnings("error")
def test_values_of_any_kind_are_compared_for_what_they_are(output: object, expected: object, error: float) -> None:
    assert relative_error([np.asarray(output)], [np.asarray(expected)]) == pytest.approx(error)


def test_a_reason_without_the_outputs_names_no_slice() -> None:
    assert find_excess_error(0.5, 0.1, "the baseline's") == reason(
        "too-far", expected="the baseline's", error=0.5, tolerance=0.1
    )


def described(output: list[np.ndarray], expected: list[np.ndarray]) -> str:
    error = relative_error(output, expected)
    return str(find_excess_error(error, 1e-4, "the baseline's", (output, expected)) or "")


def scalars(*values: float) -> list[np.ndarray]:
    return [np.asarray(value) for value in values]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (scalars(1, 4, 9), [np.array([1.0, 4, 9])]),
        (scalars(1, 4, 9, 16), [np.array([[1.0, 4], [9, 16]])]),
        ([np.ones(3), np.ones(3)], [np.ones((2, 3))]),
        ([np.array([1.0, 2]), np.array([3.0, 4])], [np.array([1.0, 2, 3, 4])]),  # complex numbers
        ([*scalars(1, 2), np.ones(5)], [np.array([1.0, 2]), np.ones(5)]),
        (scalars(7), [np.array([7.0])]),
    ],
)
def test_a_list_of_numbers_equals_the_array_of_them(output: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert relative_error(output, expected) == relative_error(expected, output) == 0
    wrong = [*output[:-1], output[-1] * 2]
    assert relative_error(wrong, expected) > 0.1
    assert relative_error(expected, wrong) > 0.1


@pytest.mark.parametrize(
    ("output", "expected", "difference"),
    [
        ([np.ones((3, 1))], [np.ones(3)], "the output has the shape (3, 1), and the baseline's has the shape (3,)"),
        ([np.ones(3)], [np.ones((1, 3))], "the output has the shape (3,), and the baseline's has the shape (1, 3)"),
        (scalars(1, 2), [np.ones(3)], "the output has 2 values, and the baseline's has the shape (3,)"),
        ([np.ones(2)] * 2, [np.ones((3, 2))], "the output has 2 arrays, and the baseline's has the shape (3, 2)"),
        (
            [np.ones(2), np.ones(3)],
            [np.ones(2)] * 2,
            "output[1] has the shape (3,), and the baseline's has the shape (2,)",
        ),
        (scalars(1, 2), scalars(1, 2, 3), "the output has 2 values, and the baseline's has 3 values"),
        ([np.ones(0)], scalars(1), "the output has the shape (0,), and the baseline's has the shape ()"),
    ],
)
def test_other_shapes_are_named(output: list[np.ndarray], expected: list[np.ndarray], difference: str) -> None:
    assert relative_error(output, expected) == math.inf
    assert described(output, expected) == difference
