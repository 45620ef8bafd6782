"""The facts about a machine that the doctor judges: collected here, or read from a file that it wrote elsewhere.

Every framework is asked in a worker process of its own, so the collecting process imports none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Annotated

import msgspec
import psutil
from packaging.utils import canonicalize_name

from accelbench.errors import BadInput
from accelbench.frameworks import Device
from accelbench.frameworks.protocol import FRAMEWORKS
from accelbench.measuring.core_latency import CoreLatency
from accelbench.measuring.interference import cores_of_this_process
from accelbench.measuring.machine_state import FAR_TIMES, MachineState, StateReader
from accelbench.measuring.workers.interpreter import find_interpreter, is_named
from accelbench.measuring.workers.process import Worker, WorkerLostError
from accelbench.schema import environment, nvml
from accelbench.schema.machine_id import machine_key
from accelbench.schema.nvml import GpuState
from accelbench.schema.result import Identity, Seconds
from accelbench.schema.safe_json import BeyondLimit, parse, printable, read_bytes
from accelbench.text import FRAMEWORK_NAMES

_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class FrameworkFacts:
    """What a framework reported about itself in a worker process.

    ``failure`` says why an installed framework cannot be used. ``warnings`` are the warnings that it wrote to standard
    error. ``description`` has keys such as ``torch.built_for``. ``own_interpreter`` says whether the user names an
    interpreter for it, and ``packages`` are then those of that interpreter's environment, as in `Facts`.
    """

    name: Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(FRAMEWORK_NAMES)})$")]
    installed: bool = True
    description: dict[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    failure: str = ""
    warnings: tuple[str, ...] = ()
    own_interpreter: bool = False
    packages: dict[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Its version; empty if it did not answer."""
        return self.get("version")

    @property
    def cuda(self) -> str:
        """The CUDA version that it was built for, such as ``13.0``; empty for builds without CUDA."""
        kind, _, version = self.get("built_for").partition(" ")
        return version if kind == "CUDA" else ""

    def __str__(self) -> str:
        return f"{FRAMEWORK_NAMES[self.name]} {self.version}".strip()

    def get(self, fact: str) -> str:
        """Return one fact of its description, such as ``built_for``; empty if it does not report that."""
        return self.description.get(f"{self.name}.{fact}", "")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A machine at one moment, and the frameworks installed on it.

    ``configuration`` comes from `accelbench.schema.environment`. ``visible_cores`` is the number of cores on which the
    process may be scheduled, whatever share of their time a container grants. ``gpus`` are NVIDIA's GPUs as the
    driver reports them before any framework starts, without their UUIDs; ``pci_gpus`` counts those on the PCI bus, and
    ``visible_gpus`` those that CUDA_VISIBLE_DEVICES leaves visible. ``driver_silence`` is the driver's error message if
    it does not answer. ``free_shared_memory_bytes`` is the room in ``/dev/shm``; None without such a folder.
    ``core_latency_s`` is the time that a cache line takes from one core to another, None where that cannot be read, and
    ``best_core_latency_s`` the shortest that was read on this machine before; None where none was.
    ``cpu_features`` are the processor's flags for bfloat16. ``nvcc`` is the version of CUDA's compiler. ``packages``
    maps the installed distributions that contain a framework or a part of CUDA to their versions.
    """

    identity: Identity
    configuration: dict[str, str]
    visible_cores: int
    memory_bytes: int
    free_memory_bytes: int
    free_shared_memory_bytes: int | None = None
    core_latency_s: Seconds | None = None
    best_core_latency_s: Seconds | None = None
    cpu_features: tuple[str, ...] = ()
    gpus: tuple[GpuState, ...] = ()
    pci_gpus: int = 0
    visible_gpus: int = 0
    driver_silence: str = ""
    nvcc: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    frameworks: tuple[FrameworkFacts, ...] = ()

    @property
    def driver(self) -> str:
        """The version of NVIDIA's driver; empty if there is none."""
        return self.configuration.get("driver.nvidia", "")

    @property
    def driver_cuda(self) -> str:
        """The newest CUDA version that the driver runs; empty if unknown."""
        return self.configuration.get("driver.cuda", "")

    @property
    def are_cores_far_apart(self) -> bool:
        """Whether the latency between cores is so far from the best that the host must have moved them."""
        if not self.core_latency_s or not self.best_core_latency_s:
            return False
        return self.core_latency_s > FAR_TIMES * self.best_core_latency_s

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable that affects speed; None if it is not set."""
        return self.configuration.get(f"env.{name}")

    def usable(self) -> list[FrameworkFacts]:
        """Return the frameworks that are installed and answered."""
        return [framework for framework in self.frameworks if framework.installed and not framework.failure]

    def packages_beside(self, framework: FrameworkFacts) -> dict[str, str]:
        """Return the packages of the environment in which a framework is installed."""
        return framework.packages if framework.own_interpreter else self.packages

    def find(self, name: str) -> FrameworkFacts:
        """Return the facts about a framework; one that is not among them counts as not installed."""
        absent = FrameworkFacts(name=name, installed=False)
        return next((framework for framework in self.frameworks if framework.name == name), absent)


def number(text: str) -> float | None:
    """Parse a fact such as ``2`` or ``1.5``; return None for any other text."""
    return float(text) if _NUMBER.fullmatch(text) else None


def read_facts(path: Path) -> Facts:
    """Read the facts from a file that ``accelbench doctor --format json`` printed on any machine.

    Raises:
        BadInput: the file cannot be read or does not contain facts.
    """
    way_out = "make one with accelbench doctor --format json > FILE"
    try:
        return msgspec.convert(parse(read_bytes(path)), _Document).facts
    except OSError as error:
        raise BadInput(f"{printable(str(path))}: cannot be read ({error.strerror}); {way_out}") from None
    except BeyondLimit as error:
        raise BadInput(f"{printable(str(path))}: cannot be read ({error}); {way_out}") from None
    except ValueError as error:
        raise BadInput(f"{printable(str(path))}: contains no facts about a machine ({error}); {way_out}") from None


@dataclass(frozen=True, kw_only=True)
class _Document:
    facts: Facts


TIMEOUT_S = 120.0  # a first import from a slow network disk takes a minute

# Linux's names for the x86 and Arm processor flags that stand for bfloat16 arithmetic.
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16", "svebf16"}
_PACKAGES = re.compile(r"torch|tensorflow(-\w+)?|tf-nightly(-\w+)?|cupy(-.+)?|nvidia-.+")
_NVIDIA, _DISPLAY = "0x10de", "0x03"  # the PCI vendor id, and the PCI class of display controllers
_SYSTEM = Path("/sys")
_SHARED_MEMORY = Path("/dev/shm")
# Python's warnings, abseil's log lines (W0000 00:00:17.3 12 file.cc:1] text) and TensorFlow's older log lines.
_WARNING = re.compile(r"(?:\w*Warning: |^[WEF]\d{4} .*?\] |^[-\d]+ [\d:.]+: [WEF] .*?\] )(?P<text>.+)")
_ORIGIN = re.compile(r"\s*\(Triggered internally at .*\)$")


def collect() -> Facts:
    """Collect the facts about this machine; stop a framework that does not answer within ``TIMEOUT_S``."""
    gpus = nvml.gpus()  # before our workers use the GPUs, so that every process on them belongs to somebody else
    memory = psutil.virtual_memory()  # likewise
    limit_bytes = _memory_limit_bytes() or memory.total
    identity = environment.identify()
    core_latency_s, best_core_latency_s = read_core_latency(identity)  # likewise
    return Facts(
        identity=identity,
        configuration=environment.configuration(),
        visible_cores=_visible_cores(),
        memory_bytes=min(memory.total, limit_bytes),
        free_memory_bytes=min(memory.available, limit_bytes),
        free_shared_memory_bytes=_free_shared_memory_bytes(),
        core_latency_s=core_latency_s,
        best_core_latency_s=best_core_latency_s,
        cpu_features=tuple(sorted(_BFLOAT16.intersection(environment.processor().get("flags", "").split()))),
        gpus=tuple(replace(gpu, uuid="", board_uuid="") for gpu in gpus),
        pci_gpus=_pci_gpus(),
        visible_gpus=len(nvml.visible(os.environ.get("CUDA_VISIBLE_DEVICES"), gpus)),
        driver_silence=nvml.silence(),
        nvcc=_nvcc(),
        packages=_packages(),
        frameworks=ask_frameworks(FRAMEWORKS, timeout_s=TIMEOUT_S),
    )


def read_core_latency(identity: Identity) -> tuple[float | None, float | None]:
    """Return the latency between two cores now, and the best that was read on this machine before, in seconds."""
    latency = CoreLatency(cores_of_this_process())
    reader = StateReader(machine_key(identity), lambda: MachineState(core_latency_s=latency.read_s()))
    best_s = reader.best.core_latency_s
    try:
        return reader.read().core_latency_s, best_s
    finally:
        latency.close()


def ask_frameworks(names: Sequence[str], *, timeout_s: float) -> tuple[FrameworkFacts, ...]:
    """Ask each framework in a fresh worker of its own; all of them import at the same time."""
    started = {name: _start(name) for name in names}
    try:
        return tuple(_ask(name, started[name], timeout_s) for name in names)
    finally:
        for worker in started.values():
            if isinstance(worker, Worker):
                worker.close()


def _start(name: str) -> Worker | FrameworkFacts:
    """Start a framework's worker, or return why there is none."""
    absent = FrameworkFacts(name=name, installed=False, own_interpreter=is_named(name))
    verbose = {"TF_CPP_MIN_LOG_LEVEL": "1"}  # otherwise TensorFlow does not report which libraries it failed to load
    try:
        return Worker(name, verbose) if find_interpreter(name).has_framework else absent
    except BadInput as error:
        return replace(absent, installed=True, failure=str(error))


