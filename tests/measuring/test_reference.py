"""Work whose length never changes, by one core and by several at once."""

import os

import pytest

from harness.measuring.reference import Reference


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be held to one core here")
def test_two_threads_on_one_core_are_worth_one() -> None:
    place = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    assert 0.3 < Reference().cores_worth([place, place]) < 1.5
    assert os.sched_getaffinity(0) == before
