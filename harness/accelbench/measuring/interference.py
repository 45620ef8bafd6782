"""Interference: readings of the machine during a trial, and which pairs were measured undisturbed.

Each window of about a tenth of a second ends with a reading of the machine, between two rounds. A window is disturbed
if a reading is well above the normal one for the trial, which is that of its quietest windows; a machine that is loaded
all the time disturbs all windows alike, and so none of them. Readings decide, never the samples.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from pathlib import Path
from threading import Barrier

import numpy as np
import psutil
from numpy.lib.stride_tricks import as_strided

from accelbench.measuring.costs import resources
from accelbench.schema import nvml
from accelbench.schema.reasons import OTHER_WORK, Reason, describe, group, reason
from accelbench.units import plural

# The fastest repeat counts: an interruption lengthens some of them, a slower machine all. Arithmetic takes a few
# microseconds, and a core that did something else before is as fast as it can be only after some hundreds.
ARITHMETIC_REPEATS, REPEATS = 100, 3
NUMBERS = 2048  # fit into the fastest cache
ROWS = 500  # take a millisecond or two
BUFFER_BYTES = 32 * 2**20  # read in pieces, so that a piece has left the caches before it is read again
PIECE_BYTES = 2**20


class ReferenceWork:
    """Arithmetic within a core, and reading from memory; by NumPy, since it runs in every framework's worker.

    Both together take less than a millisecond. Slow arithmetic shows a lower clock or a neighbour on the same
    core, which neither load nor steal shows if it is another virtual machine's. Slow reading shows a busy memory.
    Arithmetic on all cores at once shows how many cores' work they do: a host may run several on one core of its own.
    """

    def __init__(self) -> None:
        self._numbers = np.linspace(1.0, 2.0, NUMBERS)
        self._results = np.empty_like(self._numbers)
        self._pieces = np.ones(BUFFER_BYTES // 8).reshape(-1, PIECE_BYTES // 8)
        self._turn = 0

    def arithmetic_s(self) -> float:
        """Return the seconds that a few thousand square roots and exponentials take."""
        return min(self._calculate_s() for _ in range(ARITHMETIC_REPEATS))

    def cores_worth(self, places: Sequence[int]) -> float:
        """Return how many times the work of one core the cores of these numbers do at once."""
        single_s, all_s = (min(self._at_once_s(used) for _ in range(REPEATS)) for used in (places[:1], places))
        return len(places) * single_s / all_s

    def memory_s(self) -> float:
        """Return the seconds in which a mebibyte is read from memory."""
        return min(self._read_s() for _ in range(REPEATS))

    def _calculate_s(self) -> float:
        start = time.perf_counter()
        np.sqrt(self._numbers, out=self._results)
        np.exp(self._numbers, out=self._results)
        return time.perf_counter() - start

    def _at_once_s(self, places: Sequence[int]) -> float:
        """Return the seconds from the first start to the last end of threads, one on each of these cores."""
        ready = Barrier(len(places))
        with ThreadPoolExecutor(len(places)) as pool:
            begun, ended = zip(*pool.map(self._take_roots, repeat(ready), places), strict=True)
        return float(max(ended) - min(begun))

    def _take_roots(self, ready: Barrier, place: int) -> tuple[float, float]:
        """Take millions of roots in one call, which releases the interpreter's lock; return its start and end."""
        with suppress(OSError):  # some containers forbid it
            os.sched_setaffinity(0, {place})  # affects this thread only
        results = as_strided(np.empty_like(self._numbers), (ROWS, NUMBERS), (0, self._numbers.itemsize))
        ready.wait()
        begun = time.perf_counter()
        np.sqrt(np.broadcast_to(self._numbers, (ROWS, NUMBERS)), out=results)
        return begun, time.perf_counter()

    def _read_s(self) -> float:
        self._turn = (self._turn + 1) % len(self._pieces)
        piece = self._pieces[self._turn]
        start = time.perf_counter()
        piece.sum()
        return time.perf_counter() - start


