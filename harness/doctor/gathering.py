"""Gather the facts of this machine. Every framework is asked in a worker process; this process imports none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

import psutil
from packaging.utils import canonicalize_name

from harness import environment, nvml
from harness.doctor.facts import Facts, FrameworkFacts
from harness.frameworks.protocol import FRAMEWORKS
from harness.measuring.handle import Worker, WorkerLostError

PATIENCE_S = 120.0  # without an answer: a first import from a slow network disk takes a minute

# Flags of x86 and Arm processors that compute in bfloat16, by the names that Linux gives them.
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16", "svebf16"}
_PACKAGES = re.compile(r"torch|tensorflow(-\w+)?|tf-nightly(-\w+)?|cupy(-.+)?|nvidia-.+")
_NVIDIA, _DISPLAY = "0x10de", "0x03"  # a vendor of PCI devices, and the class of display controllers
_SYSTEM = Path("/sys")
# Lines of Python's warnings, of abseil's log (W0000 00:00:17.3 12 file.cc:1] text) and of TensorFlow's older one.
_WARNING = re.compile(r"(?:\w*Warning: |^[WEF]\d{4} .*?\] |^[-\d]+ [\d:.]+: [WEF] .*?\] )(?P<text>.+)")
_ORIGIN = re.compile(r"\s*\(Triggered internally at .*\)$")


def gather() -> Facts:
    """Return the facts of this machine; a framework that does not answer in ``PATIENCE_S`` is stopped."""
    gpus = nvml.gpus()  # before a framework starts on one, so that every process seen on it is somebody else's
    memory = psutil.virtual_memory()  # likewise
    limit_bytes = _memory_limit_bytes() or memory.total
    return Facts(
        identity=environment.identify(),
        configuration=environment.configuration(),
        visible_cores=_visible_cores(),
        memory_bytes=min(memory.total, limit_bytes),
        free_memory_bytes=min(memory.available, limit_bytes),
        cpu_features=tuple(sorted(_BFLOAT16.intersection(environment.processor().get("flags", "").split()))),
        gpus=tuple(replace(gpu, uuid="") for gpu in gpus),
        pci_gpus=_pci_gpus(),
        shown_gpus=shown(os.environ.get("CUDA_VISIBLE_DEVICES"), [gpu.uuid for gpu in gpus]),
        driver_silence=nvml.silence(),
        nvcc=_nvcc(),
        packages=_packages(),
        frameworks=frameworks(FRAMEWORKS, patience_s=PATIENCE_S),
    )


def shown(wanted: str | None, uuids: Sequence[str]) -> int:
    """Return how many GPUs a value of CUDA_VISIBLE_DEVICES leaves visible.

    Indices, identifiers and their beginnings are allowed, and the first entry that fits no GPU ends the list, as
    the CUDA C++ Programming Guide says in its chapter on environment variables.
    """
    if wanted is None:
        return len(uuids)
    count = 0
    for entry in map(str.strip, wanted.split(",")):
        by_index = entry.isdecimal() and int(entry) < len(uuids)
        by_name = entry.startswith("GPU-") and any(uuid.startswith(entry) for uuid in uuids)
        if not (by_index or by_name or entry.startswith("MIG-")):
            break
        count += 1
    return count


def frameworks(names: Sequence[str], *, patience_s: float) -> tuple[FrameworkFacts, ...]:
    """Ask frameworks, each in a fresh worker of its own; all of them import at the same time."""
    talkative = {"TF_CPP_MIN_LOG_LEVEL": "1"}  # else TensorFlow does not say what it could not load
    workers = {name: Worker(name, talkative) for name in names if find_spec(name) is not None}
    try:
        return tuple(_ask(name, workers.get(name), patience_s) for name in names)
    finally:
        for worker in workers.values():
            worker.close()


def _ask(name: str, worker: Worker | None, patience_s: float) -> FrameworkFacts:
    if worker is None:
        return FrameworkFacts(name=name, installed=False)
    description: Mapping[str, str] = {}
    try:
        description = worker.ask("describe", silence_s=patience_s)[1]
        devices = worker.ask("devices", silence_s=patience_s)
        warnings = warnings_in(worker.complaints())
    except WorkerLostError as lost:
        return FrameworkFacts(name=name, description=dict(description), failure=str(lost))
    facts = FrameworkFacts(name=name, description=dict(description), devices=devices, warnings=warnings)
    return facts if facts.version else replace(facts, failure=facts.told("unavailable") or "it does not say why")


def warnings_in(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the warnings among the lines that a framework wrote, once each, without where they came from."""
    found = (_WARNING.search(line) for line in lines)
    return tuple(dict.fromkeys(_ORIGIN.sub("", match["text"]).strip() for match in found if match))


def _visible_cores() -> int:
    ask = getattr(os, "sched_getaffinity", None)  # macOS has none
    return len(ask(0)) if ask else os.cpu_count() or 1


def _memory_limit_bytes() -> int | None:
    """Return the container's limit, from either version of control groups; a huge number means none."""
    groups = _SYSTEM / "fs/cgroup"
    for path in (groups / "memory.max", groups / "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return int(path.read_text())
    return None


def _pci_gpus() -> int:
    """Count NVIDIA's display controllers, whether or not a driver serves them."""
    count = 0
    for device in _SYSTEM.glob("bus/pci/devices/*"):
        with suppress(OSError):
            vendor, kind = ((device / name).read_text() for name in ("vendor", "class"))
            count += vendor.startswith(_NVIDIA) and kind.startswith(_DISPLAY)
    return count


def _nvcc() -> str:
    """Return the version of CUDA's compiler on the path, or where CUDA's own installer puts it."""
    homes = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    usual = [str(Path(home) / "bin") for home in homes if home]
    found = shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(usual))
    if not found:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        printed = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20).stdout
        if release := re.search(r"release ([\d.]+)", printed):
            return release[1]
    return ""


def _packages() -> dict[str, str]:
    named = ((canonicalize_name(found.metadata["Name"] or ""), found.version) for found in distributions())
    return dict(sorted((name, version) for name, version in named if _PACKAGES.fullmatch(name)))
