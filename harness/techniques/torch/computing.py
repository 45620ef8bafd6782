"""What can be switched in PyTorch about what computes: where, on how many threads, how much at once, how precisely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import Unavailable
from harness.experiment import Arm, Build, Host, technique
from harness.techniques.cores import cpu_count, threads_at, threads_here


def _devices(host: Host) -> tuple[str, ...]:
    return ("cpu", *(host.accelerators or ("accelerator",)))


# A user's program may convolve in TF32, which keeps three bits more than bfloat16 and so an eighth of its error.
@technique(
    "torch", levels=_devices, tolerance={"*": 1e-2}, recipe={"*": 'model.to("{level}"); batch = batch.to("{level}")'}
)
def device(build: Build, level: str) -> Arm:
    """The CPU or an accelerator."""
    if level == "accelerator":
        need_accelerator()
    return build(device=level)


@technique(
    "torch",
    levels=("1", "half", "all"),
    resources=lambda level: threads_at(level, cpu_count()),
    recipe={
        "half": "torch.set_num_threads(len(os.sched_getaffinity(0)) // 2)",
        "all": "torch.set_num_threads(len(os.sched_getaffinity(0)))",
    },
)
def threads(build: Build, level: str) -> Arm:
    """Threads that work on one operation: one, one for every second core of the process, or one per core."""
    return build().inside(thread_count, threads_here(level))


@technique(
    "torch",
    levels=("resident", "round-trip"),
    recipe={"resident": 'batch = batch.to("{device}")  # once, before the loop'},
    unadvised={"round-trip": "it sends data that could stay where they are"},
)
def data_location(build: Build, level: str) -> Arm:
    """Data that stays on the device, or is sent there and brought back in every step."""
    return build(data_location=level)


def _doublings(host: Host) -> tuple[str, ...]:
    return tuple(str(2**power) for power in range(host.max_batch.bit_length()))


@technique(
    "torch", levels=_doublings, same_output=False, grows=True, recipe={"*": "DataLoader(data, batch_size={level})"}
)
def batch_size(build: Build, level: str) -> Arm:
    """How many items one step takes together."""
    return build(batch_size=int(level))


# Measured on a CPU after two steps of every training workload at small size, four seeds each: at most 1.5e-2 in
# bfloat16 and 5e-3 in float16. A threefold margin covers other sizes, seeds and devices.
@technique(
    "torch",
    levels=("fp32", "bf16", "fp16"),
    tolerance={"bf16": 5e-2, "fp16": 2e-2},
    recipe={
        "bf16": 'with torch.autocast("{device}", dtype=torch.bfloat16):  # around forward pass and loss',
        "fp16": 'scaler = torch.amp.GradScaler("{device}")\n'
        'with torch.autocast("{device}", dtype=torch.float16):  # around forward pass and loss\n'
        "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
    },
)
def amp(build: Build, level: str) -> Arm:
    """Automatic mixed precision: autocast around the forward pass, and a gradient scaler for float16."""
    return build(autocast=level)


# Measured likewise: at most 8e-7 in float32, and 7e-3 in bfloat16, where other kernels round at other places.
@technique(
    "torch",
    levels=("contiguous", "channels-last"),
    tolerance={"*": 2e-2},
    recipe={
        "channels-last": "model = model.to(memory_format=torch.channels_last)\n"
        "images = images.to(memory_format=torch.channels_last)"
    },
)
def memory_format(build: Build, level: str) -> Arm:
    """How images and the weights of convolutions lie in memory: plane by plane, or all channels of a pixel together."""
    return build(memory_format=level)


@technique(
    "torch",
    levels=("highest", "high"),
    tolerance={"high": 1e-2},  # as that of devices, and for the same reason
    recipe={"high": 'torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True'},
)
def tf32(build: Build, level: str) -> Arm:
    """Products and convolutions of float32 in float32, or with the ten bits of fraction that TensorFloat-32 keeps."""
    if level == "high":
        _need_tf32()
    from harness.frameworks.torch_precision import float32_precision  # here: pytest's own process imports no framework

    return Arm.built_inside(build, float32_precision, level)


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


def _need_tf32() -> None:
    need_accelerator()
    import torch

    if not (torch.cuda.is_available() and torch.cuda.is_tf32_supported()):
        raise Unavailable(f"the accelerator has no TensorFloat-32 that torch {torch.__version__} knows of")
