"""A formula as a loop, as array expressions or matrix products, and a chain that gains one technique after another."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from accelbench.core import Arm, Setting, Work, workload
from accelbench.errors import Unavailable, check_choice
from accelbench.workloads.arrays.libraries import INPUT_SETS, find_library, uniform
from accelbench.workloads.data.rotation import Rotation

FEATURES = 32
Form = Callable[[Any, Any], Any]


@workload("numpy", "torch", "cupy", unit="distance")
def distance_matrix(setting: Setting, *, array_library: str = "numpy", form: str = "array") -> Arm:
    """Euclidean distances between all pairs of 32 points, in each of several sets."""
    sets = setting.choose(small=2, full=4)
    distances = sets * 32 * 32
    return _arm(
        setting,
        (sets, 32, FEATURES),
        array_library,
        _DISTANCES,
        form,
        items=distances,
        operations=2 * FEATURES * distances,  # by products
        saving=2,  # each distance is computed twice
        output_bytes=4 * distances,
    )


@workload("numpy", "torch", "cupy", unit="row")
def row_normalisation(setting: Setting, *, array_library: str = "numpy", form: str = "array") -> Arm:
    """Rows of a table, each scaled to mean 0 and variance 1."""
    rows = setting.choose(small=512, full=2048)
    return _arm(
        setting,
        (rows, FEATURES),
        array_library,
        _NORMALISED,
        form,
        items=rows,
        operations=5 * rows * FEATURES,
        output_bytes=4 * rows * FEATURES,
    )


def _arm(
    setting: Setting, shape: tuple[int, ...], array_library: str, forms: dict[str, Form], form: str, **facts: Any
) -> Arm:
    check_choice(form, forms, "form")
    library = find_library(array_library)
    rng = np.random.default_rng(setting.seed)
    inputs = [(rng.standard_normal(shape, dtype=np.float32),) for _ in range(INPUT_SETS)]
    return library.arm(partial(forms[form], library.xp), inputs, **facts)


def _distances_by_loop(xp: Any, sets: Any) -> Any:
    return xp.stack([xp.stack([xp.stack([_distance(xp, a, b) for b in points]) for a in points]) for points in sets])


def _distance(xp: Any, a: Any, b: Any) -> Any:
    difference = a - b
    return xp.sqrt(xp.sum(difference * difference))


def _distances_by_arrays(xp: Any, sets: Any) -> Any:
    difference = sets[:, :, None, :] - sets[:, None, :, :]
    return xp.sqrt(xp.sum(difference * difference, axis=-1))


def _distances_by_products(xp: Any, sets: Any) -> Any:
    """|a − b|² = |a|² + |b|² − 2 a·b, which cancels where points are close; negative values are rounding."""
    squares = xp.sum(sets * sets, axis=-1)
    products = sets @ xp.matrix_transpose(sets)
    return xp.sqrt(xp.abs(squares[:, :, None] + squares[:, None, :] - 2 * products))


def _normalise_by_loop(xp: Any, rows: Any) -> Any:
    return xp.stack([_normalise(xp, row) for row in rows])


def _normalise(xp: Any, row: Any) -> Any:
    centred = row - xp.mean(row)
    return centred / xp.sqrt(xp.mean(centred * centred))


def _normalise_by_arrays(xp: Any, rows: Any) -> Any:
    centred = rows - xp.mean(rows, axis=1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True))


def _normalise_by_products(xp: Any, rows: Any) -> Any:
    """A mean is a product with a vector, a variance the product of a row with itself."""
    features = rows.shape[1]
    centred = rows - rows @ xp.matrix_transpose(xp.full_like(rows[:1], 1 / features))
    variances = centred[:, None, :] @ centred[:, :, None] / features
    return centred / xp.sqrt(variances[:, :, 0])


_DISTANCES: dict[str, Form] = {
    "loop": _distances_by_loop,
    "array": _distances_by_arrays,
    "matmul": _distances_by_products,
}
_NORMALISED: dict[str, Form] = {
    "loop": _normalise_by_loop,
    "array": _normalise_by_arrays,
    "matmul": _normalise_by_products,
}


BLOCK = 16_384  # elements: five float32 arrays of this length take 320 KiB, less than a core's second-level cache
OPERATIONS = 10  # per element
Chain = Callable[[Any, Any, Any, Any], None]  # three operands and the output


@workload("numpy", unit="element")
def ladder_chain(
    setting: Setting, *, form: str = "array", in_place: bool = False, blocking: bool = False, workers: int = 1
) -> Arm:
    """Ten elementwise operations in a row on float32 vectors: √(a² + b²)·exp(−c²) + sin a."""
    check_choice(form, ("loop", "array"), "form")
    if form == "loop" and (in_place or blocking or workers > 1):
        raise Unavailable("a Python loop makes no temporary arrays, and holds back all other threads")
    elements = setting.choose(small=100_000, full=1_000_000)
    rng = np.random.default_rng(setting.seed)
    rotation = Rotation([tuple(uniform(rng, (3, elements))) for _ in range(INPUT_SETS)])
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
        inputs=rotation.inputs,
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
