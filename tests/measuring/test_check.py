"""Outputs are checked for themselves and against each other."""

import numpy as np
import pytest

from harness.measuring.check import fault, identical, relative_error, too_far

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
    ("output", "sentence"),
    [
        ([], "returned no output"),
        ([np.empty(0)], "empty"),
        ([np.array([1.0, np.nan])], "NaN"),
        ([np.array([np.inf])], "infinity"),
        ([np.zeros(3)], "zero everywhere"),
    ],
)
def test_an_output_that_cannot_be_right_is_named(output: list[np.ndarray], sentence: str) -> None:
    assert sentence in str(fault(output))


def test_a_sound_output_has_no_fault() -> None:
    assert fault([np.array([0.0, 1.0])]) is None


def test_only_an_error_over_its_tolerance_is_too_far() -> None:
    assert too_far(0.01, 0.02, "the baseline's") is None
    assert (
        too_far(0.03, 0.02, "the baseline's")
        == "the output is off the baseline's by 0.0300 relative, 0.0200 is allowed"
    )
    assert too_far(float("nan"), 0.02, "the baseline's") is not None
