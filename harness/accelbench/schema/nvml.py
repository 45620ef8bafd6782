"""NVIDIA GPUs as their driver reports them. This never starts CUDA; a machine without a driver has no GPUs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pynvml

# Reasons for a clock below the GPU's maximum. Idling is not among them: an idle GPU lowers its clock.
_THROTTLE_REASONS = {
    pynvml.nvmlClocksEventReasonSwPowerCap: "power cap",
    pynvml.nvmlClocksEventReasonHwSlowdown: "hardware slowdown",
    pynvml.nvmlClocksEventReasonSyncBoost: "sync boost",
    pynvml.nvmlClocksEventReasonSwThermalSlowdown: "temperature",
    pynvml.nvmlClocksEventReasonHwThermalSlowdown: "temperature, by hardware",
    pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown: "power brake",
}


@dataclass(frozen=True, kw_only=True)
class GpuState:
    """One GPU, or a slice of one (MIG), at one moment; None where the driver reports no value.

    ``index`` is the driver's number of the GPU. ``utilisation`` is the share of the driver's latest period in which at
    least one kernel ran, from 0 to 1. A slice has a ``board_uuid``, that of the whole GPU, and a number of
    ``multiprocessors``. Clock, temperature, throttle reasons and power limit of a slice are those of the whole GPU; its
    utilisation, power and energy are unknown, since the driver counts them for the whole GPU only.
    """

    name: str
    index: int = 0
    uuid: str = ""
    board_uuid: str = ""
    multiprocessors: int | None = None
    memory_bytes: int = 0
    free_memory_bytes: int | None = None
    sm_clock_mhz: float | None = None
    applications_clock_mhz: float | None = None
    boost_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    utilisation: float | None = None
    compute_capability: str | None = None
    throttle_reasons: tuple[str, ...] = ()
    process_ids: tuple[int, ...] = ()

    @property
    def is_slice(self) -> bool:
        """Whether it is a slice of a GPU."""
        return bool(self.board_uuid)

    @property
    def default_clock_mhz(self) -> float | None:
        """The clock under load: the applications clock, or the boost clock of drivers without one."""
        return self.applications_clock_mhz or self.boost_clock_mhz


def gpus(uuids: Collection[str] | None = None) -> list[GpuState]:
    """Return the NVIDIA GPUs with these UUIDs, or all of them, in the driver's order.

    The slices of a GPU (MIG) stand in its place. UUIDs are compared without their prefix, ``GPU-`` or ``MIG-``.
    """
    return [_state(each) for each in _find(uuids)]


def clocks(uuids: Collection[str]) -> list[GpuState]:
    """Return these GPUs with only the values that change from moment to moment, which are quick to read."""
    return [_clock(each) for each in _find(uuids)]


def energy_j(uuid: str) -> float | None:
    """Return the energy of a GPU since its driver was loaded, in joules; None for a slice of a GPU.

    Volta and newer GPUs count it, in steps of ten milliseconds or more (seen in pynvml, pull request 18).
    """
    energies = (
        _ask(pynvml.nvmlDeviceGetTotalEnergyConsumption, each.handle) for each in _find([uuid]) if each.is_whole
    )
    return _from_milli(next(energies, None))


def visible(setting: str | None, gpus: Sequence[GpuState]) -> list[GpuState]:
    """Return the GPUs that a value of CUDA_VISIBLE_DEVICES leaves visible, None if it is not set.

    An entry is an index, a UUID or the beginning of one. The first entry that matches no GPU ends the list (CUDA C++
    Programming Guide, chapter on environment variables). A process sees one slice of one GPU, the first of those that
    are asked for (NVIDIA's MIG User Guide, chapter on device enumeration).
    """
    shown: list[GpuState] = []
    for entry in range(len(gpus)) if setting is None else map(str.strip, setting.split(",")):
        found = _match(str(entry), gpus)
        if found is None:
            break
        shown.append(found)
    slices = [gpu for gpu in shown if gpu.is_slice]
    return slices[:1] or shown


def _match(entry: str, gpus: Sequence[GpuState]) -> GpuState | None:
    """Return the first GPU, or slice, that an entry of CUDA_VISIBLE_DEVICES names.

    Older drivers name a slice by its GPU and two numbers, such as ``MIG-GPU-8a1f22/1/0``; newer ones accept that too.
    """
    if entry.isdecimal():
        return gpus[int(entry)] if int(entry) < len(gpus) else None
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    names = (entry, entry.removeprefix("MIG-").partition("/")[0])
    return next((gpu for gpu in gpus if gpu.uuid.startswith(entry) or gpu.board_uuid.startswith(names)), None)


def driver() -> dict[str, str]:
    """Return the driver's version and the newest CUDA that it can run."""
    if not _has_started():
        return {}
    found = {}
    if version := _ask(pynvml.nvmlSystemGetDriverVersion):
        found["driver.nvidia"] = str(version)
    if cuda := _ask(pynvml.nvmlSystemGetCudaDriverVersion_v2):
        found["driver.cuda"] = f"{cuda // 1000}.{cuda % 1000 // 10}"
    return found


def silence() -> str:
    """Return why the driver does not answer, such as ``Driver Not Loaded``; "" where it does."""
    try:
        pynvml.nvmlInit()  # cheap once it is loaded
    except pynvml.NVMLError as error:
        return str(error)
    return ""


def _has_started() -> bool:
    return not silence()


@dataclass(frozen=True, kw_only=True)
class _GpuHandles:
    """The driver's handles of a GPU and of the whole GPU, which is another one for a slice."""

    index: int
    handle: Any
    board: Any

    @property
    def is_whole(self) -> bool:
        return self.handle is self.board


def _find(uuids: Collection[str] | None) -> list[_GpuHandles]:
    """Return the GPUs, and slices of GPUs, with these UUIDs, or all."""
    if uuids is None:
        return list(_all())
    return [each for each in _all() if is_among(_uuid(each.handle), uuids)]


def _all() -> Iterator[_GpuHandles]:
    for index in range(_ask(pynvml.nvmlDeviceGetCount) or 0) if _has_started() else ():
        board = _ask(pynvml.nvmlDeviceGetHandleByIndex, index)
        if board is not None:
            handles = _slices(board) or [board]
            yield from (_GpuHandles(index=index, handle=handle, board=board) for handle in handles)


def _slices(board: Any) -> list[Any]:
    """Return the handles of a GPU's slices; none if it is not divided."""
    mode = _ask(pynvml.nvmlDeviceGetMigMode, board)
    if not mode or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
        return []
    most = _ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, board) or 0
    handles = (_ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, board, place) for place in range(most))
    return [handle for handle in handles if handle is not None]


