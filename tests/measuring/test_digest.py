"""What is kept of a course in time."""

from hypothesis import given
from hypothesis import strategies as st

from harness.measuring.digest import STRETCHES, in_order


def test_a_short_course_is_kept_as_it_was():
    assert in_order([0.3, 0.1, 0.2]) == (0.3, 0.1, 0.2)


def test_a_long_course_keeps_its_order_and_its_step():
    kept = in_order([1.0] * 300 + [2.0] * 100)
    assert kept == (1.0,) * 30 + (2.0,) * 10


@given(st.lists(st.floats(1e-9, 1e3), max_size=500))
def test_a_course_stays_small_and_within_what_was_measured(values):
    kept = in_order(values)
    assert len(kept) == min(len(values), STRETCHES)
    assert all(min(values) * 0.999 <= each <= max(values) * 1.001 for each in kept)
