"""What this machine can accelerate, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.doctor.facts import TITLES, Facts
from harness.doctor.versions import newer
from harness.units import plural, size

# Compute capabilities from which on a GPU's tensor cores take a type, from the table "Tensor Core Input Data Types"
# of the CUDA C++ Programming Guide's chapter on compute capabilities.
_FLOAT16_FROM, _BFLOAT16_FROM = "7.0", "8.0"


def on_gpus(facts: Facts) -> Iterator[str]:
    """What the accelerators are good for, and to whom."""
    seen = {framework.name: framework.devices for framework in facts.usable() if framework.devices}
    if not seen:
        there = facts.gpus or facts.pci_gpus
        yield (
            "GPU: there is one, but no framework can use it yet; what to mend stands below."
            if there
            else "GPU: none, so the techniques that need one are skipped, saying so. All others run on the processor."
        )
        return
    names, count = ", ".join(TITLES[name] for name in seen), max(map(len, seen.values()))
    yield f"GPU: {names} can use {plural(count, 'accelerator')}, so the techniques that need one apply."
    for name, count in Counter(gpu.name for gpu in facts.gpus).items():
        yield f"{plural(count, name) if count > 1 else name}: {_precision(facts, name)}"


def _precision(facts: Facts, name: str) -> str:
    capability = next(gpu.compute_capability for gpu in facts.gpus if gpu.name == name) or "0"
    if not newer(_BFLOAT16_FROM, capability):
        return "tensor cores for bfloat16, float16 and TF32, so mixed precision and tf32 are worth a try."
    if not newer(_FLOAT16_FROM, capability):
        return "tensor cores for float16 but not for bfloat16 or TF32, so try mixed precision in fp16 alone."
    return "no tensor cores, so mixed precision saves memory rather than time."


def on_cores(facts: Facts) -> Iterator[str]:
    """What the cores are good for."""
    cores = facts.visible_cores
    if cores == 1:
        yield "Cores: one, so threads, loader workers and parallel maps have nothing to gain."
    else:
        yield f"Cores: {cores}, so threads, loader workers and parallel maps can gain, at most {cores}×."


def in_bfloat16(facts: Facts) -> Iterator[str]:
    """Whether the processor computes in bfloat16."""
    if facts.cpu_features:
        named = ", ".join(facts.cpu_features)
        yield f"bfloat16: in hardware ({named}), so mixed precision can pay on the processor too."
    else:
        yield "bfloat16: not in the processor's hardware, where mixed precision costs time rather than saving it."


def in_memory(facts: Facts) -> Iterator[str]:
    """How much fits."""
    yield f"Memory: {size(facts.free_memory_bytes)} free, which bounds batch sizes and caches on the processor."


PROSPECTS = (on_gpus, on_cores, in_bfloat16, in_memory)
