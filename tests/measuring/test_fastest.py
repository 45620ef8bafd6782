"""The fastest that a probe was seen to be, on the fake asynchronous device."""

from collections.abc import Iterator
from random import Random

import pytest

from harness.ceilings import Probe
from harness.experiment import Arm
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.fastest import measure
from harness.measuring.stopwatch import Stopwatch
from harness.record import Ceiling

BYTES_PER_S = 9e11


def probe(device: FakeDevice, sizes: tuple[int, ...], per_s: float = BYTES_PER_S) -> Probe:
    def kernels(size: int) -> Iterator[Arm]:
        yield Arm(step=lambda: device.launch(size / per_s), items=size)
        yield Arm(step=lambda: device.launch(size / per_s), items=size / 3)  # a slower way to do it

    return Probe(ceiling="fake:0 memory", unit="byte", sizes=sizes, kernels=kernels, by_working_set=True)


def measured(*probes: Probe, device: FakeDevice) -> list[Ceiling]:
    return measure(probes, Stopwatch(device.clock, device.synchronize))


def test_a_ceiling_is_the_rate_of_the_fastest_kernel_and_the_synchronise_is_not_forgotten() -> None:
    device = FakeDevice(FakeClock())
    (ceiling,) = measured(probe(device, (2**28,)), device=device)
    assert ceiling.per_s == pytest.approx(BYTES_PER_S, rel=0.02)
    assert ceiling.working_set_bytes == 2**28


def test_a_noisy_machine_does_not_lower_its_ceiling() -> None:
    random = Random(3)
    device = FakeDevice(FakeClock(), noise=lambda: 1 + abs(random.gauss(0, 0.3)))
    (ceiling,) = measured(probe(device, (2**24,)), device=device)
    assert ceiling.per_s == pytest.approx(BYTES_PER_S, rel=0.2)


def test_sizes_are_climbed_until_a_step_takes_long() -> None:
    device = FakeDevice(FakeClock())
    slow = probe(device, (2**10, 2**20, 2**30), per_s=1e6)
    assert {ceiling.working_set_bytes for ceiling in measured(slow, device=device)} == {2**10, 2**20}


def test_what_cannot_be_done_here_sets_no_ceiling_and_stops_nothing_else() -> None:
    device = FakeDevice(FakeClock())

    def kernels(_: int) -> Iterator[Arm]:
        raise TypeError("this device knows no such numbers")
        yield

    impossible = Probe(ceiling="fake:0 matrix fp64", unit="operation", sizes=(256,), kernels=kernels)
    ceilings = measured(impossible, probe(device, (2**20,)), device=device)
    assert {ceiling.name for ceiling in ceilings} == {"fake:0 memory"}
