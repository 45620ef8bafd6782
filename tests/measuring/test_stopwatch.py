"""What a block's two clock readings hold, and what they do not."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.experiment import Arm
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.stopwatch import Stopwatch


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def device(clock: FakeClock) -> FakeDevice:
    return FakeDevice(clock)


@pytest.fixture
def stopwatch(clock: FakeClock, device: FakeDevice) -> Stopwatch:
    return Stopwatch(clock, device.synchronize)


def test_a_block_lasts_until_the_device_has_finished(stopwatch: Stopwatch, device: FakeDevice) -> None:
    assert stopwatch.block_s(Arm(step=lambda: device.launch(0.005)), 10) == pytest.approx(0.05, rel=0.01)


def test_work_that_was_launched_before_is_not_counted(stopwatch: Stopwatch, device: FakeDevice) -> None:
    device.launch(7.0)
    assert stopwatch.block_s(Arm(step=lambda: device.launch(0.005)), 1) == pytest.approx(0.005, rel=0.01)


def test_switching_global_state_is_outside_the_clock(stopwatch: Stopwatch, clock: FakeClock) -> None:
    @contextmanager
    def slow_switch() -> Iterator[None]:
        clock.advance(1.0)
        yield
        clock.advance(1.0)

    arm = Arm(step=lambda: clock.advance(0.25)).inside(slow_switch)
    assert stopwatch.block_s(arm, 1) == pytest.approx(0.25, rel=0.01)


def test_the_garbage_collector_rests_inside_a_block_only(stopwatch: Stopwatch) -> None:
    seen: list[bool] = []
    stopwatch.block_s(Arm(step=lambda: seen.append(gc.isenabled())), 1)
    assert seen == [False]
    assert gc.isenabled()


def test_a_block_is_long_enough_to_time(stopwatch: Stopwatch, clock: FakeClock) -> None:
    arm = Arm(step=lambda: clock.advance(1e-6))
    (iterations,) = stopwatch.iterations_per_block([arm], 100e-6)
    assert stopwatch.block_s(arm, iterations) >= 100e-6
    assert iterations <= 1000


def test_a_block_is_long_beside_the_waiting_for_the_device(clock: FakeClock) -> None:
    arm = Arm(step=lambda: clock.advance(1e-6))
    stopwatch = Stopwatch(clock, lambda: clock.advance(10e-6))
    (iterations,) = stopwatch.iterations_per_block([arm], 100e-6)
    assert stopwatch.block_s(arm, iterations) / iterations == pytest.approx(1e-6, rel=0.011)


def test_arms_of_similar_speed_run_equally_many_iterations(stopwatch: Stopwatch, clock: FakeClock) -> None:
    arms = [Arm(step=lambda: clock.advance(1e-6)), Arm(step=lambda: clock.advance(2e-6))]
    first, second = stopwatch.iterations_per_block(arms, 100e-6)
    assert first == second


def test_arms_of_very_different_speed_run_each_their_own(stopwatch: Stopwatch, clock: FakeClock) -> None:
    arms = [Arm(step=lambda: clock.advance(1e-6)), Arm(step=lambda: clock.advance(1e-2))]
    quick, slow = stopwatch.iterations_per_block(arms, 100e-6)
    assert quick > 50
    assert slow == 1