def is_among(uuid: str, uuids: Collection[str]) -> bool:
    """Return whether a UUID is one of these, with or without its prefix."""
    return _without_prefix(uuid) in {_without_prefix(each) for each in uuids}


def _uuid(handle: Any) -> str:
    return str(_ask(pynvml.nvmlDeviceGetUUID, handle) or "")


def _without_prefix(uuid: str) -> str:
    """Return a UUID as CUDA knows it, which has no prefix for GPUs and their slices."""
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()


def _ask(question: Callable[..., Any], *arguments: Any) -> Any:
    """Return the driver's answer, or None where this GPU or this driver has none."""
    try:
        return question(*arguments)
    except (
        pynvml.NVMLError,
        pynvml.NVMLLibraryMismatchError,
    ):  # the second comes from drivers older than pynvml, and is no subclass
        return None


def _state(found: _GpuHandles) -> GpuState:
    handle, board = found.handle, found.board
    memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    processes = _ask(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    attributes = None if found.is_whole else _ask(pynvml.nvmlDeviceGetAttributes, handle)
    return replace(
        _clock(found),
        multiprocessors=attributes.multiprocessorCount if attributes else None,
        memory_bytes=memory.total if memory else 0,
        free_memory_bytes=memory.free if memory else None,
        applications_clock_mhz=_ask(pynvml.nvmlDeviceGetApplicationsClock, board, pynvml.NVML_CLOCK_SM),
        boost_clock_mhz=_boost_clock_mhz(board),
        power_w=_from_milli(_ask(pynvml.nvmlDeviceGetPowerUsage, board)) if found.is_whole else None,
        power_limit_w=_from_milli(_ask(pynvml.nvmlDeviceGetEnforcedPowerLimit, board)),
        compute_capability=_format_capability(_ask(pynvml.nvmlDeviceGetCudaComputeCapability, board)),
        process_ids=tuple(process.pid for process in processes),
    )


def _clock(found: _GpuHandles) -> GpuState:
    board = found.board
    reasons = _ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons, board) or 0
    rates = _ask(pynvml.nvmlDeviceGetUtilizationRates, board) if found.is_whole else None
    name = _ask(pynvml.nvmlDeviceGetName, found.handle) or _ask(pynvml.nvmlDeviceGetName, board)
    return GpuState(
        name=str(name or "unknown GPU"),
        index=found.index,
        uuid=_uuid(found.handle),
        board_uuid="" if found.is_whole else _uuid(board) or "unknown",
        sm_clock_mhz=_ask(pynvml.nvmlDeviceGetClockInfo, board, pynvml.NVML_CLOCK_SM),
        temperature_c=_ask(pynvml.nvmlDeviceGetTemperature, board, pynvml.NVML_TEMPERATURE_GPU),
        utilisation=rates.gpu / 100 if rates else None,
        throttle_reasons=tuple(words for bit, words in _THROTTLE_REASONS.items() if reasons & bit),
    )


def _boost_clock_mhz(handle: Any) -> float | None:
    """Return the highest clock that the maker of the board allows, or the GPU's highest clock without such a limit."""
    boost: float | None = _ask(pynvml.nvmlDeviceGetMaxCustomerBoostClock, handle, pynvml.NVML_CLOCK_SM)
    highest: float | None = _ask(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_SM)
    return boost or highest


def _format_capability(capability: tuple[int, int] | None) -> str | None:
    return None if capability is None else "{}.{}".format(*capability)


def _from_milli(amount: int | None) -> float | None:
    """Return watts from milliwatts, or joules from millijoules."""
    return None if amount is None else amount / 1000
