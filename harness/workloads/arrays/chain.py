"""A chain of elementwise operations in NumPy, from a Python loop to all cores on blocks that fit into a cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, Work, workload
from harness.workloads.arrays.libraries import INPUT_SETS
from harness.workloads.data.rotation import Rotation

BLOCK = 16_384  # elements: five float32 arrays of these take 320 KiB, less than a core's second-level cache
OPERATIONS = 10  # per element
Chain = Callable[[Any, Any, Any, Any], None]  # three operands, and what is written


@workload("numpy", unit="element")
def stacked_chain(
    setting: Setting, *, form: str = "array", in_place: bool = False, blocking: bool = False, workers: int = 1
) -> Arm:
    """Ten elementwise operations in a row on float32 vectors: √(a² + b²)·exp(−c²) + sin a."""
    if form not in ("loop", "array"):
        raise BadInput(f"unknown form {form!r}; expected one of: loop, array")
    if form == "loop" and (in_place or blocking or workers > 1):
        raise Unavailable("a Python loop makes no temporary arrays, and holds back all other threads")
    elements = setting.choose(small=100_000, full=1_000_000)
    rng = np.random.default_rng(setting.seed)
    rotation = Rotation([tuple(2 * rng.random((3, elements), dtype=np.float32) - 1) for _ in range(INPUT_SETS)])
    chain: Chain = _loop if form == "loop" else _in_place if in_place else _expression
    length = BLOCK if blocking else -(-elements // workers)
    parts = [slice(first, first + length) for first in range(0, elements, length)]
    held = ExitStack()
    each = held.enter_context(ThreadPoolExecutor(workers)).map if workers > 1 else map

    def step() -> Any:
        a, b, c = rotation.take()
        output = np.empty_like(a)
        list(each(lambda part: chain(a[part], b[part], c[part], output[part]), parts))
        return output

    vector_bytes = 4 * elements
    return Arm(
        step=step,
        items=elements,
        reset=rotation.restart,
        checked_steps=INPUT_SETS,
        device="cpu",
        inputs=rotation.shown,
        work=Work(operations=OPERATIONS * elements, memory_bytes=4 * vector_bytes, precision="fp32"),
        close=held.close,
    )


def _loop(a: Any, b: Any, c: Any, output: Any) -> None:
    for i in range(len(a)):
        output[i] = math.sqrt(a[i] * a[i] + b[i] * b[i]) * math.exp(-c[i] * c[i]) + math.sin(a[i])


def _expression(a: Any, b: Any, c: Any, output: Any) -> None:
    output[:] = np.sqrt(a * a + b * b) * np.exp(-c * c) + np.sin(a)


def _in_place(a: Any, b: Any, c: Any, output: Any) -> None:
    """Write into the output and one temporary array, instead of an array for every operation."""
    other = b * b
    np.multiply(a, a, out=output)
    output += other
    np.sqrt(output, out=output)
    np.multiply(c, c, out=other)
    np.negative(other, out=other)
    np.exp(other, out=other)
    output *= other
    np.sin(a, out=other)
    output += other