@cache
def reference() -> ReferenceWork:
    """Return this process's reference work, whose memory is allocated on first use."""
    return ReferenceWork()


BUSY_SHARE = 0.05  # of the cores, used by others, is worth a remark; a desktop's own daemons use less
WORTH_SHARE = 0.7  # of the cores; all of them at once do a little less work each, because the clock is lower
PRESSURE_SHARE = 0.1  # of the time in which work waited for a core
CLOCK_TICK_S = 0.01  # the kernel counts CPU time in ticks, per core
AT_WORK = 0.1  # a GPU that is used less may lower its clock because it is idle
FALLEN_SHARE = 0.75  # of the default clock: nvbench discards samples below it
_PRESSURE = Path("/proc/pressure/cpu")
_TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, kw_only=True)
class GpuReading:
    """One GPU at one moment. ``other_processes`` counts those that are not of this process tree."""

    index: int = 0
    uuid: str = ""
    is_slice: bool = False
    sm_clock_mhz: float | None = None
    default_clock_mhz: float | None = None
    temperature_c: float | None = None
    utilisation: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    other_processes: int = 0

    @property
    def at_work(self) -> bool:
        """Whether the GPU is busy, so that a low clock is not that of an idle GPU."""
        return bool(self.throttle_reasons) or (self.utilisation or 0.0) >= AT_WORK


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Counters of the machine and of this process; None if the system has no such counter.

    ``own_cpu_s`` is the CPU time of this process and its descendants, ``busy_cpu_s`` and ``stolen_cpu_s`` are the
    whole machine's, summed over its ``cores``. ``waiting_s`` is the time in which some runnable work had no core.
    ``arithmetic_s`` and ``memory_s`` are the times of pieces of reference work at that moment, and ``cores_worth`` is
    how many times the work of one core ``cores_asked`` cores did at once.
    """

    at_s: float = 0.0
    cores: int
    own_cpu_s: float
    busy_cpu_s: float
    stolen_cpu_s: float | None = None
    waiting_s: float | None = None
    load_1min: float | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    arithmetic_s: float | None = None
    memory_s: float | None = None
    cores_asked: int = 1
    cores_worth: float | None = None
    gpus: tuple[GpuReading, ...] = ()


def glance(gpus: Collection[str] = ()) -> Snapshot:
    """Return the counters, the times of reference work and the clocks of GPUs by UUID, within about a millisecond."""
    work = reference()
    snapshot = read(nvml.clocks(gpus) if gpus else ())
    return replace(snapshot, arithmetic_s=work.arithmetic_s(), memory_s=work.memory_s())


def look(cores: int, before: Snapshot | None = None) -> Snapshot:
    """Return the counters and, on Linux, the work that at most ``cores`` of this process's cores do at once.

    Where a look ``before`` found that the cores share nothing, its answer is returned again: one of two suffices.
    """
    places = cores_of_this_process()[:cores]
    worth = before.cores_worth if before else None
    if len(places) > 1 and (worth is None or worth < WORTH_SHARE * len(places)):
        worth = reference().cores_worth(places)
    return replace(read(), cores_asked=len(places), cores_worth=worth)


def cores_of_this_process() -> list[int]:
    """Return the numbers of the cores that this process may use, one hyper-thread of each."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    of_core: dict[str, int] = {}
    for place in sorted(os.sched_getaffinity(0)):
        siblings = str(place)
        with suppress(OSError):
            siblings = (_TOPOLOGY / f"cpu{place}" / "topology" / "thread_siblings_list").read_text()
        of_core.setdefault(siblings, place)
    return list(of_core.values())


