"""One formula in three forms: a Python loop over its parts, array expressions, batched matrix products."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from harness.errors import BadInput
from harness.experiment import Arm, Setting, workload
from harness.workloads.arrays.libraries import INPUT_SETS, find_library

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
        saving=2,  # each distance stands there twice
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
    if form not in forms:
        raise BadInput(f"unknown form {form!r}; expected one of: {', '.join(forms)}")
    library = find_library(array_library)
    rng = np.random.default_rng(setting.seed)
    inputs = [(rng.standard_normal(shape, dtype=np.float32),) for _ in range(INPUT_SETS)]
    return library.arm(partial(forms[form], library.xp), inputs, **facts)


def _distances_by_loop(xp: Any, sets: Any) -> Any:
    return xp.stack([xp.stack([xp.stack([_apart(xp, a, b) for b in points]) for a in points]) for points in sets])


def _apart(xp: Any, a: Any, b: Any) -> Any:
    difference = a - b
    return xp.sqrt(xp.sum(difference * difference))


def _distances_by_arrays(xp: Any, sets: Any) -> Any:
    difference = sets[:, :, None, :] - sets[:, None, :, :]
    return xp.sqrt(xp.sum(difference * difference, axis=-1))


def _distances_by_products(xp: Any, sets: Any) -> Any:
    """|a − b|² = |a|² + |b|² − 2 a·b, which cancels where points are close; what is negative is rounding."""
    squares = xp.sum(sets * sets, axis=-1)
    products = sets @ xp.matrix_transpose(sets)
    return xp.sqrt(xp.abs(squares[:, :, None] + squares[:, None, :] - 2 * products))


def _normalised_by_loop(xp: Any, rows: Any) -> Any:
    return xp.stack([_normalised(xp, row) for row in rows])


def _normalised(xp: Any, row: Any) -> Any:
    centred = row - xp.mean(row)
    return centred / xp.sqrt(xp.mean(centred * centred))


def _normalised_by_arrays(xp: Any, rows: Any) -> Any:
    centred = rows - xp.mean(rows, axis=1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True))


def _normalised_by_products(xp: Any, rows: Any) -> Any:
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
    "loop": _normalised_by_loop,
    "array": _normalised_by_arrays,
    "matmul": _normalised_by_products,
}
