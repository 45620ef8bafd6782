"""Readings of what a process tree uses: memory, energy, and the utilisation of CPU and GPU."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import fmean

import psutil

from accelbench.schema import nvml


def process_tree() -> list[psutil.Process]:
    """Return this process and its living descendants."""
    process = psutil.Process()
    with suppress(psutil.Error):
        return [process, *_descendants(process)]
    return [process]


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        ids = _descendant_ids(process.pid)
    except OSError:  # not Linux, or a kernel that lists no children: search all processes of the machine
        return process.children(recursive=True)
    return [member for member in map(_process_or_none, ids) if member is not None]


def _descendant_ids(pid: int) -> list[int]:
    """Return the children that the kernel lists for each thread, proc(5), fast however many processes there are."""
    children_by_thread = [(thread / "children").read_text().split() for thread in Path(f"/proc/{pid}/task").iterdir()]
    children = [int(child) for thread in children_by_thread for child in thread]
    for child in list(children):
        with suppress(OSError):  # it has just ended
            children += _descendant_ids(child)
    return children


def _process_or_none(pid: int) -> psutil.Process | None:
    with suppress(psutil.Error):
        return psutil.Process(pid)
    return None


def cpu_s(processes: Iterable[psutil.Process]) -> float:
    """Return the CPU time of these processes and of their children that have ended."""
    return sum(_cpu_s(member) for member in processes)


def run_delay_s(thread: int | str = "self") -> float:
    """Return how long a thread, or this process's main one, was ready to run and had no core; 0 if nobody counts it."""
    with suppress(OSError, ValueError, IndexError):  # only Linux counts it; docs.kernel.org: sched-stats
        return int(Path(f"/proc/{thread}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def rss_bytes(processes: Iterable[psutil.Process]) -> int:
    """Return the resident memory of these processes; a shared page counts once for each process."""
    return sum(_rss_bytes(member) for member in processes)


def _cpu_s(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def _rss_bytes(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"  # resets VmHWM when written to clear_refs, see proc(5)
_SAMPLING_S = 0.002


def peak_rss_rise(call: Callable[[], object]) -> int | None:
    """Return by how many bytes resident memory rose above its start at the highest point of ``call``.

    The kernel's high-water mark if it can be reset, otherwise samples, which may miss a short peak; None if the system
    offers neither. Memory of child processes is not included.
    """
    gc.collect()
    _give_free_memory_back()
    if _reset_high_water():
        before_bytes = _status_bytes("VmRSS")
        call()
        return max(0, _status_bytes("VmHWM") - before_bytes)
    with _sample_rises() as rises:
        call()
    return max(rises, default=None)


def _give_free_memory_back() -> None:
    """Return the heap's free pages to the system, since reusing them would hide a rise. Only glibc can."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _reset_high_water() -> bool:
    try:
        (_PROCESS / "clear_refs").write_text(_RESET_PEAK)
        return _status_bytes("VmHWM") > 0
    except OSError:
        return False


def _status_bytes(field: str) -> int:
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def _sample_rises() -> Iterator[list[int]]:
    """Append rises of resident memory, in bytes, to the list until the context ends."""
    rises: list[int] = []
    done = threading.Event()
    process = psutil.Process()

    def resident_bytes() -> int:
        return int(process.memory_info().rss)

    def watch() -> None:
        while not done.wait(_SAMPLING_S):
            rises.append(max(0, resident_bytes() - before_bytes))

    try:
        before_bytes = resident_bytes()
    except psutil.Error:
        yield rises
        return
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield rises
    finally:
        done.set()
        watcher.join()
        rises.append(max(0, resident_bytes() - before_bytes))


COUNTED_LEAST_S = 0.5  # each end is known to about one block, both together to 2 % of the time
BLOCK_S = 5e-3  # between readings: short compared with the counters' steps, long compared with a synchronisation
STILL_S = 0.5  # a counter that does not move for this time, while an arm runs, does not count
POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Reads joules since some moment in the past, None if they cannot be read.

    The counter wraps around at ``range_j``; 0 if it never does.
    """

    read_j: Callable[[], float | None]
    range_j: float = 0.0


class Meter:
    """The energy used since the meter was made, the sum of several counters."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._latest_j = {counter: now_j for counter in counters if (now_j := counter.read_j()) is not None}
        self._used_j = 0.0

    @property
    def counts(self) -> bool:
        """Whether any of the counters can be read."""
        return bool(self._latest_j)

    def taken_j(self) -> float:
        """Return the joules so far."""
        for counter, before_j in self._latest_j.items():
            if (now_j := counter.read_j()) is not None:
                rise_j = now_j - before_j
                self._used_j += rise_j if rise_j >= 0 else max(0.0, rise_j + counter.range_j)
                self._latest_j[counter] = now_j
        return self._used_j


def meter_of(device: str, gpus: Collection[str]) -> Meter:
    """Return a meter of a kind of device, ``GPU`` or ``CPU``; without counters for any other kind.

    ``gpus`` are the UUIDs of those whose energy is counted.
    """
    if device == "GPU":
        return Meter(gpu_counters(gpus))
    return Meter(processor_counters() if device == "CPU" else ())


def gpu_counters(gpus: Collection[str]) -> list[Counter]:
    """Return the counters of these GPUs."""
    return [Counter(read_j=partial(nvml.energy_j, uuid)) for uuid in gpus]


def processor_counters(folder: Path = POWERCAP) -> list[Counter]:
    """Return the counters of the processor's packages, which only the administrator can read on most systems.

    They are Intel's and AMD's RAPL: https://docs.kernel.org/power/powercap/powercap.html.
    """
    packages = [zone for zone in sorted(folder.glob("intel-rapl:*")) if _text(zone / "name").startswith("package")]
    return [
        Counter(read_j=partial(_joules, zone / "energy_uj"), range_j=_joules(zone / "max_energy_range_uj") or 0.0)
        for zone in packages
    ]


def per_iteration_j(
    run: Callable[[int], object], meter: Meter, clock: Callable[[], float], step_s: float
) -> float | None:
    """Return the joules that an iteration takes, None if the counters do not move.

    ``run`` runs a number of iterations of about ``step_s`` seconds each. The energy is that between two steps of the
    counters at least ``COUNTED_LEAST_S`` apart, so the length of their steps does not matter.
    """
    iterations = max(1, round(BLOCK_S / step_s))

    def blocks_to_a_step() -> int:
        """Run until the counters have moved, and return the number of blocks; 0 if they do not move."""
        before_j, patience_s = meter.taken_j(), clock() + STILL_S
        for blocks in count(1):
            run(iterations)
            if meter.taken_j() > before_j:
                return blocks
            if clock() > patience_s:
                break
        return 0

    if not blocks_to_a_step():
        return None
    start_j, end_s, blocks = meter.taken_j(), clock() + COUNTED_LEAST_S, 0
    while clock() < end_s:
        run(iterations)
        blocks += 1
    last = blocks_to_a_step()
    return (meter.taken_j() - start_j) / (iterations * (blocks + last)) if last else None


def _joules(file: Path) -> float | None:
    with suppress(ValueError):
        return int(_text(file)) / 1e6
    return None


def _text(file: Path) -> str:
    """Return the text of a file of the kernel, empty if it cannot be read."""
    with suppress(OSError):
        return file.read_text().strip()
    return ""


WATCHED_LEAST_S = 0.5  # resolves a few per cent, since the kernel counts CPU time in hundredths of a second
INTERVAL_S = 0.03
REST = 9  # the watcher sleeps for this multiple of the time of a reading, and so uses at most a tenth of a core
# The driver's utilisation is a mean over a period of up to a second, depending on the GPU:
# NVIDIA's NVML API reference, nvmlDeviceGetUtilizationRates.
GPU_PERIOD_S = 1.0

RunFor = Callable[[float], object]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """This process, its descendants and the arm's GPUs at one moment.

    ``cpu_s`` is the CPU time so far, without that of the watcher; ``rss_bytes`` counts shared pages once per process.
    """

    at_s: float
    cpu_s: float
    rss_bytes: int
    gpus: tuple[nvml.GpuState, ...] = ()


def read_utilisation(gpus: Collection[str] = ()) -> Reading:
    """Return the present reading, with that of GPUs by UUID; must always be called from the same thread."""
    processes = process_tree()
    return Reading(
        at_s=time.perf_counter(),
        cpu_s=cpu_s(processes) - time.thread_time(),
        rss_bytes=rss_bytes(processes),
        gpus=tuple(nvml.gpus(gpus)) if gpus else (),
    )


def utilisation(
    run_for: RunFor,
    *,
    cores: int,
    gpus: Collection[str] = (),
    read: Callable[[], Reading] | None = None,
    least_s: float = WATCHED_LEAST_S,
) -> dict[str, float]:
    """Return how the machine is used while ``run_for`` runs an arm for a number of seconds, or one step longer.

    ``gpus`` are the UUIDs of the GPUs that the arm uses. ``run_for`` is called twice: first to warm up, with a GPU
    until the driver's figure includes this arm only.
    """
    run_for(GPU_PERIOD_S if gpus else 0.0)
    return figures(_read_during(lambda: run_for(least_s), read or partial(read_utilisation, gpus)), cores=cores)


def _read_during(run: Callable[[], object], read: Callable[[], Reading]) -> list[Reading]:
    """Run, and return the readings of a thread that watches; the last one is made at the end."""
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
    """Return means over the readings, and the peaks of memory; figures that this machine does not have are left out.

    ``cpu_utilisation`` is the share of the available ``cores``. Of several GPUs, power and memory are added up.
    """
    first, last = readings[0], readings[-1]
    means = {"rss_bytes": float(max(reading.rss_bytes for reading in readings))}
    if (span_s := last.at_s - first.at_s) > 0:
        means["cpu_utilisation"] = max(0.0, last.cpu_s - first.cpu_s) / (span_s * cores)
    return means | _gpu_figures(readings)


def _gpu_figures(readings: Sequence[Reading]) -> dict[str, float]:
    gpus = list(zip(*(reading.gpus for reading in readings), strict=False))  # one row of states for each GPU
    values = {
        "gpu_utilisation": _mean([_mean([state.utilisation for state in states]) for states in gpus]),
        "gpu_power_w": _sum([_mean([state.power_w for state in states]) for states in gpus]),
        "gpu_sm_clock_mhz": _mean([_mean([state.sm_clock_mhz for state in states]) for states in gpus]),
        "gpu_memory_bytes": _sum([_most([_used_bytes(state) for state in states]) for states in gpus]),
    }
    return {name: value for name, value in values.items() if value is not None}


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _used_bytes(state: nvml.GpuState) -> float | None:
    return None if state.free_memory_bytes is None else float(state.memory_bytes - state.free_memory_bytes)
