"""What a step may return, and what the checks get of it."""

import numpy as np
import pytest

from accelbench.errors import BadInput
from accelbench.frameworks import host


def test_arrays_are_found_in_nested_tuples_and_mappings_in_their_order() -> None:
    output = (np.float32([1, 2]), {"loss": 3.0, "parts": [np.int64(4), None]})
    assert [array.tolist() for array in host.arrays(output)] == [[1.0, 2.0], 3.0, 4.0, None]


def test_everything_arrives_in_float64() -> None:
    output = (np.ones(2, np.float16), np.ones(2, bool), 1, np.complex64(1 + 2j))
    assert {array.dtype for array in host.arrays(output)} == {np.dtype(np.float64)}


def test_a_complex_array_keeps_both_of_its_parts() -> None:
    (array,) = host.arrays(np.array([[1 + 2j, 3 - 4j]], np.complex64))
    assert array.tolist() == [[1, 2, 3, -4]]


def test_an_output_buffer_that_is_written_again_does_not_change_what_was_kept() -> None:
    buffer = np.zeros(3)
    (kept,) = host.arrays(buffer)
    buffer[:] = 7
    assert kept.tolist() == [0, 0, 0]


def test_what_is_no_number_is_named_in_one_line() -> None:
    output = object()
    with pytest.raises(BadInput, match="returned an object, which cannot be checked; return an array"):
        host.arrays(output)
