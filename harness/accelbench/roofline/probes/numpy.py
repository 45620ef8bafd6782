"""Probes of the host: its memory and its matrix rate by NumPy, and its disk."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import psutil
import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from accelbench.core import Arm
from accelbench.roofline.probes import disk
from accelbench.roofline.probes.probe import COLUMNS, HOST_BYTES, PeakProbe, matrix, matrix_per_core, memory

MIN_SPLIT_BYTES = 2**20  # below, handing the parts to threads takes longer than the copy


def probes() -> Iterator[PeakProbe]:
    """Yield the probes."""
    yield memory("cpu", _memory, psutil.virtual_memory().available, most=HOST_BYTES)
    for name, dtype in (("fp32", np.float32), ("fp64", np.float64)):
        yield matrix("cpu", name, partial(_product, dtype))
        yield matrix_per_core(name, partial(_product_per_core, dtype))
    yield from disk.probes()


def _memory(size: int) -> Iterator[Arm]:
    """Yield kernels that write, read, and do both, over ``size`` bytes."""
    whole = np.ones(size // 4, np.float32)
    source, target = np.split(whole, 2)
    rows, vector = whole.reshape(-1, COLUMNS), np.ones(COLUMNS, np.float32)
    yield Arm(step=lambda: whole.fill(1.0), items=size)
    yield Arm(step=lambda: np.dot(source, target), items=size)
    yield Arm(step=lambda: rows @ vector, items=size)
    yield Arm(step=lambda: np.copyto(target, source), items=size)
    yield Arm(step=lambda: np.multiply(source, target, out=target), items=1.5 * size)
    if size >= MIN_SPLIT_BYTES:
        yield _copy_in_threads(source, target)


def _copy_in_threads(source: np.ndarray, target: np.ndarray) -> Arm:
    """Return a copy by one thread per core, since a single thread does not use the memory's full rate."""
    cores = joblib.cpu_count()
    parts = list(zip(np.array_split(target, cores), np.array_split(source, cores), strict=True))
    pool = ThreadPoolExecutor(cores)
    return Arm(
        step=lambda: [future.result() for future in [pool.submit(np.copyto, *part) for part in parts]],
        items=2 * source.nbytes,
        close=pool.shutdown,
    )


def _product(dtype: type, side: int) -> Iterator[Arm]:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, side, side)).astype(dtype)
    product = np.empty_like(a)
    yield Arm(step=lambda: np.matmul(a, b, out=product), items=2 * side**3)


def _product_per_core(dtype: type, side: int) -> Iterator[Arm]:
    for arm in _product(dtype, side):
        yield replace(arm, items=joblib.cpu_count() * arm.items).inside(threadpoolctl.threadpool_limits, 1)
