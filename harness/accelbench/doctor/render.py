"""The doctor's report: the machine, its frameworks, what it can accelerate, and what to fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from accelbench.doctor.facts import Facts, FrameworkFacts, number
from accelbench.doctor.rules import Finding, is_newer
from accelbench.frameworks import Device
from accelbench.measuring.workers.interpreter import variable_of
from accelbench.text import FRAMEWORK_NAMES
from accelbench.units import plural, seconds, size

_WIDTH = 12  # of the column of names


def as_text(facts: Facts, problems: Sequence[Finding], notes: Sequence[Finding]) -> str:
    """Return the report as plain text."""
    sections = {
        "This machine": [_row(name, text) for name, text in _describe_machine(facts)],
        "Frameworks": [_row(FRAMEWORK_NAMES[each.name], _describe_framework(each)) for each in facts.frameworks],
        "What can pay here": _bullets(sentence for describe in CAPABILITIES for sentence in describe(facts)),
        "Notes": _bullets(note.sentence for note in notes),
        "To fix": _bullets(problem.sentence for problem in problems) or [_row("nothing", "")],
    }
    return "\n\n".join("\n".join([title, *lines]) for title, lines in sections.items() if lines)


def as_json(facts: Facts, problems: Sequence[Finding], notes: Sequence[Finding]) -> dict[str, Any]:
    """Return the report as plain values; `read_facts` reads its facts back."""
    document: dict[str, Any] = msgspec.to_builtins({"problems": problems, "notes": notes, "facts": facts})
    return document


def _describe_machine(facts: Facts) -> Iterator[tuple[str, str]]:
    quota = facts.configuration.get("cpu.quota_cores", "unlimited")
    share = "" if quota == "unlimited" else f", of which the container may use the time of {quota}"
    yield "processor", f"{facts.identity.cpu_model}, {plural(facts.visible_cores, 'core')}{share}"
    yield "cores", _describe_cores(facts)
    yield "memory", f"{size(facts.memory_bytes)}, {size(facts.free_memory_bytes)} free"
    for index, gpu in enumerate(facts.gpus):
        free = "" if gpu.free_memory_bytes is None else f", {size(gpu.free_memory_bytes)} free"
        yield f"GPU {index}", f"{gpu.name}, {size(gpu.memory_bytes)}{free}"
    if not facts.gpus:
        yield "GPU", "none from NVIDIA"
    yield "driver", f"{facts.driver}, for CUDA up to {facts.driver_cuda}" if facts.driver else "none from NVIDIA"
    yield "nvcc", facts.nvcc or "not found; needed only for your own CUDA code"
    yield "system", ", ".join(facts.configuration.get(name, "") for name in ("os", "python"))


def _describe_cores(facts: Facts) -> str:
    """Return whether the cores lie near each other, as far as that can be read."""
    if facts.visible_cores == 1:
        return "a single one, which has no other to be near to"
    if not facts.core_latency_s:
        return "near or far is unknown: to read that takes Linux, two physical cores, and a moment when both are free"
    way = f"a cache line takes {seconds(facts.core_latency_s)} from one to another"
    if not facts.best_core_latency_s:
        return f"{way}, the first reading here; later ones show whether that is near or far"
    return (
        f"{'far apart' if facts.are_cores_far_apart else 'near'}: {way}, {seconds(facts.best_core_latency_s)} at best"
    )


def _describe_framework(framework: FrameworkFacts) -> str:
    environment = f"the environment that {variable_of(framework.name)} names" if framework.own_interpreter else ""
    if not framework.installed:
        place = f" in {environment}" if environment else ""
        return f"not installed{place}: pip install 'accelbench[{framework.name}]'"
    if framework.failure:
        return "cannot be used, see below"
    built = framework.get("built_for")
    threads = number(framework.get("threads") or framework.get("blas_threads"))
    facts = [
        framework.version,
        f"built for {built}" if built else "",
        _describe_cudnn(framework.get("cudnn")),
        framework.get("blas"),
        plural(int(threads), "thread") if threads is not None else "",
        _describe_devices(framework),
        f"in {environment}: {framework.get('python')}" if environment else "",
    ]
    return ", ".join(fact for fact in facts if fact)


def _describe_cudnn(version: str) -> str:
    return f"cuDNN {version}" if version[:1].isdigit() else ""  # other text is an error message


def _describe_devices(framework: FrameworkFacts) -> str:
    if framework.name == "numpy":
        return ""
    if not framework.devices:
        return "sees no GPU"
    devices = ", ".join(map(_describe_device, framework.devices))
    return f"sees {plural(len(framework.devices), 'GPU')}: {devices}"


def _describe_device(device: Device) -> str:
    return f"{device.name} ({size(device.memory_bytes)})" if device.memory_bytes else device.name


def _row(name: str, text: str) -> str:
    return f"  {name:<{_WIDTH}}{text}".rstrip()


def _bullets(sentences: Iterable[str]) -> list[str]:
    return [f"  - {sentence}" for sentence in sentences]


# The first compute capability whose tensor cores take a type (CUDA C++ Programming Guide, table "Tensor Core Input Data
# Types").
_FLOAT16_FROM, _BFLOAT16_FROM = "7.0", "8.0"


def describe_gpus(facts: Facts) -> Iterator[str]:
    """Yield which frameworks can use the GPUs, and which precisions their tensor cores take."""
    devices = {framework.name: framework.devices for framework in facts.usable() if framework.devices}
    if not devices:
        yield (
            "GPU: there is one, but no framework can use it yet; see what to fix below."
            if facts.gpus or facts.pci_gpus
            else "GPU: none, so techniques that need one are reported as skipped. All others run on the processor."
        )
        return
    names, count = ", ".join(FRAMEWORK_NAMES[name] for name in devices), max(map(len, devices.values()))
    yield f"GPU: {names} can use {plural(count, 'accelerator')}, so the techniques that need one apply."
    for name, count in Counter(gpu.name for gpu in facts.gpus).items():
        yield f"{plural(count, name) if count > 1 else name}: {_describe_tensor_cores(facts, name)}"


def _describe_tensor_cores(facts: Facts, name: str) -> str:
    capability = next(gpu.compute_capability for gpu in facts.gpus if gpu.name == name) or "0"
    if not is_newer(_BFLOAT16_FROM, capability):
        return "tensor cores for bfloat16, float16 and TF32, so mixed precision and tf32 are worth a try."
    if not is_newer(_FLOAT16_FROM, capability):
        return "tensor cores for float16 but not for bfloat16 or TF32, so try mixed precision in fp16 only."
    return "no tensor cores, so mixed precision saves memory rather than time."


def describe_cores(facts: Facts) -> Iterator[str]:
    """Yield whether threads and processes can gain anything."""
    cores = facts.visible_cores
    if cores == 1:
        yield "Cores: one, so threads, loader workers and parallel maps cannot gain anything."
    else:
        yield f"Cores: {cores}, so threads, loader workers and parallel maps can gain, at most {cores}×."


def describe_bfloat16(facts: Facts) -> Iterator[str]:
    """Yield whether the processor computes in bfloat16."""
    if facts.cpu_features:
        features = ", ".join(facts.cpu_features)
        yield f"bfloat16: in hardware ({features}), so mixed precision can pay on the processor too."
    else:
        yield "bfloat16: not in the processor's hardware, so mixed precision costs time there instead of saving it."


def describe_memory(facts: Facts) -> Iterator[str]:
    """Yield how much memory is free."""
    yield f"Memory: {size(facts.free_memory_bytes)} free, which limits batch sizes and caches on the processor."


CAPABILITIES = (describe_gpus, describe_cores, describe_bfloat16, describe_memory)
