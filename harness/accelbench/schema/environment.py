"""The fingerprint of hardware and software: the machine, its configuration, and its state at this moment."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cpuinfo
import psutil

from accelbench.schema import nvml
from accelbench.schema.machine_id import cpu_signature
from accelbench.schema.result import Environment, Gpu, Identity

# Variables that change the speed of numerical code. Their values are recorded, so none may contain a secret or a path.
VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "CUPY_ACCELERATORS",
    "CUPY_COMPILE_WITH_PTX",
    "CUPY_GPU_MEMORY_LIMIT",
    "CUPY_TF32",
    "GLIBC_TUNABLES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "NUMPY_MADVISE_HUGEPAGE",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_WAIT_POLICY",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)
_SYSTEM = Path("/sys")
_CPUINFO = Path("/proc/cpuinfo")
_CPUINFO_NAMES = {  # names in /proc/cpuinfo -> names in py-cpuinfo
    "model name": "name",
    "cpu family": "family",
    "CPU implementer": "implementer",
    "CPU part": "part",
    "CPU variant": "variant",
    "Features": "flags",
}
_INSTRUCTIONS = (  # numerical libraries choose their kernels by these
    *("avx2", "f16c", "fma", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_bf16", "amx_fp16", "amx_int8", "asimd", "asimddp", "asimdhp", "bf16", "i8mm", "sve", "sve2"),
)
_DEVICE_ID = re.compile(r"(GPU|MIG)-[0-9A-Fa-f-]+")


def fingerprint() -> Environment:
    """Return identity, configuration and readings together."""
    return Environment(identity=identify(), configuration=configuration(), readings=readings())


def identify() -> Identity:
    """Return the hardware. Clocks, load and drivers do not change it."""
    found = [
        Gpu(
            name=gpu.name,
            memory_gib=_coarse_gib(gpu.memory_bytes, parts=32),
            multiprocessors=gpu.multiprocessors or 0,
            uuid_hash=_hash(gpu.board_uuid or gpu.uuid),
        )
        for gpu in _gpus()
    ]
    return Identity(
        cpu_model=processor()["name"],
        cpu_signature=cpu_signature(processor()),
        cpu_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        memory_gib=_coarse_gib(psutil.virtual_memory().total, parts=8),
        gpus=sorted(found, key=lambda gpu: (gpu.name, gpu.uuid_hash)),
    )


def configuration() -> dict[str, str]:
    """Return what a person could change without changing the hardware."""
    facts: dict[str, Callable[[], Any]] = {
        "os": _operating_system,
        "kernel": platform.release,
        "libc": lambda: " ".join(platform.libc_ver()).strip(),
        "python": lambda: f"{platform.python_implementation()} {platform.python_version()}",
        "accelbench": lambda: version("accelbench"),
        "numpy.version": lambda: version("numpy"),
        "cpu.logical_cores": psutil.cpu_count,
        "cpu.available_cores": _available_cores,
        "cpu.quota_cores": _quota_cores,
        "cpu.instructions": _instructions,
        "cpu.governor": lambda: _settings("devices/system/cpu/cpu*/cpufreq/scaling_governor"),
        "cpu.boost": lambda: _settings("devices/system/cpu/cpufreq/boost"),
        "memory.transparent_huge_pages": _huge_pages,
    }
    return _read(facts) | _gpu_facts("power_limit_w", "applications_clock_mhz") | nvml.driver() | _variables()


def readings() -> dict[str, str]:
    """Return the state of the machine at this moment."""
    facts: dict[str, Callable[[], Any]] = {
        "time_utc": lambda: datetime.now(UTC).isoformat(timespec="seconds"),
        "load.1min": lambda: os.getloadavg()[0],
        "memory.available_bytes": lambda: psutil.virtual_memory().available,
        "cpu.clock_mhz": lambda: round(psutil.cpu_freq().current) or None,
        "cpu.temperature_c": _cpu_temperature_c,
    }
    gpu_facts = ("sm_clock_mhz", "temperature_c", "power_w", "free_memory_bytes", "throttle_reasons")
    return _read(facts) | _gpu_facts(*gpu_facts)


def _read(facts: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """Read every fact, and leave out those that this machine does not report."""
    values: dict[str, str] = {}
    for name, read in facts.items():
        # psutil and the kernel's files offer other facts on every system.
        with suppress(OSError, AttributeError, NotImplementedError, RuntimeError, ValueError, PackageNotFoundError):
            values |= _texts(name, read())
    return values


def _gpus() -> list[nvml.GpuState]:
    """Return the machine's GPUs; of those that are divided, only the slice that this process may use."""
    found = nvml.gpus()
    shown = nvml.visible(os.environ.get("CUDA_VISIBLE_DEVICES"), found)
    return [gpu for gpu in found if gpu in shown or not gpu.is_slice]