def _ask(name: str, worker: Worker | FrameworkFacts, timeout_s: float) -> FrameworkFacts:
    if isinstance(worker, FrameworkFacts):
        return worker
    facts = FrameworkFacts(name=name, own_interpreter=is_named(name))
    try:
        description = worker.ask("describe", silence_s=timeout_s)[1]
        facts = replace(facts, description=worker.interpreter.describe(name, description))
        facts = replace(facts, devices=worker.ask("devices", silence_s=timeout_s))
        packages = worker.call(_packages) if facts.own_interpreter else {}
        facts = replace(facts, packages=packages, warnings=find_warnings(worker.stderr_lines()))
    except WorkerLostError as lost:
        return replace(facts, failure=str(lost))
    return facts if facts.version else replace(facts, failure=facts.get("unavailable") or "it gives no reason")


def find_warnings(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct warnings among the lines that a framework wrote, without their source locations."""
    matches = (_WARNING.search(line) for line in lines)
    return tuple(dict.fromkeys(_ORIGIN.sub("", match["text"]).strip() for match in matches if match))


def _visible_cores() -> int:
    get_affinity = getattr(os, "sched_getaffinity", None)  # missing on macOS
    return len(get_affinity(0)) if get_affinity else os.cpu_count() or 1


def _memory_limit_bytes() -> int | None:
    """Return the container's memory limit (cgroup v2 or v1); a huge number means no limit."""
    groups = _SYSTEM / "fs/cgroup"
    for path in (groups / "memory.max", groups / "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return int(path.read_text())
    return None


def _free_shared_memory_bytes() -> int | None:
    """Return the room in the file system through which processes share memory; a container's own is often 64 MiB."""
    with suppress(OSError):
        return shutil.disk_usage(_SHARED_MEMORY).free
    return None


def _pci_gpus() -> int:
    """Count NVIDIA's display controllers, with or without a driver."""
    count = 0
    for device in _SYSTEM.glob("bus/pci/devices/*"):
        with suppress(OSError):
            vendor, kind = ((device / name).read_text() for name in ("vendor", "class"))
            count += vendor.startswith(_NVIDIA) and kind.startswith(_DISPLAY)
    return count


def _nvcc() -> str:
    """Return the version of CUDA's compiler, found on the path or where CUDA's installer puts it."""
    homes = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    folders = [str(Path(home) / "bin") for home in homes if home]
    compiler = shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(folders))
    if not compiler:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        output = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=20).stdout
        if release := re.search(r"release ([\d.]+)", output):
            return release[1]
    return ""


def _packages() -> dict[str, str]:
    installed = ((canonicalize_name(each.metadata["Name"] or ""), each.version) for each in distributions())
    return dict(sorted((name, version) for name, version in installed if _PACKAGES.fullmatch(name)))
