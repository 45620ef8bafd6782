"""Probes by PyTorch: memory and matrix rate of the CPU and of every accelerator, and the link to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import joblib
import psutil
import torch

from accelbench.core import Arm
from accelbench.frameworks.torch import float32_precision, thread_count
from accelbench.roofline.probes.probe import COLUMNS, HOST_BYTES, PeakProbe, link, matrix, matrix_per_core, memory

IMAGE_WIDTH = 32
# No float16 on the CPU: most processors emulate it a thousand times slower than float32, and an arm can beat that.
_CPU_PRECISIONS = {"fp32": torch.float32, "fp64": torch.float64, "bf16": torch.bfloat16}
_PRECISIONS = {**_CPU_PRECISIONS, "fp16": torch.float16}


def probes() -> Iterator[PeakProbe]:
    """Yield the probes."""
    yield memory("cpu", partial(_memory, "cpu"), psutil.virtual_memory().available, most=HOST_BYTES)
    for name, dtype in _CPU_PRECISIONS.items():
        yield matrix("cpu", name, partial(_products, "cpu", dtype, "highest"))
        yield matrix_per_core(name, partial(_products_per_core, dtype))
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    for index in range(torch.accelerator.device_count() if accelerator else 0):
        yield from _accelerator_probes(f"{accelerator.type}:{index}")


def _accelerator_probes(device: str) -> Iterator[PeakProbe]:
    yield memory(device, partial(_memory, device), _free_bytes(device))
    for name, dtype in _PRECISIONS.items():
        yield matrix(device, name, partial(_products, device, dtype, "highest"))
    if device.startswith("cuda") and torch.cuda.get_device_capability(device) >= (8, 0):  # since Ampere
        yield matrix(device, "tf32", partial(_products, device, torch.float32, "high"))
    for kind, pinned in (("pageable", False), ("pinned", True)):
        yield link(device, f"to device {kind}", partial(_copy, device, pinned, True))
        yield link(device, f"from device {kind}", partial(_copy, device, pinned, False))


def _memory(device: str, size: int) -> Iterator[Arm]:
    """Yield kernels that write, read, and do both, over ``size`` bytes."""
    whole = torch.ones(size // 4, device=device)
    source, target = whole.chunk(2)
    rows = whole.view(-1, COLUMNS)
    vector = torch.ones(COLUMNS, device=device)
    yield Arm(step=lambda: whole.fill_(1.0), items=size)
    yield Arm(step=whole.sum, items=size)
    yield Arm(step=lambda: rows @ vector, items=size)
    yield Arm(step=lambda: target.copy_(source), items=size)
    yield Arm(step=lambda: torch.mul(source, target, out=target), items=1.5 * size)


def _products(device: str, dtype: torch.dtype, precision: str, side: int) -> Iterator[Arm]:
    """Yield a matrix product; on the CPU also the equivalent convolution, whose library may be faster."""
    a, b = (torch.randn(side, side, device=device).to(dtype) for _ in "ab")
    product = torch.empty_like(a)
    yield Arm(step=lambda: torch.matmul(a, b, out=product), items=2 * side**3).inside(float32_precision, precision)
    if device == "cpu":
        image, weight = a.view(1, side, side // IMAGE_WIDTH, IMAGE_WIDTH), b.view(side, side, 1, 1)
        yield Arm(step=lambda: torch.nn.functional.conv2d(image, weight), items=2 * side**3)


def _products_per_core(dtype: torch.dtype, side: int) -> Iterator[Arm]:
    for arm in _products("cpu", dtype, "highest", side):
        yield replace(arm, items=joblib.cpu_count() * arm.items).inside(thread_count, 1)


def _copy(device: str, pinned: bool, to_device: bool, size: int) -> Iterator[Arm]:
    near = torch.ones(size // 4, pin_memory=pinned)
    far = torch.ones(size // 4, device=device)
    target, source = (far, near) if to_device else (near, far)
    yield Arm(step=lambda: target.copy_(source, non_blocking=pinned), items=size)


def _free_bytes(device: str) -> float:
    module = torch.get_device_module(device)
    get_info = getattr(module, "mem_get_info", None)  # Apple's MPS has none; it shares the host's memory
    return float(get_info(device)[0]) if get_info else float(psutil.virtual_memory().available)
