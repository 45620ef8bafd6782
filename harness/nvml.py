"""NVIDIA's GPUs as their driver reports them. CUDA is never started, and a machine without a driver has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pynvml

# Reasons that hold a GPU's clock below what it could do. Idling is none: that is how a GPU rests.
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
    """One GPU at one moment; None where the driver does not say.

    ``utilisation`` is the share of the driver's latest period in which at least one kernel ran, from 0 to 1.
    """

    name: str
    uuid: str = ""
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
    def default_clock_mhz(self) -> float | None:
        """The clock that the driver aims at under load; drivers that know no applications clock boost to this one."""
        return self.applications_clock_mhz or self.boost_clock_mhz


def gpus() -> list[GpuState]:
    """Return every NVIDIA GPU, in the driver's order."""
    return [_state(handle) for handle in _handles()]


def clocks() -> list[GpuState]:
    """Return of every NVIDIA GPU only what changes from moment to moment, which is quickly asked."""
    return [_clock(handle) for handle in _handles()]


def energies_j() -> list[float | None]:
    """Return of every NVIDIA GPU the energy that it has taken since its driver was loaded, in joules.

    Volta and newer count it, in steps of ten milliseconds or more (seen in pynvml, pull request 18).
    """
    return [_from_milli(_ask(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)) for handle in _handles()]


def driver() -> dict[str, str]:
    """Return the driver's version and the newest CUDA that it can run."""
    if not _started():
        return {}
    found = {}
    if version := _ask(pynvml.nvmlSystemGetDriverVersion):
        found["driver.nvidia"] = str(version)
    if cuda := _ask(pynvml.nvmlSystemGetCudaDriverVersion_v2):
        found["driver.cuda"] = f"{cuda // 1000}.{cuda % 1000 // 10}"
    return found


def silence() -> str:
    """Return why the driver does not answer, such as ``Driver Not Loaded``; an empty text where it does."""
    try:
        pynvml.nvmlInit()  # costs little once it is loaded
    except pynvml.NVMLError as error:
        return str(error)
    return ""


def _started() -> bool:
    return not silence()


def _handles() -> list[Any]:
    if not _started():
        return []
    handles = (_ask(pynvml.nvmlDeviceGetHandleByIndex, index) for index in range(_ask(pynvml.nvmlDeviceGetCount) or 0))
    return [handle for handle in handles if handle is not None]


def _ask(question: Callable[..., Any], *arguments: Any) -> Any:
    """Return the driver's answer, or None where this GPU or this driver has none."""
    try:
        return question(*arguments)
    except (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError):  # the latter of a driver older than pynvml, and no kin
        return None


def _state(handle: Any) -> GpuState:
    memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    processes = _ask(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return replace(
        _clock(handle),
        uuid=str(_ask(pynvml.nvmlDeviceGetUUID, handle) or ""),
        memory_bytes=memory.total if memory else 0,
        free_memory_bytes=memory.free if memory else None,
        applications_clock_mhz=_ask(pynvml.nvmlDeviceGetApplicationsClock, handle, pynvml.NVML_CLOCK_SM),
        boost_clock_mhz=_boost_clock_mhz(handle),
        power_w=_from_milli(_ask(pynvml.nvmlDeviceGetPowerUsage, handle)),
        power_limit_w=_from_milli(_ask(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
        compute_capability=_dotted(_ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)),
        process_ids=tuple(process.pid for process in processes),
    )


def _clock(handle: Any) -> GpuState:
    reasons = _ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons, handle) or 0
    rates = _ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    return GpuState(
        name=str(_ask(pynvml.nvmlDeviceGetName, handle) or "unknown GPU"),
        sm_clock_mhz=_ask(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        temperature_c=_ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        utilisation=rates.gpu / 100 if rates else None,
        throttle_reasons=tuple(words for bit, words in _THROTTLE_REASONS.items() if reasons & bit),
    )


def _boost_clock_mhz(handle: Any) -> float | None:
    """Return the highest clock that the maker of the board allows, or of a board without such a limit the highest."""
    boost: float | None = _ask(pynvml.nvmlDeviceGetMaxCustomerBoostClock, handle, pynvml.NVML_CLOCK_SM)
    highest: float | None = _ask(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_SM)
    return boost or highest


def _dotted(capability: tuple[int, int] | None) -> str | None:
    return None if capability is None else "{}.{}".format(*capability)


def _from_milli(amount: int | None) -> float | None:
    """Return watts from milliwatts, or joules from millijoules."""
    return None if amount is None else amount / 1000
