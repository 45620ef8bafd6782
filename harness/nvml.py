"""NVIDIA's GPUs as their driver reports them. CUDA is never started, and a machine without a driver has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    """One GPU at one moment; None where the driver does not say."""

    name: str
    uuid: str = ""
    memory_bytes: int = 0
    free_memory_bytes: int | None = None
    sm_clock_mhz: float | None = None
    applications_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    process_ids: tuple[int, ...] = ()


def gpus() -> list[GpuState]:
    """Return every NVIDIA GPU, in the driver's order."""
    if not _started():
        return []
    handles = (_ask(pynvml.nvmlDeviceGetHandleByIndex, index) for index in range(_ask(pynvml.nvmlDeviceGetCount) or 0))
    return [_state(handle) for handle in handles if handle is not None]


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


def _started() -> bool:
    """Start NVML, which costs little once it is loaded, and say whether there is one."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return False
    return True


def _ask(question: Callable[..., Any], *arguments: Any) -> Any:
    """Return the driver's answer, or None where this GPU or this driver has none."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return None


def _state(handle: Any) -> GpuState:
    memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    reasons = _ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons, handle) or 0
    processes = _ask(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return GpuState(
        name=str(_ask(pynvml.nvmlDeviceGetName, handle) or "unknown GPU"),
        uuid=str(_ask(pynvml.nvmlDeviceGetUUID, handle) or ""),
        memory_bytes=memory.total if memory else 0,
        free_memory_bytes=memory.free if memory else None,
        sm_clock_mhz=_ask(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        applications_clock_mhz=_ask(pynvml.nvmlDeviceGetApplicationsClock, handle, pynvml.NVML_CLOCK_SM),
        temperature_c=_ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        power_w=_watts(_ask(pynvml.nvmlDeviceGetPowerUsage, handle)),
        power_limit_w=_watts(_ask(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
        throttle_reasons=tuple(words for bit, words in _THROTTLE_REASONS.items() if reasons & bit),
        process_ids=tuple(process.pid for process in processes),
    )


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
