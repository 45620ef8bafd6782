"""What adapters share on the host: outputs taken apart, NumPy's own facts, its seeds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from harness.errors import BadInput

_NOT_NUMBERS = "SUOMm"  # NumPy's kinds of texts, objects, dates and time spans


def arrays(output: Any, to_numpy: Callable[[Any], np.ndarray] = np.asarray) -> list[np.ndarray]:
    """Return the arrays and numbers in ``output``, however nested, as float64 copies; complex ones as pairs.

    Copies, because a step may write into the same buffer again. ``to_numpy`` brings one array to the host.

    Raises:
        BadInput: the output holds something that is neither array nor number.
    """
    return [_in_float64(to_numpy(leaf), leaf) for leaf in _leaves(output)]


def _leaves(output: Any) -> Iterator[Any]:
    if isinstance(output, Mapping):
        output = tuple(output.values())
    if isinstance(output, tuple | list):
        for part in output:
            yield from _leaves(part)
    elif output is not None:
        yield output


def _in_float64(array: np.ndarray, leaf: Any) -> np.ndarray:
    if array.dtype.kind in _NOT_NUMBERS:
        raise BadInput(
            f"the step returned a {type(leaf).__name__}, which cannot be checked; "
            "return an array, a number, or a tuple or mapping of these"
        )
    if array.dtype.kind == "c":
        return np.array(array, dtype=np.complex128, order="C", ndmin=1).view(np.float64)
    return np.array(array, dtype=np.float64)


def configuration() -> dict[str, str]:
    """Return what changes NumPy's speed: its version, vector instructions, BLAS library and threads."""
    facts = {"numpy.version": np.__version__}
    vectors = np.show_config(mode="dicts").get("SIMD Extensions", {})
    facts["numpy.simd"] = " ".join(vectors.get("found") or vectors.get("baseline", []))
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    if pools:
        # Other packages bring a BLAS library of their own; NumPy's wheel keeps its one below a folder of its name.
        own = min(pools, key=lambda pool: "numpy" not in pool["filepath"])
        parts = [own.get(key) for key in ("internal_api", "version", "architecture", "threading_layer")]
        facts["numpy.blas"] = " ".join(str(part) for part in parts if part)
        facts["numpy.blas_threads"] = str(own["num_threads"])
    return facts


def seed(number: int) -> None:
    """Seed the generators of Python and NumPy that have global state."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  code under test may draw from the global generator
