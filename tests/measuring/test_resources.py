"""Memory, energy and utilisation, from counters and readings."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import psutil
import pytest
from fake_device import FakeClock

from accelbench.measuring.costs import resources
from accelbench.measuring.costs.resources import Counter, Meter, Reading, figures, peak_rss_rise
from accelbench.schema import nvml

POWER_W = 200.0


def stepping(clock: FakeClock, every_s: float) -> Meter:
    """Return a meter of a device at 200 W, whose counter steps so often."""
    return Meter([Counter(read_j=lambda: POWER_W * every_s * (clock() // every_s))])


def per_iteration_j(clock: FakeClock, meter: Meter, step_s: float) -> float | None:
    return resources.per_iteration_j(lambda iterations: clock.advance(iterations * step_s), meter, clock, step_s)


@pytest.mark.parametrize("every_s", [1e-3, 0.01, 0.1])
@pytest.mark.parametrize("step_s", [3e-6, 1.7e-3, 0.031])
def test_the_length_of_a_counters_steps_does_not_matter(every_s: float, step_s: float) -> None:
    clock = FakeClock()
    assert per_iteration_j(clock, stepping(clock, every_s), step_s) == pytest.approx(POWER_W * step_s, rel=0.1)


def test_an_iteration_that_is_longer_than_the_stretch_is_made_a_few_times() -> None:
    clock = FakeClock()
    assert per_iteration_j(clock, stepping(clock, 0.1), 2.0) == pytest.approx(POWER_W * 2.0, rel=0.1)
    assert clock() <= 6.0


def test_a_counter_that_stands_still_counts_nothing_and_costs_little() -> None:
    clock = FakeClock()
    assert per_iteration_j(clock, Meter([Counter(read_j=lambda: 7.0)]), 1e-3) is None
    assert clock() < 2 * resources.STILL_S


def test_a_counter_that_starts_over_goes_on() -> None:
    told_j = iter([95.0, 99.0, 2.0, 3.0])
    meter = Meter([Counter(read_j=lambda: next(told_j), range_j=100.0)])
    assert [meter.taken_j() for _ in range(3)] == [4.0, 7.0, 8.0]


def test_packages_are_added_up() -> None:
    first, second = iter([0.0, 1.0]), iter([5.0, 7.5])
    assert Meter([Counter(read_j=lambda: next(first)), Counter(read_j=lambda: next(second))]).taken_j() == 3.5


def zone(folder: Path, name: str, kind: str, energy_uj: int) -> Path:
    place = folder / name
    place.mkdir()
    for file, text in (("name", kind), ("energy_uj", energy_uj), ("max_energy_range_uj", 10_000_000)):
        (place / file).write_text(f"{text}\n")
    return place


def test_linux_tells_of_the_processors_packages_and_the_parts_are_not_added_again(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 5_000_000)
    zone(tmp_path, "intel-rapl:1", "psys", 1_000_000)
    meter = Meter(resources.processor_counters(tmp_path))
    (package / "energy_uj").write_text("1000000\n")
    assert meter.taken_j() == pytest.approx(2.0)


def test_what_may_not_be_read_counts_nothing(tmp_path: Path) -> None:
    assert not Meter(resources.processor_counters(tmp_path / "absent")).counts
    (zone(tmp_path, "intel-rapl:0", "package-0", 1) / "energy_uj").unlink()
    assert not Meter(resources.processor_counters(tmp_path)).counts
    assert not Meter([Counter(read_j=lambda: None)]).counts


def test_only_the_gpus_of_the_arm_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    told_j = {"8a1f": 5.0, "77b0": 100.0, "a slice": None}
    monkeypatch.setattr(nvml, "energy_j", lambda uuid: told_j[uuid])
    meter = resources.meter_of("GPU", {"8a1f"})
    told_j.update({"8a1f": 15.0, "77b0": 900.0})
    assert meter.taken_j() == 10.0
    assert not resources.meter_of("GPU", {"a slice"}).counts
    assert not resources.meter_of("GPU", ()).counts


def test_where_nothing_tells_on_what_an_arm_computed_nothing_is_counted() -> None:
    assert not resources.meter_of("", {"8a1f"}).counts


ARRAY_BYTES = 200_000_000


def hold_and_drop() -> None:
    array = np.ones(ARRAY_BYTES, np.uint8)
    for _ in range(8):
        array.sum()


@pytest.fixture(params=["high-water mark", "samples"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Measure by the kernel's mark, and on a system that has none."""
    if request.param == "samples":
        monkeypatch.setattr(resources, "_PROCESS", tmp_path / "no proc file system")
    return str(request.param)


@pytest.mark.slow
@pytest.mark.usefixtures("way")
def test_memory_that_was_dropped_again_is_seen() -> None:
    assert peak_rss_rise(hold_and_drop) == pytest.approx(ARRAY_BYTES, rel=0.1)


@pytest.mark.usefixtures("way")
def test_an_earlier_peak_does_not_count() -> None:
    hold_and_drop()
    rise_bytes = peak_rss_rise(lambda: None)
    assert rise_bytes is not None
    assert rise_bytes < ARRAY_BYTES / 20


@pytest.mark.usefixtures("way")
def test_memory_held_from_before_does_not_count() -> None:
    held = np.ones(ARRAY_BYTES, np.uint8)
    rise_bytes = peak_rss_rise(lambda: held.sum())
    assert rise_bytes is not None
    assert rise_bytes < ARRAY_BYTES / 20


@pytest.mark.usefixtures("way")
def test_an_error_in_the_call_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        peak_rss_rise(lambda: 1 / 0)