def _gpu_facts(*names: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    for index, gpu in enumerate(_gpus()):
        for name in names:
            facts |= _texts(f"gpu{index}.{name}", getattr(gpu, name))
    return facts


def _texts(name: str, value: Any) -> dict[str, str]:
    if value is None or value == "":
        return {}
    if isinstance(value, tuple):
        return {name: ", ".join(value) or "none"}
    return {name: f"{value:g}" if isinstance(value, float) else str(value)}


@cache
def processor() -> dict[str, str]:
    """Return the processor's description, from the kernel if possible, since py-cpuinfo is slow."""
    try:
        first = _CPUINFO.read_text().partition("\n\n")[0]
    except OSError:
        first = ""
    lines = (line.partition(":") for line in first.splitlines())
    fields = {_CPUINFO_NAMES.get(name.strip(), name.strip()): value.strip() for name, _, value in lines}
    if "name" not in fields:
        info = cpuinfo.get_cpu_info()
        fields = {name: " ".join(value) if name == "flags" else str(value) for name, value in info.items()} | fields
        fields["name"] = str(info.get("brand_raw") or platform.machine() or "unknown CPU")
    return fields


def _instructions() -> str:
    flags = processor().get("flags", "").split()
    return ", ".join(name for name in _INSTRUCTIONS if name in flags)


def _coarse_gib(size_bytes: int, *, parts: int) -> int:
    """Return memory in GiB, rounded to a grid of ``parts`` steps per doubling.

    Kernels and drivers reserve a small part of the installed memory, which varies.
    """
    gib = size_bytes / 2**30
    if gib < 1:
        return round(gib)
    step: int = max(1, 2 ** math.floor(math.log2(gib)) // parts)
    return step * round(gib / step)


def _hash(identifier: str) -> str:
    return hashlib.sha256(identifier.encode()).hexdigest()[:12] if identifier else ""


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.mac_ver()[0]}".strip()


def _available_cores() -> int:
    from joblib import cpu_count  # here, since it takes as long to load as NumPy

    return cpu_count()  # type: ignore[no-any-return]


def _quota_cores() -> str:
    """Return the container's CPU quota in cores, from either version of control groups."""
    groups = _SYSTEM / "fs/cgroup"
    try:
        quota, period = (groups / "cpu.max").read_text().split()
    except OSError:
        quota, period = ((groups / f"cpu/cpu.cfs_{part}_us").read_text().strip() for part in ("quota", "period"))
    return "unlimited" if quota in ("max", "-1") else f"{int(quota) / int(period):g}"


def _settings(pattern: str) -> str:
    return ", ".join(sorted({path.read_text().strip() for path in _SYSTEM.glob(pattern)}))


def _huge_pages() -> str:
    chosen = re.search(r"\[(\w+)\]", (_SYSTEM / "kernel/mm/transparent_hugepage/enabled").read_text())
    return chosen[1] if chosen else ""


def _cpu_temperature_c() -> float | None:
    sensors = psutil.sensors_temperatures()
    found = [
        entry.current for name in ("coretemp", "k10temp", "zenpower", "cpu_thermal") for entry in sensors.get(name, [])
    ]
    return max(found, default=None)


def _variables() -> dict[str, str]:
    return {
        f"env.{name}": _DEVICE_ID.sub(lambda found: f"{found[1]}-{_hash(found[0])}", os.environ[name])
        for name in VARIABLES
        if name in os.environ
    }
