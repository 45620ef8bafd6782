"""Probes by PyTorch: memory and matrix rate of the CPU and of every accelerator, and the link to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import joblib
import psutil
import torch

from harness.ceilings.probe import COLUMNS, HOST_BYTES, Probe, cores_apart, link, matrix, memory
from harness.experiment import Arm
from harness.frameworks.torch_precision import float32_precision

PIXELS = 32  # in a row of an image
# No float16 on the CPU: most emulate it a thousand times slower than float32, and an arm can do better than that.
_CPU_PRECISIONS = {"fp32": torch.float32, "fp64": torch.float64, "bf16": torch.bfloat16}
_PRECISIONS = {**_CPU_PRECISIONS, "fp16": torch.float16}


def probes() -> Iterator[Probe]:
    """Yield the probes."""
    yield memory("cpu", partial(_memory, "cpu"), psutil.virtual_memory().available, most=HOST_BYTES)
    for name, dtype in _CPU_PRECISIONS.items():
        yield matrix("cpu", name, partial(_products, "cpu", dtype, "highest"))
        yield cores_apart(name, partial(_products_apart, dtype))
    found = torch.accelerator.current_accelerator(check_available=True)
    for index in range(torch.accelerator.device_count() if found else 0):
        yield from _of_accelerator(f"{found.type}:{index}")


def _of_accelerator(device: str) -> Iterator[Probe]:
    yield memory(device, partial(_memory, device), _free_bytes(device))
    for name, dtype in _PRECISIONS.items():
        yield matrix(device, name, partial(_products, device, dtype, "highest"))
    if device.startswith("cuda") and torch.cuda.get_device_capability(device) >= (8, 0):  # Ampere brought it
        yield matrix(device, "tf32", partial(_products, device, torch.float32, "high"))
    for kind, pinned in (("pageable", False), ("pinned", True)):
        yield link(device, f"to device {kind}", partial(_copy, device, pinned, True))
        yield link(device, f"from device {kind}", partial(_copy, device, pinned, False))


def _memory(device: str, size: int) -> Iterator[Arm]:
    """Yield kernels that write, read, and do both, all over ``size`` bytes."""
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
    """Yield a product of matrices; on the CPU the convolution that is one too, as its library may be the faster."""
    a, b = (torch.randn(side, side, device=device).to(dtype) for _ in "ab")
    product = torch.empty_like(a)
    yield Arm(step=lambda: torch.matmul(a, b, out=product), items=2 * side**3).inside(float32_precision, precision)
    if device == "cpu":
        image, weight = a.view(1, side, side // PIXELS, PIXELS), b.view(side, side, 1, 1)
        yield Arm(step=lambda: torch.nn.functional.conv2d(image, weight), items=2 * side**3)


def _products_apart(dtype: torch.dtype, side: int) -> Iterator[Arm]:
    for arm in _products("cpu", dtype, "highest", side):
        yield replace(arm, items=joblib.cpu_count() * arm.items).inside(_one_thread)


def _copy(device: str, pinned: bool, outward: bool, size: int) -> Iterator[Arm]:
    near = torch.ones(size // 4, pin_memory=pinned)
    far = torch.ones(size // 4, device=device)
    target, source = (far, near) if outward else (near, far)
    yield Arm(step=lambda: target.copy_(source, non_blocking=pinned), items=size)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _free_bytes(device: str) -> float:
    module = torch.get_device_module(device)
    ask = getattr(module, "mem_get_info", None)  # Apple's MPS shares the host's memory
    return float(ask(device)[0]) if ask else float(psutil.virtual_memory().available)
