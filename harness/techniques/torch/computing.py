"""What can be switched in PyTorch about what computes: where, on how many threads, how much at once, how precisely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import Unavailable
from harness.experiment import Arm, Build, Host, technique
from harness.techniques.cores import cpu_count


def _devices(host: Host) -> tuple[str, ...]:
    return ("cpu", *(host.accelerators or ("accelerator",)))


# TF32, on by default in cuDNN's convolutions, keeps three bits more than bfloat16 and so an eighth of its error.
@technique("torch", levels=_devices, tolerance={"*": 1e-2})
def device(build: Build, level: str) -> Arm:
    """The CPU or an accelerator."""
    if level == "accelerator":
        need_accelerator()
    return build(device=level)


@technique("torch", levels=("1", "all"), resources=lambda level: 1 if level == "1" else cpu_count())
def threads(build: Build, level: str) -> Arm:
    """Threads that work on one operation: one, or one per core of the process."""
    count = 1 if level == "1" else cpu_count()
    if level == "all" and count == 1:
        raise Unavailable("this process has one core, so there are no more threads to compare with")
    return build().inside(thread_count, count)


@technique("torch", levels=("resident", "round-trip"))
def data_location(build: Build, level: str) -> Arm:
    """Data that stays on the device, or is sent there and brought back in every step."""
    return build(data_location=level)


def _doublings(host: Host) -> tuple[str, ...]:
    return tuple(str(2**power) for power in range(host.max_batch.bit_length()))


@technique("torch", levels=_doublings, same_output=False)
def batch_size(build: Build, level: str) -> Arm:
    """How many items one step takes together."""
    return build(batch_size=int(level))


# Measured on a CPU after two steps of every training workload at small size, four seeds each: at most 1.5e-2 in
# bfloat16 and 5e-3 in float16. A threefold margin covers other sizes, seeds and devices.
@technique("torch", levels=("fp32", "bf16", "fp16"), tolerance={"bf16": 5e-2, "fp16": 2e-2})
def amp(build: Build, level: str) -> Arm:
    """Automatic mixed precision: autocast around the forward pass, and a gradient scaler for float16."""
    return build(autocast=level)


@contextmanager
def thread_count(count: int) -> Iterator[None]:
    """Let so many threads work on one operation, and put their number back."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def need_accelerator() -> None:
    """Make a level unavailable where PyTorch sees no accelerator."""
    from harness.workloads.torch import devices  # here, because pytest's own process imports no framework

    devices.accelerator()
