"""What can be switched in PyTorch about how data arrive: from which memory, by which processes, how far ahead."""

from __future__ import annotations

from harness.experiment import Arm, Build, Host, technique
from harness.techniques.torch.computing import need_accelerator


@technique("torch", levels=("off", "on"), recipe={"on": "DataLoader(data, pin_memory=True)"})
def pin_memory(build: Build, level: str) -> Arm:
    """Page-locked host memory, which an accelerator reads without the CPU."""
    if level == "on":
        need_accelerator()
    return build(pin_memory=level == "on")


@technique("torch", levels=("off", "on"), recipe={"on": 'batch = batch.to("{device}", non_blocking=True)'})
def non_blocking(build: Build, level: str) -> Arm:
    """Copies to the device that do not make the host wait."""
    if level == "on":
        need_accelerator()  # within the host's memory there is nobody to wait for
    return build(non_blocking=level == "on")


def _worker_counts(host: Host) -> tuple[str, ...]:
    doublings = {2**power for power in range(host.max_workers.bit_length())}
    return tuple(str(count) for count in sorted({0, host.max_workers} | doublings))


@technique(
    "torch",
    levels=_worker_counts,
    resources=lambda level: 1 + int(level),
    recipe={"*": "DataLoader(data, num_workers={level})"},
)
def workers(build: Build, level: str) -> Arm:
    """Processes that load data beside the training one."""
    return build(workers=int(level))


@technique("torch", levels=("off", "on"), recipe={"on": "DataLoader(data, persistent_workers=True)"})
def persistent_workers(build: Build, level: str) -> Arm:
    """Loader processes that live on from epoch to epoch, instead of starting anew."""
    return build(persistent_workers=level == "on")


@technique("torch", levels=("2", "4", "8"), recipe={"*": "DataLoader(data, prefetch_factor={level})"})
def prefetch_factor(build: Build, level: str) -> Arm:
    """How many batches every loader process prepares ahead."""
    return build(prefetch_factor=int(level))


@technique(
    "torch",
    levels=("blocking", "thread", "device"),
    recipe={
        "thread": "following = pool.submit(load)  # pool = ThreadPoolExecutor(1): while this batch is computed with",
        "device": 'following = pool.submit(lambda: load().to("{device}"))  # pool = ThreadPoolExecutor(1): meanwhile',
    },
)
def loading(build: Build, level: str) -> Arm:
    """Batches loaded when they are asked for, ahead of time by a thread, or by a thread and on to the device."""
    return build(loading=level)


# Measured on a CPU over two seeds of photographs, scaled to 64, 96 and 224 pixels: at most 1.2e-2 for images that are
# decoded at half or a quarter of their size, since scaling then begins with other pixels.
@technique(
    "torch",
    levels=("pillow", "pillow-draft", "device"),
    tolerance={"*": 3e-2},
    recipe={
        "pillow-draft": 'image.draft("RGB", (width, height))  # before anything reads its pixels',
        "device": 'torchvision.io.decode_jpeg(encoded, device="{device}")',
    },
)
def decode(build: Build, level: str) -> Arm:
    """Image files decoded whole, decoded no larger than is asked for, as JPEG allows, or decoded by the accelerator."""
    return build(decoder=level)
