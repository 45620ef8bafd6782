"""Probes by TensorFlow: memory and matrix rate of the CPU and of every GPU, and the link to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import psutil
import tensorflow as tf

from accelbench.core import Arm
from accelbench.frameworks.tensorflow import tensor_float_32
from accelbench.roofline.probes.probe import COLUMNS, HOST_BYTES, PeakProbe, link, matrix, memory

GPU_BYTES = 2**33  # TensorFlow does not report how much is free; sizes that do not fit are left out
_CPU_PRECISIONS = {"fp32": tf.float32, "fp64": tf.float64, "bf16": tf.bfloat16}
_PRECISIONS = {**_CPU_PRECISIONS, "fp16": tf.float16}


def probes() -> Iterator[PeakProbe]:
    """Yield the probes."""
    yield memory("cpu", partial(_memory, "CPU:0"), psutil.virtual_memory().available, most=HOST_BYTES)
    for precision, dtype in _CPU_PRECISIONS.items():
        yield matrix("cpu", precision, partial(_product, "CPU:0", dtype, False))
    for index in range(len(tf.config.list_physical_devices("GPU"))):
        yield from _gpu_probes(f"GPU:{index}", f"cuda:{index}")  # the same name for a GPU in every framework


def _gpu_probes(place: str, name: str) -> Iterator[PeakProbe]:
    yield memory(name, partial(_memory, place), GPU_BYTES)
    for precision, dtype in _PRECISIONS.items():
        yield matrix(name, precision, partial(_product, place, dtype, False))
    yield matrix(name, "tf32", partial(_product, place, tf.float32, True))
    yield link(name, "to device pageable", partial(_to_device, place))
    yield link(name, "from device pageable", partial(_from_device, place))


def _memory(place: str, size: int) -> Iterator[Arm]:
    """Yield kernels that read ``size`` bytes, and that read and write."""
    with tf.device(place):
        whole = tf.ones(size // 4)
        rows, vector = tf.reshape(whole, (-1, COLUMNS)), tf.ones(COLUMNS)
        first, second = tf.ones(size // 12), tf.ones(size // 12)
    for step in (lambda: tf.reduce_sum(whole), lambda: tf.linalg.matvec(rows, vector), lambda: first * second):
        yield Arm(step=step, items=size).inside(tf.device, place)


def _product(place: str, dtype: tf.DType, tf32: bool, side: int) -> Iterator[Arm]:
    with tf.device(place):
        a, b = (tf.cast(tf.random.normal((side, side)), dtype) for _ in "ab")
    arm = Arm(step=lambda: tf.matmul(a, b), items=2 * side**3).inside(tf.device, place)
    yield arm.inside(tensor_float_32, tf32)


def _to_device(place: str, size: int) -> Iterator[Arm]:
    near = np.ones(size // 4, np.float32)
    yield Arm(step=lambda: tf.constant(near), items=size).inside(tf.device, place)


def _from_device(place: str, size: int) -> Iterator[Arm]:
    with tf.device(place):
        far = tf.ones(size // 4)

    def fetch() -> np.ndarray:
        # A tensor caches the array that numpy() returned, so each step fetches another tensor.
        return np.asarray((far + 1).numpy())

    yield Arm(step=fetch, items=size)
