"""What the doctor knows of a machine: facts without a judgement, which a file can hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from harness.errors import BadInput
from harness.frameworks import Device
from harness.nvml import GpuState
from harness.record import Identity
from harness.untrusted import BeyondLimit, parse, read_bytes, shown

TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "cupy": "CuPy", "numpy": "NumPy"}
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class FrameworkFacts:
    """One framework as a process of its own saw it.

    ``failure`` says why it cannot be used although it is installed, ``warnings`` is what it wrote by itself.
    """

    name: Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(TITLES)})$")]
    installed: bool = True
    description: dict[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    failure: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Its version, empty where it could not be asked."""
        return self.told("version")

    @property
    def cuda(self) -> str:
        """The version of CUDA that it was built for, such as ``13.0``; empty for other builds."""
        kind, _, version = self.told("built_for").partition(" ")
        return version if kind == "CUDA" else ""

    def __str__(self) -> str:
        return f"{TITLES[self.name]} {self.version}".strip()

    def told(self, fact: str) -> str:
        """Return what it says of itself, such as its ``built_for``; empty where it says nothing."""
        return self.description.get(f"{self.name}.{fact}", "")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One machine at one moment, and the frameworks installed on it.

    ``configuration`` is that of `harness.environment`. ``visible_cores`` is how many cores the process may be
    scheduled on, whatever share of their time a container has. ``gpus`` are NVIDIA's as the driver reports them
    before any framework was started, without their identifiers; ``pci_gpus`` counts those on the PCI bus, and
    ``shown_gpus`` those that CUDA_VISIBLE_DEVICES leaves visible. ``cpu_features`` are the processor's flags that
    concern low precision. ``nvcc`` is the version of CUDA's compiler, ``packages`` are the installed distributions
    that bring a framework or a part of CUDA.
    """

    identity: Identity
    configuration: dict[str, str]
    visible_cores: int
    memory_bytes: int
    free_memory_bytes: int
    cpu_features: tuple[str, ...] = ()
    gpus: tuple[GpuState, ...] = ()
    pci_gpus: int = 0
    shown_gpus: int = 0
    driver_silence: str = ""
    nvcc: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    frameworks: tuple[FrameworkFacts, ...] = ()

    @property
    def driver(self) -> str:
        """NVIDIA's driver's version, empty where there is none."""
        return self.configuration.get("driver.nvidia", "")

    @property
    def driver_cuda(self) -> str:
        """The newest CUDA that the driver runs, empty where it does not say."""
        return self.configuration.get("driver.cuda", "")

    def variable(self, name: str) -> str | None:
        """Return an environment variable that changes speed, None where it is not set."""
        return self.configuration.get(f"env.{name}")

    def usable(self) -> list[FrameworkFacts]:
        """Return the frameworks that are installed and could be asked."""
        return [framework for framework in self.frameworks if framework.installed and not framework.failure]

    def find(self, name: str) -> FrameworkFacts:
        """Return what is known of a framework; of one that was not asked, that it is not installed."""
        absent = FrameworkFacts(name=name, installed=False)
        return next((framework for framework in self.frameworks if framework.name == name), absent)


def number(text: str) -> float | None:
    """Return the number that a fact's text is, such as ``2`` or ``1.5``; None of any other text."""
    return float(text) if _NUMBER.fullmatch(text) else None


def read_facts(path: Path) -> Facts:
    """Return the facts in a file that ``accelbench doctor --json`` printed, on whatever machine.

    Raises:
        BadInput: the file cannot be read or holds something else.
    """
    way_out = "make one with accelbench doctor --json > FILE"
    try:
        return msgspec.convert(parse(read_bytes(path)), _Document).facts
    except OSError as error:
        raise BadInput(f"{shown(str(path))}: cannot be read ({error.strerror}); {way_out}") from None
    except BeyondLimit as error:
        raise BadInput(f"{shown(str(path))}: cannot be read ({error}); {way_out}") from None
    except ValueError as error:
        raise BadInput(f"{shown(str(path))}: holds no facts of a machine ({error}); {way_out}") from None


@dataclass(frozen=True, kw_only=True)
class _Document:
    facts: Facts
