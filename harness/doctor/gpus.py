"""What may be wrong with the GPUs themselves: their driver, who sees them, who holds them, what slows them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.doctor.facts import Facts
from harness.doctor.versions import major
from harness.nvml import GpuState
from harness.units import percent, plural, size

TAKEN_SHARE = 0.25  # of a GPU's memory is more than a driver and a desktop keep for themselves
# NVML's word where the kernel module and the libraries are of different releases, as after an upgrade.
_TWO_RELEASES = "version mismatch"
# Reasons of `harness.nvml` that are a matter of power; the others are heat, or a fault of the hardware.
_POWER = {"power cap", "power brake"}
_TOGETHER = {"sync boost"}


def silent_driver(facts: Facts) -> Iterator[str]:
    """A GPU is in the machine, but no driver answers for it."""
    if facts.pci_gpus and not facts.gpus:
        said = f" ({facts.driver_silence.rstrip('.')})" if facts.driver_silence else ""
        yield (
            f"{plural(facts.pci_gpus, 'NVIDIA GPU')} on the PCI bus, but no driver answers{said}: "
            + (
                "reboot, so that the driver's kernel module and libraries are of one release again"
                if _TWO_RELEASES in facts.driver_silence
                else "install NVIDIA's driver, and in a container start it with --gpus all"
            )
        )


def hidden_gpus(facts: Facts) -> Iterator[str]:
    """CUDA_VISIBLE_DEVICES hides every GPU."""
    value = facts.variable("CUDA_VISIBLE_DEVICES")
    if facts.gpus and not facts.shown_gpus and value is not None:
        hidden = "the GPU" if len(facts.gpus) == 1 else f"all {len(facts.gpus)} GPUs"
        yield f"CUDA_VISIBLE_DEVICES={value!r} hides {hidden} from every framework: unset it, or set it to 0"


def gpu_in_use(facts: Facts) -> Iterator[str]:
    """Another process holds a GPU, or most of its memory."""
    for index, gpu in enumerate(facts.gpus):
        taken = _taken(gpu)
        if gpu.process_ids:
            pids = ", ".join(map(str, gpu.process_ids))
            who = f"another process ({pids})" if len(gpu.process_ids) == 1 else f"other processes ({pids})"
            choice = ", or choose another one with CUDA_VISIBLE_DEVICES" if len(facts.gpus) > 1 else ""
            yield (
                f"GPU {index} ({gpu.name}) is in use by {who}, which costs what you measure time and memory: "
                f"wait until it is free{choice}"
            )
        elif taken > TAKEN_SHARE:
            yield (
                f"GPU {index} ({gpu.name}) has {percent(taken)} of its {size(gpu.memory_bytes)} taken by processes "
                "that cannot be seen from here: look for them with nvidia-smi, outside the container too"
            )


def throttled_gpu(facts: Facts) -> Iterator[str]:
    """Something holds a GPU's clock down at this moment."""
    for index, gpu in enumerate(facts.gpus):
        reasons = set(gpu.throttle_reasons)
        held = f"GPU {index} ({gpu.name}) is held below its clock ({', '.join(gpu.throttle_reasons)}): "
        if reasons & _POWER:
            yield held + "see its power limit with nvidia-smi -q -d POWER, and raise it with nvidia-smi -pl if you may"
        elif reasons - _TOGETHER:
            yield held + "let it cool down or improve its cooling, and see nvidia-smi -q -d PERFORMANCE"


def nvcc_too_new(facts: Facts) -> Iterator[str]:
    """What CUDA's compiler makes, the driver cannot run."""
    made, run = major(facts.nvcc), major(facts.driver_cuda)
    if facts.gpus and made and run and made > run:
        yield (
            f"nvcc {facts.nvcc} builds programs that driver {facts.driver}, for CUDA up to {facts.driver_cuda}, cannot "
            f"run: upgrade the driver, or use CUDA {run}'s nvcc"
        )


RULES = (silent_driver, hidden_gpus, gpu_in_use, throttled_gpu, nvcc_too_new)


def _taken(gpu: GpuState) -> float:
    """Return the share of a GPU's memory that is in use."""
    if gpu.free_memory_bytes is None or not gpu.memory_bytes:
        return 0.0
    return 1 - gpu.free_memory_bytes / gpu.memory_bytes
