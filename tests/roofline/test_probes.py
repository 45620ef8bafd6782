"""The probes of each framework on this machine: what they measure, not how fast it is."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.measuring.referee import Stopwatch
from accelbench.roofline.ceilings import measure_peaks
from accelbench.roofline.probes import PeakProbe, disk, find_probes
from accelbench.roofline.probes.probe import memory

CPU = {"cpu memory", "cpu matrix fp32", "cpu matrix fp64"}
PER_CORE = {"cpu matrix fp32, cores apart", "cpu matrix fp64, cores apart"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path))


def run_each_once(probes: list[PeakProbe]) -> None:
    """Run every kernel of every probe at its smallest size."""
    for probe in probes:
        assert list(probe.sizes) == sorted(probe.sizes)
        for arm in probe.kernels(probe.sizes[0]):
            assert math.isfinite(arm.items)
            assert arm.items > 0
            with arm.enter():
                arm.step()
            arm.close()


def test_the_host_has_ceilings_of_memory_matrices_and_files() -> None:
    probes = find_probes("numpy")
    assert {probe.ceiling for probe in probes} == {*CPU, *PER_CORE, "disk", "page cache"}
    run_each_once([probe for probe in probes if probe.ceiling != "disk"])  # a disk may live in memory


def test_a_file_is_read_past_the_page_cache_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(disk, "resident_share", lambda _: 1.0)
    probe = next(probe for probe in disk.probes() if probe.ceiling == "disk")
    (arm,) = probe.kernels(2**20)
    with pytest.raises(Unavailable, match="cannot be dropped from memory"):
        arm.step()
    arm.close()
    assert list(tmp_path.iterdir()) == []


def test_pytorch_has_ceilings_of_the_cpu_in_three_precisions() -> None:
    pytest.importorskip("torch")
    probes = find_probes("torch")
    cpu = {probe.ceiling for probe in probes if probe.ceiling.startswith("cpu")}
    assert cpu == {*CPU, *PER_CORE, "cpu matrix bf16", "cpu matrix bf16, cores apart"}
    run_each_once(probes)


@pytest.mark.isolated_framework("tensorflow")
def test_tensorflow_has_ceilings_of_the_cpu_in_three_precisions() -> None:
    probes = find_probes("tensorflow")
    assert {probe.ceiling for probe in probes if probe.ceiling.startswith("cpu")} == {*CPU, "cpu matrix bf16"}
    run_each_once(probes)


def test_cupy_has_ceilings_for_the_devices_that_it_sees() -> None:
    names = {probe.ceiling for probe in find_probes("cupy")}
    assert bool(names) == bool(load("cupy").accelerators())


def test_launching_does_not_lower_the_ceiling_of_a_fast_and_large_memory() -> None:
    device, bytes_per_s = FakeDevice(FakeClock(), launch_s=15e-6), 5e12

    def kernels(size: int) -> Iterator[Arm]:
        yield Arm(step=lambda: device.launch(size / bytes_per_s), items=size)

    probe = memory("fake:0", kernels, free_bytes=2**37)
    rates = measure_peaks([probe], Stopwatch(device.clock, device.synchronize))
    assert max(ceiling.per_s for ceiling in rates) == pytest.approx(bytes_per_s, rel=0.03)


def test_an_unknown_framework_has_none() -> None:
    assert find_probes("fake") == []
