"""Outputs are checked for themselves and against each other."""

import numpy as np
import pytest

from accelbench.core.verification import find_excess_error, relative_error
from accelbench.measuring.checks.output import find_invalid_values, identical
from accelbench.schema.reasons import reason

ones = np.ones((2, 3))


def test_equal_outputs_have_no_error() -> None:
    assert relative_error([ones, 2 * ones], [ones, 2 * ones]) == 0


def test_the_error_is_the_worst_arrays_relative_to_its_size() -> None:
    assert relative_error([ones, 100 * ones], [ones, 101 * ones]) == pytest.approx(1 / 101)


def test_another_shape_is_infinitely_wrong() -> None:
    assert relative_error([ones], [ones.T]) == float("inf")
    assert relative_error([ones], [ones, ones]) == float("inf")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ([[1.0, np.nan], [0.0]], True),
        ([[1.0, 2.0], [0.0]], False),
        ([[1.0, np.nan], [1e-300]], False),
        ([[1.0, np.nan]], False),
        ([[1.0, np.nan, 0.0], [0.0]], False),
    ],
)
def test_outputs_are_identical_number_for_number(other: list[list[float]], same: bool) -> None:
    output = [np.array([1.0, np.nan]), np.array([0.0])]
    assert identical(output, [np.array(each) for each in other]) is same


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ([], "no-output"),
        ([np.empty(0)], "empty-output"),
        ([np.array([1.0, np.nan])], "not-finite"),
        ([np.array([np.inf, 0.0])], "not-finite"),
        ([np.zeros(2)], "zero-output"),
    ],
)
def test_an_output_that_cannot_be_right_beside_the_expected_one_is_named(output: list[np.ndarray], code: str) -> None:
    assert find_invalid_values(output, [np.array([0.0, 1.0])]) == reason(code)


@pytest.mark.parametrize(
    "output",
    [
        [np.empty(0)],
        [np.zeros(3)],
        [np.array([-np.inf, 1.0])],
        [np.array(np.nan), np.array(0.5)],
        [np.array(["a", "b"])],
        [np.array([], "datetime64[s]")],
    ],
)
def test_what_no_output_proves_wrong_is_valid_by_itself_and_beside_its_like(output: list[np.ndarray]) -> None:
    assert find_invalid_values(output) is None
    assert find_invalid_values(output, [array.copy() for array in output]) is None


def test_an_output_of_nothing_but_nan_is_wrong_by_itself() -> None:
    assert find_invalid_values([np.full(3, np.nan), np.array(["a"])]) == reason("not-finite")


def test_only_an_error_over_its_tolerance_is_too_large() -> None:
    assert find_excess_error(0.01, 0.02, "the baseline's") is None
    assert find_excess_error(0.03, 0.02, "the baseline's") == reason(
        "too-far", expected="the baseline's", error=0.03, tolerance=0.02
    )
    assert find_excess_error(float("nan"), 0.02, "the baseline's") is not None
