"""Where the time goes: every second is counted once."""

from contextlib import suppress

from harness.frameworks.fake import FakeClock
from harness.measuring.spending import Spending


def test_what_is_spent_within_a_kind_is_not_counted_around_it_too() -> None:
    clock = FakeClock()
    spending = Spending(clock)
    with spending.on("price passes"):
        clock.advance(1.0)
        with spending.on("build"):
            clock.advance(2.0)
        clock.advance(4.0)
    clock.advance(8.0)
    assert spending.so_far() == {"price passes": 5.0, "build": 2.0, "harness": 8.0}


def test_an_error_ends_its_kind() -> None:
    clock = FakeClock()
    spending = Spending(clock)
    with suppress(ValueError), spending.on("build"):
        clock.advance(1.0)
        raise ValueError
    clock.advance(2.0)
    assert spending.so_far() == {"build": 1.0, "harness": 2.0}


def test_seconds_that_a_worker_told_apart_are_counted_by_its_kinds() -> None:
    clock = FakeClock()
    spending = Spending(clock)
    before = spending.so_far()
    with spending.on("ceilings"):
        clock.advance(10.0)
        spending.add({"framework import": 3.0})
    clock.advance(5.0)
    spending.add({"timed blocks": 3.5, "harness": 0.5})
    assert spending.since(before) == {"ceilings": 7.0, "framework import": 3.0, "timed blocks": 3.5, "harness": 1.5}


def test_what_was_spent_before_is_left_out() -> None:
    clock = FakeClock()
    spending = Spending(clock)
    with spending.on("checks"):
        clock.advance(1.0)
    before = spending.so_far()
    clock.advance(2.0)
    assert spending.since(before) == {"harness": 2.0}
