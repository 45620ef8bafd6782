"""How busy the machine is while an arm runs: figures from readings, and a watcher that leaves nothing behind."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count

import psutil
import pytest

from harness import nvml
from harness.measuring import family, utilisation
from harness.measuring.utilisation import Reading, figures

OURS = 7


def reading(at_s: float, cpu_s: float, rss_bytes: int = 100, gpus: tuple[nvml.GpuState, ...] = ()) -> Reading:
    return Reading(at_s=at_s, cpu_s=cpu_s, rss_bytes=rss_bytes, gpus=gpus, process_ids=frozenset({OURS}))


def gpu(busy: float | None = None, of: int | None = None, free_bytes: int = 8, **others: float) -> nvml.GpuState:
    processes = () if of is None else (of,)
    return nvml.GpuState(
        name="NVIDIA Test", memory_bytes=10, free_memory_bytes=free_bytes, utilisation=busy, process_ids=processes,
        **others,  # type: ignore[arg-type]
    )  # fmt: skip


def test_cpu_time_counts_as_a_share_of_the_cores_and_memory_by_its_peak() -> None:
    found = figures([reading(1.0, 5.0, 100), reading(1.5, 5.5, 300), reading(2.0, 6.5, 200)], cores=2)
    assert found == {"cpu_utilisation": pytest.approx(0.75), "rss_bytes": 300}


def test_a_gpu_is_told_by_its_means_and_its_most_memory() -> None:
    states = [
        gpu(busy, OURS, free, power_w=power, sm_clock_mhz=1000) for busy, free, power in ((0.2, 8, 100), (0.4, 3, 300))
    ]
    found = figures([reading(at, 0.0, gpus=(state,)) for at, state in enumerate(states)], cores=2)
    assert found["gpu_utilisation"] == pytest.approx(0.3)
    assert (found["gpu_power_w"], found["gpu_sm_clock_mhz"], found["gpu_memory_bytes"]) == (200, 1000, 7)


def test_a_neighbours_busy_gpu_is_not_ours() -> None:
    gpus = (gpu(0.99, of=OURS + 1), gpu(0.1, of=OURS))
    assert figures([reading(0, 0, gpus=gpus), reading(1, 1, gpus=gpus)], cores=2)["gpu_utilisation"] == 0.1


def test_where_no_gpu_lists_our_processes_the_busiest_is_told() -> None:
    gpus = (gpu(0.1), gpu(0.6))
    assert figures([reading(0, 0, gpus=gpus), reading(1, 1, gpus=gpus)], cores=2)["gpu_utilisation"] == 0.6


def test_what_a_gpu_does_not_tell_is_left_out() -> None:
    silent = nvml.GpuState(name="unknown GPU")
    assert figures([reading(0, 0, gpus=(silent,)), reading(1, 1, gpus=(silent,))], cores=1).keys() == {
        "cpu_utilisation",
        "rss_bytes",
    }


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reading]:
    """Readings a second apart in which one core of two is busy, on a machine without a GPU."""
    monkeypatch.setattr(nvml, "gpus", list)
    return (reading(at_s=second, cpu_s=second) for second in count())


def test_an_arm_warms_up_before_it_is_watched(readings: Iterator[Reading]) -> None:
    asked: list[float] = []
    found = utilisation.utilisation(asked.append, cores=2, read=lambda: next(readings), least_s=0.25)
    assert asked == [0.0, 0.25]
    assert found["cpu_utilisation"] == 0.5


def test_with_a_gpu_the_warm_up_lasts_until_the_drivers_figure_is_of_this_arm(
    readings: Iterator[Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "gpus", lambda: [gpu()])
    asked: list[float] = []
    utilisation.utilisation(asked.append, cores=2, read=lambda: next(readings))
    assert asked == [utilisation.GPU_PERIOD_S, utilisation.LEAST_S]


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

    utilisation.utilisation(run_for, cores=2, read=read)
    assert len(runs) == 2


def test_an_arm_that_stops_is_told_and_its_watcher_ends(readings: Iterator[Reading]) -> None:
    def stop(seconds: float) -> None:
        if seconds:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        utilisation.utilisation(stop, cores=2, read=lambda: next(readings))
    assert [thread for thread in threading.enumerate() if thread.name.startswith("watcher")] == []


def test_a_reading_holds_the_memory_of_child_processes_too() -> None:
    before = utilisation.read()
    waiting = subprocess.Popen([sys.executable, "-c", "print('up', flush=True); input()"], stdin=-1, stdout=-1)
    try:
        assert waiting.stdout is not None
        waiting.stdout.readline()
        child_bytes = psutil.Process(waiting.pid).memory_info().rss
        found = utilisation.read()
    finally:
        waiting.communicate(b"\n")
    assert waiting.pid in found.process_ids
    assert found.rss_bytes - before.rss_bytes > child_bytes / 2
    assert waiting.pid not in {process.pid for process in family.members()}