def test_a_system_that_tells_nothing_gives_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Secretive:
        def memory_info(self) -> None:
            raise psutil.AccessDenied

    monkeypatch.setattr(resources, "_PROCESS", tmp_path)
    monkeypatch.setattr(psutil, "Process", Secretive)
    done = []
    assert peak_rss_rise(lambda: done.append(1)) is None
    assert done == [1]


def reading(at_s: float, cpu_s: float, rss_bytes: int = 100, gpus: tuple[nvml.GpuState, ...] = ()) -> Reading:
    return Reading(at_s=at_s, cpu_s=cpu_s, rss_bytes=rss_bytes, gpus=gpus)


def gpu(busy: float | None = None, free_bytes: int = 8, **others: float) -> nvml.GpuState:
    return nvml.GpuState(
        name="NVIDIA Test", memory_bytes=10, free_memory_bytes=free_bytes, utilisation=busy,
        **others,  # type: ignore[arg-type]
    )  # fmt: skip


def test_cpu_time_counts_as_a_share_of_the_cores_and_memory_by_its_peak() -> None:
    found = figures([reading(1.0, 5.0, 100), reading(1.5, 5.5, 300), reading(2.0, 6.5, 200)], cores=2)
    assert found == {"cpu_utilisation": pytest.approx(0.75), "rss_bytes": 300}


def test_a_gpu_is_told_by_its_means_and_its_most_memory() -> None:
    states = [gpu(busy, free, power_w=power, sm_clock_mhz=1000) for busy, free, power in ((0.2, 8, 100), (0.4, 3, 300))]
    found = figures([reading(at, 0.0, gpus=(state,)) for at, state in enumerate(states)], cores=2)
    assert found["gpu_utilisation"] == pytest.approx(0.3)
    assert (found["gpu_power_w"], found["gpu_sm_clock_mhz"], found["gpu_memory_bytes"]) == (200, 1000, 7)


def test_only_the_gpus_of_the_arm_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"8a1f": gpu(0.1), "77b0": gpu(0.99)}
    monkeypatch.setattr(nvml, "gpus", lambda uuids: [states[uuid] for uuid in uuids])
    found = resources.utilisation(lambda _: None, cores=2, gpus={"8a1f"}, least_s=0.0)
    assert found["gpu_utilisation"] == 0.1
    assert "gpu_utilisation" not in resources.utilisation(lambda _: None, cores=2, least_s=0.0)


def test_power_and_memory_of_several_gpus_are_added_up() -> None:
    gpus = (gpu(0.2, 8, power_w=100.0), gpu(0.6, 3, power_w=300.0))
    found = figures([reading(0, 0, gpus=gpus), reading(1, 1, gpus=gpus)], cores=2)
    assert (found["gpu_utilisation"], found["gpu_power_w"], found["gpu_memory_bytes"]) == (pytest.approx(0.4), 400, 9)


def test_what_a_gpu_does_not_tell_is_left_out() -> None:
    silent = nvml.GpuState(name="unknown GPU")
    assert figures([reading(0, 0, gpus=(silent,)), reading(1, 1, gpus=(silent,))], cores=1).keys() == {
        "cpu_utilisation",
        "rss_bytes",
    }


@pytest.fixture
def readings() -> Iterator[Reading]:
    """Readings a second apart in which one core of two is busy."""
    return (reading(at_s=second, cpu_s=second) for second in count())


def test_an_arm_warms_up_before_it_is_watched(readings: Iterator[Reading]) -> None:
    asked: list[float] = []
    found = resources.utilisation(asked.append, cores=2, read=lambda: next(readings), least_s=0.25)
    assert asked == [0.0, 0.25]
    assert found["cpu_utilisation"] == 0.5


def test_with_a_gpu_the_warm_up_lasts_until_the_drivers_figure_is_of_this_arm(readings: Iterator[Reading]) -> None:
    asked: list[float] = []
    resources.utilisation(asked.append, cores=2, gpus={"8a1f"}, read=lambda: next(readings))
    assert asked == [resources.GPU_PERIOD_S, resources.WATCHED_LEAST_S]


def test_readings_are_made_while_the_arm_runs(readings: Iterator[Reading]) -> None:
    several = threading.Event()
    runs: list[float] = []

    def read() -> Reading:
        found = next(readings)
        if found.at_s >= 3:
            several.set()
        return found

    def run_for(seconds: float) -> None:
        runs.append(seconds)
        assert len(runs) == 1 or several.wait(20)

    resources.utilisation(run_for, cores=2, read=read)
    assert len(runs) == 2


def test_an_arm_that_stops_is_told_and_its_watcher_ends(readings: Iterator[Reading]) -> None:
    def stop(seconds: float) -> None:
        if seconds:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        resources.utilisation(stop, cores=2, read=lambda: next(readings))
    assert [thread for thread in threading.enumerate() if thread.name.startswith("watcher")] == []


def test_a_reading_holds_the_memory_of_child_processes_too() -> None:
    before = resources.read_utilisation()
    waiting = subprocess.Popen([sys.executable, "-c", "print('up', flush=True); input()"], stdin=-1, stdout=-1)
    try:
        assert waiting.stdout is not None
        waiting.stdout.readline()
        child_bytes = psutil.Process(waiting.pid).memory_info().rss
        found = resources.read_utilisation()
    finally:
        waiting.communicate(b"\n")
    assert found.rss_bytes - before.rss_bytes > child_bytes / 2
    assert waiting.pid not in {process.pid for process in resources.process_tree()}
