"""How busy CPU and GPU are while an arm runs, and the memory of all its processes: in a pass of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean

from harness import nvml
from harness.measuring import family

LEAST_S = 0.5  # the kernel counts CPU time in hundredths of a second, so that this resolves a few per cent
INTERVAL_S = 0.03
REST = 9  # the watcher rests so many times as long as a reading takes, and so costs at most a tenth of a core
# The driver's utilisation is a mean over its latest period, which takes up to a second depending on the GPU:
# NVIDIA's NVML API reference, nvmlDeviceGetUtilizationRates.
GPU_PERIOD_S = 1.0

RunFor = Callable[[float], object]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """This process, its descendants and the machine's GPUs at one moment.

    ``cpu_s`` is the CPU time so far, without that of the watching itself; ``rss_bytes`` counts shared pages once per
    process. ``process_ids`` are those whose CPU time and memory it is.
    """

    at_s: float
    cpu_s: float
    rss_bytes: int
    gpus: tuple[nvml.GpuState, ...] = ()
    process_ids: frozenset[int] = frozenset()


def read() -> Reading:
    """Return what the processes and the GPUs say now; always to be called from the same thread."""
    processes = family.members()
    return Reading(
        at_s=time.perf_counter(),
        cpu_s=family.cpu_s(processes) - time.thread_time(),
        rss_bytes=family.rss_bytes(processes),
        gpus=tuple(nvml.gpus()),
        process_ids=frozenset(process.pid for process in processes),
    )


def utilisation(
    run_for: RunFor, *, cores: int, read: Callable[[], Reading] = read, least_s: float = LEAST_S
) -> dict[str, float]:
    """Return how the machine is used while ``run_for`` runs an arm for the seconds it is given, or one step longer.

    It is called twice: first to warm up, and with a GPU until the driver's figure is of this arm alone.
    """
    run_for(GPU_PERIOD_S if nvml.gpus() else 0.0)
    return figures(_watched(lambda: run_for(least_s), read), cores=cores)


def _watched(run: Callable[[], object], read: Callable[[], Reading]) -> list[Reading]:
    """Run, and return the readings that a thread beside it has made, the last one at the end."""
    done = threading.Event()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="watcher") as pool:
        watching = pool.submit(_watch, read, done)
        try:
            run()
        finally:
            done.set()
        return watching.result()


def _watch(read: Callable[[], Reading], done: threading.Event) -> list[Reading]:
    readings = [read()]
    rest_s = INTERVAL_S
    while not done.wait(rest_s):
        start_s = time.perf_counter()
        readings.append(read())
        rest_s = max(INTERVAL_S, REST * (time.perf_counter() - start_s))
    return [*readings, read()]


def figures(readings: Sequence[Reading], *, cores: int) -> dict[str, float]:
    """Return means over the readings, and the most memory; what this machine does not tell is left out.

    ``cpu_utilisation`` is the share of the available ``cores``. The GPU is the one that lists a process of ours; where
    none does, as in a container that hides them, the busiest.
    """
    first, last = readings[0], readings[-1]
    found = {"rss_bytes": float(max(reading.rss_bytes for reading in readings))}
    if (span_s := last.at_s - first.at_s) > 0:
        found["cpu_utilisation"] = max(0.0, last.cpu_s - first.cpu_s) / (span_s * cores)
    return found | _gpu_figures(readings)


def _gpu_figures(readings: Sequence[Reading]) -> dict[str, float]:
    ours = frozenset[int]().union(*(reading.process_ids for reading in readings))
    seen = list(zip(*(reading.gpus for reading in readings), strict=False))  # one row of states for each GPU
    own = [states for states in seen if any(ours & {*state.process_ids} for state in states)]
    if not seen:
        return {}
    states = max(own or seen, key=lambda states: _mean([state.utilisation for state in states]) or 0.0)
    told = {
        "gpu_utilisation": _mean([state.utilisation for state in states]),
        "gpu_power_w": _mean([state.power_w for state in states]),
        "gpu_sm_clock_mhz": _mean([state.sm_clock_mhz for state in states]),
        "gpu_memory_bytes": max((_used_bytes(state) for state in states), key=lambda used: used or 0.0),
    }
    return {name: value for name, value in told.items() if value is not None}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _used_bytes(state: nvml.GpuState) -> float | None:
    return None if state.free_memory_bytes is None else float(state.memory_bytes - state.free_memory_bytes)
