"""What adapters share on the host: reading outputs, changing NumPy's arrays, NumPy's configuration and seeds."""

from __future__ import annotations

import array as array_module
import datetime as dt
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from uuid import UUID

import numpy as np
import threadpoolctl  # type: ignore[import-untyped]  # ships no types
from numpy.lib.array_utils import byte_bounds

from accelbench.core.verification import as_pairs, is_exact
from accelbench.errors import BadInput, LazyOutput
from accelbench.frameworks.tree import stored_leaves
from accelbench.text import name_type

Index = int | tuple[()]  # of an item along the first axis; () if an array has no axes

_EXACT_KINDS = "SUTMm"  # NumPy's kinds of texts, dates and time spans, which are equal or not
_REAL = (float, int, Decimal, Fraction)
# Python's values that are equal or not. They are looked up by their very type, since a derived one may compute.
_PLAIN = {
    *(str, bytes, type(None), UUID),
    *(dt.date, dt.datetime, dt.time, dt.timedelta),
}
# Attributes of objects that compute their values on demand: arrays of lazy libraries, generators, functions, futures.
_PROMISES = {"__array__", "__dlpack__", "__getitem__", "__next__", "__await__", "__call__", "result", "compute"}
_REMEDY = "return an array, a number, or a tuple or mapping of these"


@dataclass(frozen=True, kw_only=True)
class ArrayInfo:
    """An array's place and size; ``device`` is ``"cpu"`` or an accelerator's label."""

    device: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class ArrayMemory:
    """The memory that an array shares with its views, and how to make such an array on a copy of that memory.

    ``root`` holds the bytes of this memory, shape ``(bytes,)``; a copy's address is a multiple of ``alignment``.
    ``rebuild`` is called with the copy and the ``arguments``.
    """

    root: np.ndarray
    rebuild: Callable[..., Any]
    arguments: tuple[Any, ...]
    alignment: int = 1


def arrays(
    output: Any, to_numpy: Callable[[Any], np.ndarray] = np.asarray, own: tuple[type, ...] = ()
) -> list[np.ndarray]:
    """Return the arrays and values in ``output``, however nested, as copies that a later step cannot write into.

    Numbers come in float64, complex ones as pairs, and NaN where an array is masked. Integers of which float64 would
    lose digits stay as they are. So do texts, dates and Python's other plain values; a single one is an array without
    axes. A set comes as one array in sorted order, a structured array as one array for each field.

    ``own`` are the framework's array types; ``to_numpy`` copies one array of these types to the host.

    Raises:
        LazyOutput: the output holds something that is computed when it is read.
        BadInput: the output holds something that cannot be compared.
    """
    return [_as_float64(_to_numpy(part, to_numpy, own)) for part in stored_leaves(output)]


def array_info(array: Any) -> ArrayInfo | None:
    """Describe a NumPy array; return None for anything else."""
    if not isinstance(array, np.ndarray | np.generic):
        return None
    return ArrayInfo(device="cpu", dtype=array.dtype.name, shape=array.shape, nbytes=array.nbytes)


def base_of(array: np.ndarray) -> Any:
    """Return what owns the memory of an array: an array, or the object of another kind on which it was made."""
    base: Any = array
    while (below := base.base if isinstance(base, np.ndarray) else getattr(base, "obj", None)) is not None:
        base = below
    return base


def memory_of(array: Any) -> ArrayMemory | None:
    """Return the memory of a NumPy array; None for anything else, and for arrays of objects."""
    if type(array) is not np.ndarray or array.dtype.hasobject:
        return None
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    (start, end), (first, last) = byte_bounds(root), byte_bounds(array)
    if not start <= first <= last <= end:
        return None  # a view of more than its base, which no copy of the base could hold
    address = array.__array_interface__["data"][0]
    layout = array.dtype, array.shape, array.strides, address - start, array.flags.writeable
    return ArrayMemory(root=bytes_at(start, end - start, root), rebuild=_rebuild, arguments=layout)


class _Bytes:
    """Memory at an address, as NumPy's array interface describes it, which keeps its owner."""

    def __init__(self, address: int, size: int, owner: object) -> None:
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": (size,), "typestr": "|u1"}
        self.owner = owner


def bytes_at(address: int, size: int, owner: object) -> np.ndarray:
    """Return the bytes at an address as an array, shape ``(size,)``, which keeps the owner of the memory alive."""
    return np.asarray(_Bytes(address, size, owner)) if size else np.empty(0, np.uint8)


def _rebuild(
    memory: np.ndarray, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, writeable: bool
) -> np.ndarray:
    array: np.ndarray = np.ndarray(shape, dtype, memory, offset, strides)
    array.flags.writeable = writeable
    return array