def read(gpus: Sequence[nvml.GpuState] | None = None) -> Snapshot:
    """Return the counters, and the state of the GPUs, which is read unless it is given."""
    process, processes = psutil.Process(), resources.process_tree()
    own = {member.pid for member in processes}
    load = switches = None
    with suppress(OSError, AttributeError):
        load = os.getloadavg()[0]
    with suppress(psutil.Error, NotImplementedError, AttributeError):
        switches = process.num_ctx_switches()
    own_cpu_s, machine = resources.cpu_s(processes), psutil.cpu_times()
    return Snapshot(
        at_s=time.perf_counter(),
        cores=psutil.cpu_count() or 1,
        own_cpu_s=own_cpu_s,
        busy_cpu_s=sum(getattr(machine, kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq")),
        stolen_cpu_s=getattr(machine, "steal", None),
        waiting_s=_waiting_s(),
        load_1min=load,
        voluntary_switches=switches.voluntary if switches else None,
        involuntary_switches=switches.involuntary if switches else None,
        gpus=tuple(_gpu(state, own) for state in (nvml.gpus() if gpus is None else gpus)),
    )


def _waiting_s() -> float | None:
    with suppress(OSError, ValueError, IndexError):
        return int(_PRESSURE.read_text().splitlines()[0].rpartition("total=")[2]) / 1e6
    return None


def _gpu(state: nvml.GpuState, own: set[int]) -> GpuReading:
    # In a container the driver may list process ids of the host, so an id that does not exist here is ignored.
    others = [pid for pid in state.process_ids if pid not in own and psutil.pid_exists(pid)]
    return GpuReading(
        index=state.index,
        uuid=state.uuid,
        is_slice=state.is_slice,
        sm_clock_mhz=state.sm_clock_mhz,
        default_clock_mhz=state.default_clock_mhz,
        temperature_c=state.temperature_c,
        utilisation=state.utilisation,
        throttle_reasons=state.throttle_reasons,
        other_processes=len(others),
    )


def on_gpus(snapshot: Snapshot, gpus: Collection[str]) -> Snapshot:
    """Return the snapshot with the readings of these GPUs alone."""
    return replace(snapshot, gpus=tuple(gpu for gpu in snapshot.gpus if nvml.is_among(gpu.uuid, gpus)))


def describe_other_work(remarks: Sequence[Sequence[Reason]]) -> str:
    """Return in sentences what other work took from the machine, "" for nothing.

    ``remarks`` are those on each trial.
    """
    alike = group(each for of_trial in remarks for each in of_trial if each.code in OTHER_WORK)
    found = [f"{describe(each, brief=True)} in {len(each)} of {plural(len(remarks), 'trial')}" for each in alike]
    said = f"Other work was in the way: {'; '.join(found)}. On a quieter machine, the numbers may differ."
    return said if found else ""


def disturbance(
    before: Snapshot, after: Snapshot, glances: Sequence[Snapshot] = ()
) -> tuple[dict[str, float], list[Reason]]:
    """Return figures of what happened between two snapshots, and remarks on what may have disturbed the trial.

    ``other_cores`` and ``stolen_cores`` are means over the time, ``cpu_waiting_share`` is a fraction of it.
    ``gpuN_lowest_clock_share`` is the lowest clock of the ``glances`` during the timing, of the default clock.
    """
    wall_s = after.at_s - before.at_s
    if wall_s <= 0:
        return {}, []
    figures = dict(_counter_figures(before, after)) | dict(_lowest_clocks(before.gpus, glances))
    gpus = [snapshot.gpus for snapshot in (before, *glances, after) if snapshot.gpus]
    remarks = [*_remark_cpu(figures, after.cores, after.cores_asked, wall_s), *_remark_gpus(gpus)]
    return figures, [*remarks, *_remark_clocks(before.gpus, figures)]


def _counter_figures(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, float]]:
    """Yield the figures that follow from counters, over the time between the two readings of the counters."""
    wall_s = after.at_s - before.at_s
    others_s = (after.busy_cpu_s - before.busy_cpu_s) - (after.own_cpu_s - before.own_cpu_s)
    yield "other_cores", max(0.0, others_s) / wall_s
    for name, counter in (
        ("stolen_cores", "stolen_cpu_s"),
        ("cpu_waiting_share", "waiting_s"),
        ("voluntary_switches_per_s", "voluntary_switches"),
        ("involuntary_switches_per_s", "involuntary_switches"),
    ):
        first, last = getattr(before, counter), getattr(after, counter)
        if first is not None and last is not None:
            per_s = max(0.0, last - first) / wall_s
            # The kernel's clock of the waiting time runs a little ahead of ours; no share is larger than the whole.
            yield name, min(1.0, per_s) if name.endswith("_share") else per_s
    if before.cores_worth and after.cores_worth:
        yield "cores_worth", max(before.cores_worth, after.cores_worth)
    if after.load_1min is not None:
        yield "load_1min", after.load_1min
    for gpu in after.gpus:
        if gpu.sm_clock_mhz is not None:
            yield f"gpu{gpu.index}_sm_clock_mhz", gpu.sm_clock_mhz
        if gpu.temperature_c is not None:
            yield f"gpu{gpu.index}_temperature_c", gpu.temperature_c


def _remark_cpu(figures: dict[str, float], cores: int, asked: int, wall_s: float) -> Iterator[Reason]:
    negligible = BUSY_SHARE * cores + 2 * cores * CLOCK_TICK_S / wall_s
    if (used := figures["other_cores"]) > negligible:
        yield reason("other-processes", used=used, cores=cores)
    if (stolen := figures.get("stolen_cores", 0.0)) > negligible:
        yield reason("stolen-cores", stolen=stolen, cores=cores)
    if (share := figures.get("cpu_waiting_share", 0.0)) > PRESSURE_SHARE:
        yield reason("waited-for-core", share=share)
    if (worth := figures.get("cores_worth", math.inf)) < WORTH_SHARE * asked:
        yield reason("shared-cores", asked=asked, worth=worth)


def _lowest_clocks(gpus: Sequence[GpuReading], glances: Sequence[Snapshot]) -> Iterator[tuple[str, float]]:
    """Yield the lowest clock of each busy GPU, as a share of its default clock."""
    for gpu in gpus:
        seen = [reading for glance in glances for reading in glance.gpus if reading.uuid == gpu.uuid]
        clocks_mhz = [reading.sm_clock_mhz for reading in seen if reading.sm_clock_mhz and reading.at_work]
        if clocks_mhz and gpu.default_clock_mhz:
            yield f"gpu{gpu.index}_lowest_clock_share", min(clocks_mhz) / gpu.default_clock_mhz


def _remark_clocks(gpus: Sequence[GpuReading], figures: dict[str, float]) -> Iterator[Reason]:
    for gpu in gpus:
        share = figures.get(f"gpu{gpu.index}_lowest_clock_share", 1.0)
        if share < FALLEN_SHARE and gpu.default_clock_mhz:
            yield reason("gpu-clock-fell", gpu=gpu.index, share=share, clock_mhz=gpu.default_clock_mhz)


def _remark_gpus(snapshots: Sequence[Sequence[GpuReading]]) -> Iterator[Reason]:
    for readings in zip(*snapshots, strict=False):
        index = readings[0].index
        if readings[0].is_slice:
            yield reason("gpu-slice", gpu=index)
        if causes := dict.fromkeys(cause for reading in readings for cause in reading.throttle_reasons):
            yield reason("gpu-throttled", gpu=index, throttle_reasons=", ".join(causes))
        if processes := max(reading.other_processes for reading in readings):
            yield reason("gpu-shared", gpu=index, processes=processes)


QUIETEST = 0.05  # of the windows; the worst reading among these is normal for the trial
REFERENCE_WORK = ("arithmetic_s", "memory_s")


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """A reading that shows a disturbance if it is above ``times`` its normal value plus ``over``.

    A reading that ``counts`` ticks of the kernel is uncertain by some of them. ``worst`` names the figure of the worst
    window, which is a multiple of the normal value if ``times`` is above 1. ``of_host`` says that it concerns the host
    alone, for which a busy device does not wait.
    """

    reading: str
    worst: str
    times: float = 1.0
    over: float = 0.0
    counts: bool = False
    of_host: bool = True

    def shown(self, values: np.ndarray, tick: np.ndarray) -> np.ndarray:
        """Return for each window whether it shows the symptom; one without a reading does not."""
        return values > self.times * normal(values) + self.over + self.counts * tick

    def most_slowed(self, values: np.ndarray) -> np.ndarray:
        """Return for each window the log of how much slower an arm may have been; infinite if that cannot be known."""
        if self.times == 1:
            return np.full(len(values), np.inf)
        return SUFFERS * np.log(np.nan_to_num(values / normal(values), nan=1.0))

    def worst_of(self, values: np.ndarray) -> float:
        """Return the figure of the worst window."""
        worst = float(np.nanmax(values))
        return worst / normal(values) if self.times > 1 else worst


# On an idle virtual machine, 95 % of the reference work took less than 1.1 times (arithmetic) and 1.6 times (memory)
# its shortest. nvbench discards samples below 75 % of a GPU's default clock; a trial's highest is a nearer norm.
SYMPTOMS = (
    Symptom(reading="other_cores", worst="most_other_cores", over=0.25, counts=True),
    Symptom(reading="stolen_cores", worst="most_stolen_cores", over=0.25, counts=True),
    Symptom(reading="cpu_waiting_share", worst="most_cpu_waiting_share", over=0.5, counts=True),
    Symptom(reading="arithmetic_s", worst="cpu_slowdown", times=1.2),
    Symptom(reading="memory_s", worst="memory_slowdown", times=1.8),
    Symptom(reading="gpu_cycle_s", worst="gpu_slowdown", times=1.1, of_host=False),
)


def normal(values: np.ndarray) -> float:
    """Return the worst reading of the quietest windows."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[int(QUIETEST * (len(known) - 1))])


def readings(before: Snapshot, after: Snapshot, *, counters_from_s: float) -> Iterator[tuple[str, float]]:
    """Yield the readings of the time between two snapshots, by the names that symptoms use.

    Counters are too coarse for less than ``counters_from_s``. Of the readings of one moment, the worse end counts.
    """
    if after.at_s - before.at_s >= counters_from_s:
        yield from _counter_figures(before, after)
    ends = (before, after)
    for name in REFERENCE_WORK:
        if known := [value for end in ends if (value := getattr(end, name)) is not None]:
            yield name, max(known)
    if clocks := [gpu.sm_clock_mhz for end in ends for gpu in end.gpus if gpu.sm_clock_mhz and gpu.at_work]:
        yield "gpu_cycle_s", 1e-6 / min(clocks)


SUFFERS = 2  # times as much as reference work, on the log scale, an arm suffers at most
WINDOW_S = 0.1
READING_MULTIPLE = 50  # a window lasts at least this multiple of the time of a reading
WORTH_REPORTING = 0.05  # of the timing


class InterferenceMonitor:
    """Divides the timing of a trial into windows; ``clock`` and ``read`` are injected.

    ``read`` is called with ``gpus``, the UUIDs of the trial's GPUs, which are known once its arms are built.
    ``quietest`` holds the times of reference work in the trials before, and is updated by this one. ``glances`` are the
    snapshots so far.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        read: Callable[[Collection[str]], Snapshot],
        quietest: dict[str, float] | None = None,
    ) -> None:
        self.gpus: Collection[str] = ()
        self._clock = clock
        self._read = read
        self._quietest = {} if quietest is None else quietest
        self._due_s = math.inf
        self._before: Snapshot | None = None
        self._readings: list[dict[str, float]] = []
        self._spans_s: list[float] = []
        self._ticks: list[float] = []  # the uncertainty of the kernel's counts, in cores
        self.glances: list[Snapshot] = []

    @classmethod
    def disabled(cls) -> InterferenceMonitor:
        """Return a monitor that never reads the machine and finds no disturbance."""
        nothing = Snapshot(cores=1, own_cpu_s=0.0, busy_cpu_s=0.0)
        return cls(lambda: 0.0, lambda _: nothing)

    @property
    def current(self) -> int:
        """The number of the window that is open."""
        return len(self._spans_s)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep windows open during a stretch of rounds."""
        self._take()
        try:
            yield
        finally:
            self._take()
            self._before, self._due_s = None, math.inf
            self._learn()

    def turn(self) -> None:
        """Close the window and open the next one if it is time; to be called between two rounds."""
        if self._clock() >= self._due_s:
            self._take()

    def slowdowns(self, *, of_host: bool = True) -> np.ndarray:
        """Return for each window the log of how much slower than normal an arm may have been.

        That is 0 for an undisturbed window, and for the last one, which is still open. It is infinite where the
        disturbance does not show how much time it took. Without ``of_host``, symptoms of the host alone do not count.
        """
        slowed = np.zeros(self.current + 1)
        for symptom, values in self._symptoms():
            if of_host or not symptom.of_host:
                shown = symptom.shown(values, np.array(self._ticks))
                slowed[:-1] = np.maximum(slowed[:-1], np.where(shown, symptom.most_slowed(values), 0.0))
        return slowed

    def figures(self) -> dict[str, float]:
        """Return the share of the time that was disturbed, and the worst window of each reading."""
        worst = {symptom.worst: symptom.worst_of(values) for symptom, values in self._symptoms()}
        return {"disturbed_share": self._disturbed_share(), **worst} if worst else {}

    def reasons(self, *, left_out_pairs: bool = True) -> list[Reason]:
        """Return what was slower throughout than in earlier trials, and what disturbed a part of the timing.

        The latter is no reason where it ``left_out_pairs`` from none of the trial's contrasts.
        """
        slowdowns, causes = {}, {}
        for symptom, values in self._symptoms():
            slower = normal(values) / self._quietest.get(symptom.reading, math.inf)
            if slower > symptom.times:
                slowdowns[symptom.worst] = slower
            if symptom.shown(values, np.array(self._ticks)).any():
                causes[symptom.worst] = symptom.worst_of(values)
        found = [reason("slower-than-before", **slowdowns)] if slowdowns else []
        if left_out_pairs and (share := self._disturbed_share()) >= WORTH_REPORTING:
            found.append(reason("timing-disturbed", share=share, **causes))
        return found

    def _take(self) -> None:
        """Read the machine; close the window that was open, and open another one."""
        start_s = self._clock()
        after = self._read(self.gpus)
        self.glances.append(after)
        if self._before is not None:
            span_s = max(after.at_s - self._before.at_s, 1e-9)
            self._readings.append(dict(readings(self._before, after, counters_from_s=WINDOW_S / 2)))
            self._spans_s.append(span_s)
            self._ticks.append(2 * CLOCK_TICK_S * math.sqrt(after.cores) / span_s)  # one at each end, for every core
        self._before = after
        self._due_s = self._clock() + max(WINDOW_S, READING_MULTIPLE * (self._clock() - start_s))

    def _learn(self) -> None:
        for symptom, values in self._symptoms():
            if symptom.reading in REFERENCE_WORK:
                known_s = self._quietest.get(symptom.reading, math.inf)
                self._quietest[symptom.reading] = min(known_s, normal(values))

    def _symptoms(self) -> Iterator[tuple[Symptom, np.ndarray]]:
        """Yield every symptom that this machine can show, with its readings in the windows."""
        for symptom in SYMPTOMS:
            values = np.array([known.get(symptom.reading, np.nan) for known in self._readings])
            if np.isfinite(values).any():
                yield symptom, values

    def _disturbed_share(self) -> float:
        return float(np.average(self.slowdowns()[:-1] > 0, weights=self._spans_s)) if self._spans_s else 0.0
