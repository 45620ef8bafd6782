"""What adapters share on the host: values taken apart, NumPy's own facts, its seeds."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from numbers import Number
from typing import Any

import numpy as np
import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from harness.errors import BadInput, LazyOutput
from harness.frameworks.nesting import parts
from harness.frameworks.protocol import Index, Leaf

_NOT_NUMBERS = "SUOMm"  # NumPy's kinds of texts, objects, dates and time spans
# What gives its values only when it is asked: arrays of libraries that compute late, generators, functions, futures.
_PROMISES = ("__array__", "__dlpack__", "__next__", "__await__", "__call__", "result")
_REMEDY = "return an array, a number, or a tuple or mapping of these"


def arrays(
    output: Any, to_numpy: Callable[[Any], np.ndarray] = np.asarray, own: tuple[type, ...] = ()
) -> list[np.ndarray]:
    """Return the arrays and numbers in ``output``, however nested, as float64 copies; complex ones as pairs.

    Copies, because a step may write into the same buffer again. ``own`` are the framework's types of arrays, of which
    ``to_numpy`` brings one to the host.

    Raises:
        LazyOutput: the output holds something that is computed when it is read.
        BadInput: the output holds something that is neither array nor number.
    """
    return [_in_float64(_to_numpy(part, to_numpy, own), part) for part in parts(output)]


def leaf(array: Any) -> Leaf | None:
    """Describe an array of NumPy's; None for what is none."""
    if not isinstance(array, np.ndarray | np.generic):
        return None
    return Leaf(device="cpu", dtype=array.dtype.name, shape=array.shape, nbytes=array.nbytes)


def item(array: Any, index: Index) -> Any:
    """Return a copy of one item of an array of NumPy's."""
    return np.array(array[index])


def put(array: Any, index: Index, values: Any) -> Any:
    """Write an item in place, or into a copy where the array is read-only."""
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        array = np.array(array)
    array[index] = values
    return array


def _to_numpy(part: Any, to_numpy: Callable[[Any], np.ndarray], own: tuple[type, ...]) -> np.ndarray:
    if isinstance(part, own):
        return to_numpy(part)
    if isinstance(part, np.ndarray | np.generic | Number):
        return np.asarray(part)
    if any(hasattr(part, promise) for promise in _PROMISES):
        raise LazyOutput(
            f"the step returned a {type(part).__name__}, which may compute its values only when it is read, after the "
            f"clock has stopped; {_REMEDY}"
        )
    raise BadInput(_uncheckable(part))


def _in_float64(array: np.ndarray, part: Any) -> np.ndarray:
    if array.dtype.kind in _NOT_NUMBERS:
        raise BadInput(_uncheckable(part))
    if array.dtype.kind == "c":
        return np.array(array, dtype=np.complex128, order="C", ndmin=1).view(np.float64)
    return np.array(array, dtype=np.float64)


def _uncheckable(part: Any) -> str:
    return f"the step returned a {type(part).__name__}, which cannot be checked; {_REMEDY}"


def configuration() -> dict[str, str]:
    """Return what changes NumPy's speed: its version, vector instructions, BLAS library and threads."""
    facts = {"numpy.version": np.__version__}
    vectors = np.show_config(mode="dicts").get("SIMD Extensions", {})
    facts["numpy.simd"] = " ".join(vectors.get("found") or vectors.get("baseline", []))
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    if pools:
        # Other packages bring a BLAS library of their own; NumPy's wheel keeps its one below a folder of its name.
        own = min(pools, key=lambda pool: "numpy" not in pool["filepath"])
        facts_of_it = [own.get(key) for key in ("internal_api", "version", "architecture", "threading_layer")]
        facts["numpy.blas"] = " ".join(str(fact) for fact in facts_of_it if fact)
        facts["numpy.blas_threads"] = str(own["num_threads"])
    return facts


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of packages that do part of the work, of those that are installed."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[f"{package}.version"] = version(package)
    return found


def seed(number: int) -> None:
    """Seed the generators of Python and NumPy that have global state."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  code under test may draw from the global generator
