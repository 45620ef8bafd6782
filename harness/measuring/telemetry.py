"""What else the machine did while something was measured."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from harness import nvml
from harness.measuring import family
from harness.measuring.reference import reference
from harness.units import named, percent, significant

BUSY_SHARE = 0.05  # of the cores taken by others is worth a sentence; below, a desktop's own daemons would be
WORTH_SHARE = 0.7  # of the cores; a little less by all of them at once is the clock's
PRESSURE_SHARE = 0.1  # of the time in which work waited for a core
CLOCK_TICK_S = 0.01  # the kernel counts CPU time in ticks, per core
AT_WORK = 0.1  # a GPU that is used less may lower its clock because it rests
FALLEN_SHARE = 0.75  # of the default clock: nvbench discards samples below it
_PRESSURE = Path("/proc/pressure/cpu")
_TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, kw_only=True)
class GpuReading:
    """One GPU at one moment. ``other_processes`` are those that are neither this process nor its kin."""

    sm_clock_mhz: float | None = None
    default_clock_mhz: float | None = None
    temperature_c: float | None = None
    utilisation: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    other_processes: int = 0

    @property
    def at_work(self) -> bool:
        """Whether a low clock is none of resting."""
        return bool(self.throttle_reasons) or (self.utilisation or 0.0) >= AT_WORK


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Counters of the machine and of this process; None where the system keeps none.

    ``own_cpu_s`` is the CPU time of this process and its descendants, ``busy_cpu_s`` and ``stolen_cpu_s`` are the
    whole machine's, summed over its ``cores``. ``waiting_s`` is the time in which some runnable work had no core.
    ``arithmetic_s`` and ``memory_s`` are what pieces of work of a fixed length took just then, and ``cores_worth`` is
    how many times the work of one core ``cores_asked`` of them did at once.
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


def glance(*, gpus: bool) -> Snapshot:
    """Return the counters and what reference work takes, in half a millisecond; of the GPUs their clocks alone."""
    work = reference()
    snapshot = read(nvml.clocks() if gpus else ())
    return replace(snapshot, arithmetic_s=work.arithmetic_s(), memory_s=work.memory_s())


def look(cores: int) -> Snapshot:
    """Return the counters and, on Linux, what the cores are worth that this process may use, of so many at most."""
    places = _places()[:cores]
    worth = reference().cores_worth(places) if len(places) > 1 else None
    return replace(read(), cores_asked=len(places), cores_worth=worth)


def _places() -> list[int]:
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
    """Return the counters as they stand, and the GPUs' state unless it is known."""
    machine, process = psutil.cpu_times(), psutil.Process()
    processes = family.members()
    own = {member.pid for member in processes}
    load = switches = None
    with suppress(OSError, AttributeError):
        load = os.getloadavg()[0]
    with suppress(psutil.Error, NotImplementedError, AttributeError):
        switches = process.num_ctx_switches()
    return Snapshot(
        at_s=time.perf_counter(),
        cores=psutil.cpu_count() or 1,
        own_cpu_s=family.cpu_s(processes),
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
    # In a container the driver may give process numbers of the host: one that does not exist here tells nothing.
    others = [pid for pid in state.process_ids if pid not in own and psutil.pid_exists(pid)]
    return GpuReading(
        sm_clock_mhz=state.sm_clock_mhz,
        default_clock_mhz=state.default_clock_mhz,
        temperature_c=state.temperature_c,
        utilisation=state.utilisation,
        throttle_reasons=state.throttle_reasons,
        other_processes=len(others),
    )


def disturbance(
    before: Snapshot, after: Snapshot, wall_s: float, glances: Sequence[Snapshot] = ()
) -> tuple[dict[str, float], list[str]]:
    """Return what happened between two snapshots, as figures and as sentences where it may have disturbed.

    ``other_cores`` and ``stolen_cores`` are means over the time, ``cpu_waiting_share`` is a fraction of it.
    ``gpuN_lowest_clock_share`` is the lowest clock of the ``glances`` during the timing, of the default clock.
    """
    if wall_s <= 0:
        return {}, []
    figures = counted(before, after, wall_s) | dict(_lowest_clocks(before.gpus, glances))
    gpus = [snapshot.gpus for snapshot in (before, *glances, after) if snapshot.gpus]
    sentences = [*_cpu_sentences(figures, after.cores, after.cores_asked, wall_s), *_gpu_sentences(gpus)]
    return figures, [*sentences, *_clock_sentences(before.gpus, figures)]


def counted(before: Snapshot, after: Snapshot, wall_s: float) -> dict[str, float]:
    """Return what the counters say of the time between two snapshots."""
    return dict(_figures(before, after, wall_s))


def _figures(before: Snapshot, after: Snapshot, wall_s: float) -> Iterator[tuple[str, float]]:
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
            yield name, max(0.0, last - first) / wall_s
    if before.cores_worth and after.cores_worth:
        yield "cores_worth", max(before.cores_worth, after.cores_worth)
    if after.load_1min is not None:
        yield "load_1min", after.load_1min
    for index, gpu in enumerate(after.gpus):
        if gpu.sm_clock_mhz is not None:
            yield f"gpu{index}_sm_clock_mhz", gpu.sm_clock_mhz
        if gpu.temperature_c is not None:
            yield f"gpu{index}_temperature_c", gpu.temperature_c


def _cpu_sentences(figures: dict[str, float], cores: int, asked: int, wall_s: float) -> Iterator[str]:
    worth_saying = BUSY_SHARE * cores + 2 * cores * CLOCK_TICK_S / wall_s
    if (others := figures["other_cores"]) > worth_saying:
        yield f"other processes used {significant(others, 2)} of {cores} cores while this was measured"
    if (stolen := figures.get("stolen_cores", 0.0)) > worth_saying:
        yield f"the hypervisor took {significant(stolen, 2)} of {cores} cores away while this was measured"
    if (waiting := figures.get("cpu_waiting_share", 0.0)) > PRESSURE_SHARE:
        yield f"work waited for a free core during {percent(waiting)} of the time in which this was measured"

    if (worth := figures.get("cores_worth", math.inf)) < WORTH_SHARE * asked:
        did = f"{asked} cores at once did {significant(worth, 2)} times the work of one"
        yield f"{did}, before and after this was measured: the host may run them on fewer cores of its own"


def _lowest_clocks(gpus: Sequence[GpuReading], glances: Sequence[Snapshot]) -> Iterator[tuple[str, float]]:
    """Yield how low each GPU that worked was seen, as a share of the clock that its driver aims at."""
    for index, gpu in enumerate(gpus):
        seen = [glance.gpus[index] for glance in glances if index < len(glance.gpus)]
        clocks_mhz = [reading.sm_clock_mhz for reading in seen if reading.sm_clock_mhz and reading.at_work]
        if clocks_mhz and gpu.default_clock_mhz:
            yield f"gpu{index}_lowest_clock_share", min(clocks_mhz) / gpu.default_clock_mhz


def _clock_sentences(gpus: Sequence[GpuReading], figures: dict[str, float]) -> Iterator[str]:
    for index, gpu in enumerate(gpus):
        share = figures.get(f"gpu{index}_lowest_clock_share", 1.0)
        if share < FALLEN_SHARE and gpu.default_clock_mhz:
            clock = named("sm_clock_mhz", gpu.default_clock_mhz)
            yield f"the clock of GPU {index} fell to {percent(share)} of its {clock} while this was measured"


def _gpu_sentences(snapshots: Sequence[Sequence[GpuReading]]) -> Iterator[str]:
    for index, readings in enumerate(zip(*snapshots, strict=False)):
        if reasons := dict.fromkeys(reason for reading in readings for reason in reading.throttle_reasons):
            yield f"GPU {index} was held below its clock ({', '.join(reasons)}) while this was measured"
        if others := max(reading.other_processes for reading in readings):
            plural = "es" if others > 1 else ""
            yield f"GPU {index} was shared with {others} other process{plural} while this was measured"
