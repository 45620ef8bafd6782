"""Where the time goes: every second is counted once."""

from contextlib import suppress

from fake_device import FakeClock

from accelbench.measuring.trial_result import TimeLedger


def test_what_is_spent_within_a_kind_is_not_counted_around_it_too() -> None:
    clock = FakeClock()
    spending = TimeLedger(clock)
    with spending.charge("price passes"):
        clock.advance(1.0)
        with spending.charge("build"):
            clock.advance(2.0)
        clock.advance(4.0)
    clock.advance(8.0)
    assert spending.total() == {"price passes": 5.0, "build": 2.0, "overhead": 8.0}


def test_an_error_ends_its_kind() -> None:
    clock = FakeClock()
    spending = TimeLedger(clock)
    with suppress(ValueError), spending.charge("build"):
        clock.advance(1.0)
        raise ValueError
    clock.advance(2.0)
    assert spending.total() == {"build": 1.0, "overhead": 2.0}


def test_seconds_that_a_worker_told_apart_are_counted_by_its_kinds() -> None:
    clock = FakeClock()
    spending = TimeLedger(clock)
    before = spending.total()
    with spending.charge("ceilings"):
        clock.advance(10.0)
        spending.add({"framework import": 3.0})
    clock.advance(5.0)
    spending.add({"timed blocks": 3.5, "overhead": 0.5})
    assert spending.since(before) == {"ceilings": 7.0, "framework import": 3.0, "timed blocks": 3.5, "overhead": 1.5}


def test_what_was_spent_before_is_left_out() -> None:
    clock = FakeClock()
    spending = TimeLedger(clock)
    with spending.charge("checks"):
        clock.advance(1.0)
    before = spending.total()
    clock.advance(2.0)
    assert spending.since(before) == {"overhead": 2.0}
