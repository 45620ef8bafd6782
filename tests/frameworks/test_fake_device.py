"""The fake asynchronous device behaves as a GPU does, in an invented time."""

import itertools
from random import Random

import pytest
from fake_device import FakeClock, FakeDevice


def test_a_launch_returns_before_the_work_is_done() -> None:
    clock = FakeClock()
    FakeDevice(clock, launch_s=1e-6).launch(0.5)
    assert clock() == pytest.approx(1e-6)


def test_synchronizing_waits_for_the_whole_queue() -> None:
    clock = FakeClock()
    device = FakeDevice(clock, launch_s=0.0)
    for _ in range(3):
        device.launch(0.5)
    device.synchronize()
    assert clock() == pytest.approx(1.5)


def test_synchronizing_an_idle_device_takes_no_time() -> None:
    device = FakeDevice()
    device.synchronize()
    device.clock.advance(2.0)
    device.synchronize()
    assert device.clock() == 2.0


def test_a_device_that_idled_starts_new_work_when_it_is_launched() -> None:
    clock = FakeClock()
    device = FakeDevice(clock, launch_s=0.0)
    device.launch(0.5)
    clock.advance(10.0)
    device.launch(0.5)
    device.synchronize()
    assert clock() == pytest.approx(10.5)


def test_tiny_work_is_bound_by_its_launches() -> None:
    clock = FakeClock()
    device = FakeDevice(clock, launch_s=1e-3)
    for _ in range(10):
        device.launch(1e-6)
    device.synchronize()
    assert clock() == pytest.approx(10e-3, rel=0.01)


def test_noise_stretches_the_work_as_it_is_told() -> None:
    factors = itertools.chain([2.0, 3.0])
    device = FakeDevice(launch_s=0.0, noise=lambda: next(factors))
    device.launch(1.0)
    device.launch(1.0)
    device.synchronize()
    assert device.clock() == pytest.approx(5.0)


def test_the_same_seed_gives_the_same_times() -> None:
    ends = []
    for _ in range(2):
        random = Random(4)
        device = FakeDevice(noise=lambda random=random: random.lognormvariate(0, 0.1))
        for _ in range(5):
            device.launch(0.1)
        device.synchronize()
        ends.append(device.clock())
    assert ends[0] == ends[1]


def test_it_offers_what_a_real_framework_does() -> None:
    framework = FakeDevice()
    assert framework.to_host(1.5)[0] == 1.5
    assert framework.is_out_of_memory(MemoryError())
    assert framework.accelerators() == ("fake:0",)
    assert [device.label for device in framework.devices()] == ["fake:0"]
    assert framework.peak_memory_bytes() is None


@pytest.mark.parametrize(("held_s", "device_s", "queued"), [(0.01, 3e-4, True), (0.0, 3.1e-3, False)])
def test_a_device_that_is_held_meanwhile_does_not_wait_for_the_host(
    held_s: float, device_s: float, queued: bool
) -> None:
    device = FakeDevice(FakeClock(), launch_s=1e-3)
    span = device.time_on_device(lambda: [device.launch(1e-4) for _ in range(3)], device="fake:0", held_s=held_s)
    assert span is not None
    assert span.device_s == pytest.approx(device_s)
    assert span.queued == queued


def test_a_stream_beside_is_waited_for_by_synchronizing_and_not_by_the_current_streams_end() -> None:
    device = FakeDevice(FakeClock(), launch_s=0.0)
    device.time_on_device(lambda: device.launch_beside(0.5), device="fake:0", held_s=0.0)
    assert device.clock() == 0.0
    device.synchronize()
    assert device.clock() == pytest.approx(0.5)
