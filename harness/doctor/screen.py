"""The first screen: the machine, its frameworks, what can pay here, what to mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.doctor.facts import TITLES, Facts, FrameworkFacts, number
from harness.doctor.finding import Finding
from harness.doctor.prospects import PROSPECTS
from harness.frameworks import Device
from harness.units import plural, size

_WIDTH = 12  # of the column of names


def as_text(facts: Facts, findings: Sequence[Finding], remarks: Sequence[Finding]) -> str:
    """Return the screen in plain text."""
    sections = {
        "This machine": [_row(name, text) for name, text in _machine(facts)],
        "Frameworks": [_row(TITLES[found.name], _framework(found)) for found in facts.frameworks],
        "What can pay here": _points(sentence for prospect in PROSPECTS for sentence in prospect(facts)),
        "To know": _points(remark.sentence for remark in remarks),
        "To mend": _points(finding.sentence for finding in findings) or [_row("nothing", "")],
    }
    return "\n\n".join("\n".join([title, *lines]) for title, lines in sections.items() if lines)


def as_json(facts: Facts, findings: Sequence[Finding], remarks: Sequence[Finding]) -> dict[str, Any]:
    """Return all of it as plain values; the facts alone can be read back."""
    found: dict[str, Any] = msgspec.to_builtins({"findings": findings, "remarks": remarks, "facts": facts})
    return found


def _machine(facts: Facts) -> Iterator[tuple[str, str]]:
    quota = facts.configuration.get("cpu.quota_cores", "unlimited")
    share = "" if quota == "unlimited" else f", of whose time the container may use {quota} cores"
    yield "processor", f"{facts.identity.cpu_model}, {plural(facts.visible_cores, 'core')}{share}"
    yield "memory", f"{size(facts.memory_bytes)}, of which {size(facts.free_memory_bytes)} are free"
    for index, gpu in enumerate(facts.gpus):
        free = "" if gpu.free_memory_bytes is None else f", of which {size(gpu.free_memory_bytes)} are free"
        yield f"GPU {index}", f"{gpu.name}, {size(gpu.memory_bytes)}{free}"
    if not facts.gpus:
        yield "GPU", "none from NVIDIA"
    yield "driver", f"{facts.driver}, for CUDA up to {facts.driver_cuda}" if facts.driver else "none from NVIDIA"
    yield "nvcc", facts.nvcc or "not found; only code of your own in CUDA needs it"
    yield "system", ", ".join(facts.configuration.get(name, "") for name in ("os", "python"))


def _framework(found: FrameworkFacts) -> str:
    if not found.installed:
        return f"not installed: pip install 'accelbench[{found.name}]'"
    if found.failure:
        return "cannot be used, see below"
    built = found.told("built_for")
    threads = number(found.told("threads") or found.told("blas_threads"))
    facts = [
        found.version,
        f"built for {built}" if built else "",
        _cudnn(found.told("cudnn")),
        found.told("blas"),
        plural(int(threads), "thread") if threads is not None else "",
        _devices(found),
    ]
    return ", ".join(fact for fact in facts if fact)


def _cudnn(told: str) -> str:
    return f"cuDNN {told}" if told[:1].isdigit() else ""


def _devices(found: FrameworkFacts) -> str:
    if found.name == "numpy":
        return ""
    if not found.devices:
        return "sees no GPU"
    return f"sees {plural(len(found.devices), 'GPU')}: {', '.join(map(_device, found.devices))}"


def _device(device: Device) -> str:
    return f"{device.name} ({size(device.memory_bytes)})" if device.memory_bytes else device.name


def _row(name: str, text: str) -> str:
    return f"  {name:<{_WIDTH}}{text}".rstrip()


def _points(sentences: Iterator[str]) -> list[str]:
    return [f"  - {sentence}" for sentence in sentences]