def item(array: Any, index: Index) -> Any:
    """Return a copy of one item of a NumPy array, masked where the array is."""
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.array(array.data[index], mask=np.ma.getmaskarray(array)[index], copy=True)
    return np.array(array[index])


def put(array: Any, index: Index, values: Any) -> Any:
    """Write an item in place, or into a copy if the array is read-only; return the array written to."""
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        array = np.array(array)
    array[index] = values
    return array


def _to_numpy(part: Any, to_numpy: Callable[[Any], np.ndarray], own: tuple[type, ...]) -> np.ndarray:
    if part.__class__ is not type(part):
        raise LazyOutput(
            f"the step returned {name_type(part)} that calls itself a {part.__class__.__name__}, and may compute "
            f"its values only when it is read, after the clock has stopped; {_REMEDY}"
        )
    if isinstance(part, own):
        return to_numpy(part)
    if isinstance(part, np.ma.MaskedArray):
        return _with_gaps(part)
    if isinstance(part, np.ndarray):  # of any derived type: what lies in its memory
        return np.asarray(part)
    if isinstance(part, np.generic):
        return np.generic.__array__(part)
    if type(part) in _PLAIN:
        return _object(part)
    if isinstance(part, bool | int | float | complex):  # of any derived type: the number that it holds
        return np.asarray(_number(part))
    if isinstance(part, Decimal | Fraction):
        return _object(part)
    if isinstance(part, memoryview | array_module.array | range):
        return np.asarray(part)
    if isinstance(part, str | bytes | bytearray):  # such as a member of an enumeration
        return _object(str.__str__(part) if isinstance(part, str) else bytes(part))
    if any(not _PROMISES.isdisjoint(vars(base)) for base in type(part).__mro__):
        raise LazyOutput(
            f"the step returned {name_type(part)}, which may compute its values only when it is read, after the "
            f"clock has stopped; {_REMEDY}"
        )
    raise BadInput(f"the step returned {name_type(part)}, which cannot be checked; {_REMEDY}")


def _number(part: complex) -> complex:
    if isinstance(part, int):
        return int.__int__(part)
    if isinstance(part, float):
        return float.__float__(part)
    return complex.__complex__(part)


def _object(part: Any) -> np.ndarray:
    """Return an array without axes that holds this object."""
    array = np.empty((), dtype=object)
    array[()] = part
    return array


def _with_gaps(part: np.ma.MaskedArray) -> np.ndarray:
    """Return the values of a masked array, NaN where it is masked, or what stands for nothing in its type."""
    values, mask = np.array(part, subok=False), np.ma.getmaskarray(part)
    if values.dtype.kind in "biu":
        values = values.astype(np.float64)
    values[mask] = np.nan if values.dtype.kind in "fc" else np.zeros((), values.dtype)
    return values


def _as_float64(array: np.ndarray) -> np.ndarray:
    kind = array.dtype.kind
    if kind in _EXACT_KINDS or is_exact(array):
        return array.copy()
    if kind == "O":
        return _of_objects(array)
    if kind == "c":
        return as_pairs(array)
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError):  # bytes without a type
        return array.copy()


def _of_objects(array: np.ndarray) -> np.ndarray:
    """Return an array of Python's plain values, numbers in float64 where all are numbers.

    Raises:
        LazyOutput: one of them is no plain value.
    """
    types = {type(each) for each in array.flat}
    if array.size and types <= {*_REAL, bool}:  # too large an integer is compared digit by digit
        with suppress(OverflowError):
            return array.astype(np.float64)
    for each in array.flat:
        if type(each) not in _PLAIN and not isinstance(each, (*_REAL, complex, np.generic)):
            raise LazyOutput(
                f"the step returned an array of {type(each).__name__} objects, which may compute their values only "
                f"when they are read, after the clock has stopped; {_REMEDY}"
            )
    return array.copy()


def configuration() -> dict[str, str]:
    """Return NumPy's version, vector instructions, BLAS library and threads."""
    facts = {"numpy.version": np.__version__}
    vectors = np.show_config(mode="dicts").get("SIMD Extensions", {})
    facts["numpy.simd"] = " ".join(vectors.get("found") or vectors.get("baseline", []))
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    if pools:
        # Other packages bring BLAS libraries of their own; that of NumPy's wheel lies in a folder named after NumPy.
        own = min(pools, key=lambda pool: "numpy" not in pool["filepath"])
        known = [own.get(key) for key in ("internal_api", "version", "architecture", "threading_layer")]
        facts["numpy.blas"] = " ".join(str(fact) for fact in known if fact)
        facts["numpy.blas_threads"] = str(own["num_threads"])
    return facts


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[f"{package}.version"] = version(package)
    return found


def seed(number: int) -> None:
    """Seed the generators of Python and NumPy that have global state."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  code under test may draw from the global generator
