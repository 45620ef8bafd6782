"""How busy a device is by its own clock, on a fake one: what is said, and where nothing can be."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Plan, Trial, Workload
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.roofline.plausibility import check_trial
from accelbench.schema.result import ArmRecord


class WithoutEvents(FakeDevice):
    """A device without a clock of its own."""

    def time_on_device(self, run: Callable[[], object], *, device: str, held_s: float) -> None:
        """Have no events."""


def measure(
    work: Callable[[FakeDevice], object],
    *,
    device: FakeDevice | None = None,
    on_the_host: bool = False,
    visit: int = 0,
) -> ArmRecord:
    """Measure an arm whose output lies on the fake device or on the host, held against nothing but its two clocks."""
    device = device or FakeDevice(FakeClock())

    def step() -> Any:
        work(device)
        return [1.0, 2.0] if on_the_host else device.array([1.0, 2.0])

    workload = Workload(name="w", frameworks=("fake",), unit="row", summary="", builder=lambda _: Arm(step=step))
    trial = Trial(
        framework="fake", workload=workload, arms=({},), plan=Plan(budget_s=2.0, min_span_s=0, builds=1, visit=visit)
    )
    return check_trial(trial, TrialRun(trial, device, clock=device.clock, coin=Random(3)).run(), []).arms[0]


def device_s(arm: ArmRecord) -> float | None:
    assert arm.outcome == "measured", arm.reason
    assert arm.timing is not None
    return arm.timing.device_s


def test_a_device_that_is_kept_busy_works_for_as_long_as_the_wall_clock_says() -> None:
    arm = measure(lambda device: device.launch(1e-3))
    assert device_s(arm) == pytest.approx(1e-3)
    assert arm.flags == []


def test_later_visits_read_the_device_clock_too() -> None:
    assert device_s(measure(lambda device: device.launch(1e-3), visit=1)) == pytest.approx(1e-3)


def test_an_arm_whose_host_is_slow_is_called_host_bound_with_the_share_of_its_device() -> None:
    def slow_host(device: FakeDevice) -> None:
        device.clock.advance(3e-3)
        device.launch(1e-3)

    arm = measure(slow_host)
    assert device_s(arm) == pytest.approx(1e-3)
    assert [str(flag) for flag in arm.flags] == ["host-bound: the device was busy for 25 % of the time"]


def test_many_small_pieces_of_work_are_bound_by_their_launches() -> None:
    def launch(device: FakeDevice) -> None:
        for _ in range(50):
            device.launch(1e-6)

    arm = measure(launch)
    assert device_s(arm) == pytest.approx(50e-6)
    assert [str(flag) for flag in arm.flags] == ["host-bound: the device was busy for 20 % of the time"]


def test_a_step_of_more_launches_than_the_queue_holds_is_read_where_most_of_its_work_is_left_after_them() -> None:
    def launch(device: FakeDevice) -> None:
        for _ in range(120):
            device.launch(1e-5)

    device = FakeDevice(FakeClock(), queue_length=100)
    assert device_s(measure(launch, device=device)) == pytest.approx(1.2e-3)


def test_nothing_is_said_of_a_step_that_fills_the_queue_again_and_again_and_so_may_run_it_dry() -> None:
    def launch(device: FakeDevice) -> None:
        for _ in range(120):
            device.launch(1e-5)

    device = FakeDevice(FakeClock(), queue_length=10)
    assert device_s(measure(launch, device=device)) is None


def test_nothing_is_said_of_a_step_that_waits_for_its_device() -> None:
    def wait(device: FakeDevice) -> None:
        device.launch(1e-4)
        device.synchronize()
        device.clock.advance(1e-3)
        device.launch(1e-4)

    arm = measure(wait)
    assert device_s(arm) is None
    assert arm.flags == []


def test_work_on_another_stream_is_honest_where_the_current_one_ends_after_it() -> None:
    def overlap(device: FakeDevice) -> None:
        device.launch_beside(1e-4)
        device.launch(1e-3)

    arm = measure(overlap)
    assert device_s(arm) == pytest.approx(1e-3)
    assert arm.flags == []


def test_a_framework_without_a_device_clock_is_timed_by_the_wall_clock_alone() -> None:
    arm = measure(lambda device: device.launch(1e-3), device=WithoutEvents(FakeClock()))
    assert device_s(arm) is None
    assert arm.flags == []


def test_the_cost_of_the_events_is_kept_beside_the_time_that_contains_it() -> None:
    device = FakeDevice(FakeClock())
    device.events_s = 2e-6
    arm = measure(lambda device: device.launch(1e-3), device=device)
    assert arm.timing is not None
    assert (arm.timing.device_s, arm.timing.events_s) == (pytest.approx(1.002e-3), pytest.approx(2e-6))
    assert arm.flags == []


def test_a_step_so_short_that_the_events_take_much_of_its_time_says_so() -> None:
    device = FakeDevice(FakeClock(), launch_s=1e-6)
    device.events_s = 2e-6
    arm = measure(lambda device: device.launch(6e-6), device=device)
    assert [str(flag) for flag in arm.flags] == [
        "the device's clock itself takes 25 % of what it shows for an iteration: 2.00 µs of 8.00 µs"
    ]


def test_an_arm_on_the_host_has_no_device_to_ask() -> None:
    assert device_s(measure(lambda device: device.clock.advance(1e-3), on_the_host=True)) is None


def test_an_iteration_so_long_that_reading_it_would_cost_more_than_timing_it_is_not_read() -> None:
    assert device_s(measure(lambda device: device.launch(0.4))) == pytest.approx(0.4)
    assert device_s(measure(lambda device: device.launch(0.6))) is None


def test_a_device_that_works_far_longer_than_the_wall_clock_says_is_doubted() -> None:
    arm = measure(lambda device: device.launch(1e-3))
    assert arm.timing is not None
    late = replace(arm, timing=replace(arm.timing, device_s=0.02))
    trial = Trial(framework="fake", workload="w", arms=({},))
    (doubted,) = check_trial(trial, TrialResult(arms=[late], samples_s=[()]), []).arms
    (flag,) = doubted.flags
    assert str(flag).startswith("its two clocks disagree: an iteration takes 20.0 ms on the device and 1.00 ms by the")
