"""Probes by CuPy: memory and matrix rate of every CUDA device, and the link to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from accelbench.core import Arm
from accelbench.frameworks.cupy import namespace, unavailable
from accelbench.roofline.probes.probe import COLUMNS, PeakProbe, link, matrix, memory

_PRECISIONS = {"fp32": np.float32, "fp64": np.float64, "fp16": np.float16}


def probes() -> Iterator[PeakProbe]:
    """Yield the probes; none without a device."""
    if unavailable() is not None:
        return
    cupy = namespace()
    # CuPy's workloads run on its current device only.
    name = f"cuda:{cupy.cuda.runtime.getDevice()}"
    yield memory(name, partial(_memory, cupy), cupy.cuda.runtime.memGetInfo()[0])
    for precision, dtype in _PRECISIONS.items():
        yield matrix(name, precision, partial(_product, cupy, dtype))
    yield link(name, "to device pageable", partial(_to_device, cupy, np.ones))
    yield link(name, "from device pageable", partial(_from_device, cupy, np.empty))
    yield link(name, "to device pinned", partial(_to_device, cupy, partial(_pinned_array, cupy)))
    yield link(name, "from device pinned", partial(_from_device, cupy, partial(_pinned_array, cupy)))


def _memory(cupy: Any, size: int) -> Iterator[Arm]:
    """Yield kernels that write, read, and do both, over ``size`` bytes."""
    whole = cupy.ones(size // 4, np.float32)
    source, target = cupy.split(whole, 2)
    rows, vector = whole.reshape(-1, COLUMNS), cupy.ones(COLUMNS, np.float32)
    yield Arm(step=lambda: whole.fill(1.0), items=size)
    yield Arm(step=whole.sum, items=size)
    yield Arm(step=lambda: rows @ vector, items=size)
    yield Arm(step=lambda: cupy.copyto(target, source), items=size)
    yield Arm(step=lambda: cupy.multiply(source, target, out=target), items=1.5 * size)


def _product(cupy: Any, dtype: type, side: int) -> Iterator[Arm]:
    a, b = (cupy.random.standard_normal((side, side), np.float32).astype(dtype) for _ in "ab")
    product = cupy.empty_like(a)
    yield Arm(step=lambda: cupy.matmul(a, b, out=product), items=2 * side**3)


def _to_device(cupy: Any, array: Any, size: int) -> Iterator[Arm]:
    near, far = array(size // 4, np.float32), cupy.empty(size // 4, np.float32)
    yield Arm(step=lambda: far.set(near), items=size)


def _from_device(cupy: Any, array: Any, size: int) -> Iterator[Arm]:
    near, far = array(size // 4, np.float32), cupy.ones(size // 4, np.float32)
    yield Arm(step=lambda: far.get(out=near), items=size)


def _pinned_array(cupy: Any, length: int, dtype: type) -> np.ndarray:
    """Return an array in page-locked host memory."""
    return np.frombuffer(cupy.cuda.alloc_pinned_memory(4 * length), dtype, length)
