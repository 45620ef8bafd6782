"""Values nested in tuples, lists and mappings, as steps return them and arms show their inputs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import sys
from collections import UserDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

import numpy as np

from accelbench.core import DeferredOutput
from accelbench.errors import LazyOutput
from accelbench.text import name_type

_EMPTY: dict[Any, Any] = {}
_VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))  # no other type derives from these


def tree_leaves(value: Any) -> Iterator[Any]:
    """Yield the values in ``value``, however nested; None counts as empty."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for part in value:
            yield from tree_leaves(part)
    elif value is not None:
        yield value


def stored_leaves(value: Any) -> Iterator[Any]:
    """Yield the values that an output holds in memory, however nested, without calling any method of its containers.

    Containers are dictionaries, lists, tuples, sets and dataclasses, also of derived types, ``UserDict``,
    ``SimpleNamespace``, structured arrays, arrays of containers, tables and sparse matrices. They are read as their
    built-in type does, past methods that a derived type overrides and that may compute. A ``DeferredOutput`` is read,
    since it says that it was not. What is no container is a leaf, None too, unless there is nothing else.

    The values of a dictionary come in the order of its keys, so that equal dictionaries have equal leaves. Keys of
    several types are ordered by type first. A dictionary that is a dataclass too keeps the order of its fields.

    Raises:
        LazyOutput: a dataclass computes a field when it is read.
    """
    leaves = [*_all_leaves(value)]
    return iter(leaves if any(leaf is not None for leaf in leaves) else ())


def _all_leaves(value: Any) -> Iterator[Any]:
    parts = stored_parts(value)
    if parts is None:
        yield value
    else:
        for part in parts:
            yield from _all_leaves(part)


def stored_parts(value: Any) -> Sequence[Any] | None:
    """Return what a container holds, None for anything else, such as what only calls itself one."""
    if value.__class__ is not type(value):
        return None
    if (mapping := _stored_mapping(value)) is not None:
        keys = list(dict.keys(mapping))
        return [dict.__getitem__(mapping, key) for key in (keys if _has_fields(value) else _keys_in_order(keys))]
    if isinstance(value, tuple):
        return list(tuple.__iter__(value))
    if isinstance(value, list):
        return list(list.__iter__(value))
    if isinstance(value, deque):
        return list(deque.__iter__(value))
    if isinstance(value, set | frozenset):
        return [np.fromiter(_in_order(frozenset(value)), dtype=object, count=len(frozenset(value)))]
    if isinstance(value, _VIEWS):
        return [*value]
    if isinstance(value, UserDict):  # whose data are no dictionary
        return [vars(value).get("data")]
    if isinstance(value, np.ndarray | np.void):
        return _parts_of_array(np.asarray(value))
    if _has_fields(value):
        return [_stored_field(value, field.name) for field in dataclasses.fields(value)]
    return _parts_of_library(value)


def stored_labels(value: Any) -> dict[str, Any]:
    """Return the names by which a container holds its parts: "keys", "fields", or a table's "columns" and "index".

    They are empty for a container without names, and for what is no container.
    """
    if value.__class__ is not type(value):
        return {}
    if (mapping := _stored_mapping(value)) is not None:
        return {"keys": list(dict.keys(mapping))}
    if isinstance(value, np.ndarray | np.void):
        return {"fields": list(value.dtype.names)} if value.dtype.names else {}
    read = _reader_of(value, _LABELS)
    return read(value) if read else {}


def _stored_mapping(value: Any) -> dict[Any, Any] | None:
    """Return the dictionary in which a mapping or a namespace holds its parts, None for anything else."""
    if isinstance(value, dict):
        return value
    if type(value) is DeferredOutput:
        return dict(value)
    if isinstance(value, UserDict):
        data = vars(value).get("data")
        return data if isinstance(data, dict) else None
    return vars(value) if isinstance(value, SimpleNamespace) else None


def _has_fields(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _keys_in_order(keys: list[Any]) -> list[Any]:
    """Return keys in an order that depends on their values only, as far as their types show these."""
    if {type(key) for key in keys} <= {str}:
        return sorted(keys)
    return sorted(keys, key=_rank)


def _rank(key: Any) -> tuple[Any, ...]:
    """Return what orders a key among keys of any types: equal keys have equal ranks."""
    if isinstance(key, str):
        return "text", str.__str__(key)
    if isinstance(key, bytes):
        return "bytes", bytes(key)
    if isinstance(key, bool | int | float | np.bool_ | np.integer | np.floating):
        number = key if isinstance(key, int) else key.item() if isinstance(key, np.generic) else float(key)
        return ("number", number) if number == number else ("not a number",)
    if isinstance(key, dt.date):
        return "date", key.isoformat()
    if isinstance(key, tuple):
        return "tuple", tuple(map(_rank, tuple.__iter__(key)))
    if isinstance(key, frozenset):
        return "set", tuple(sorted(map(_rank, frozenset.__iter__(key))))
    shows_value = any("__repr__" in vars(base) for base in type(key).__mro__[:-1])  # that of object shows an address
    return "", type(key).__name__, repr(key) if shows_value else ""


def _parts_of_library(value: Any) -> list[Any] | None:
    """Return the arrays that a table, a sparse matrix, or a cache of a language model holds; None for anything else.

    The libraries are not imported. A table comes by columns, a sparse matrix by its rows in order: where they begin,
    the columns, and the values.
    """
    read = _reader_of(value, _READERS)
    return read(value) if read else None


def _reader_of(value: Any, readers: Mapping[tuple[str, str], Callable[[Any], Any]]) -> Callable[[Any], Any] | None:
    """Return the function for a value's type, named by package and name; the type must be the library's own."""
    for base in type(value).__mro__:
        read = readers.get((base.__module__.partition(".")[0], base.__name__))
        if read and getattr(sys.modules.get(base.__module__), base.__name__, None) is base:
            return read
    return None


def _columns(table: Any) -> list[Any]:
    return [table.iloc[:, place].to_numpy() for place in range(table.shape[1])]


def _rows(matrix: Any) -> list[Any]:
    rows = matrix.tocsr(copy=True)
    rows.sum_duplicates()
    return [rows.indptr, rows.indices, rows.data]


def _layers(cache: Any) -> list[Any]:
    stored = vars(cache)
    if "layers" in stored:
        return [[vars(layer).get("keys"), vars(layer).get("values")] for layer in stored["layers"]]
    return [stored.get("key_cache"), stored.get("value_cache")]


_READERS = {
    ("pandas", "DataFrame"): _columns,
    ("pandas", "Series"): lambda column: [column.to_numpy()],
    ("pandas", "Index"): lambda index: [index.to_numpy()],
    ("polars", "DataFrame"): lambda table: [column.to_numpy() for column in table.get_columns()],
    ("polars", "Series"): lambda column: [column.to_numpy()],
    ("pyarrow", "Table"): lambda table: [column.to_numpy() for column in table.columns],
    ("pyarrow", "ChunkedArray"): lambda column: [column.to_numpy()],
    ("pyarrow", "Array"): lambda column: [column.to_numpy(zero_copy_only=False)],
    ("scipy", "_spbase"): _rows,
    ("transformers", "Cache"): _layers,
}
_LABELS: dict[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("pandas", "DataFrame"): lambda table: {"columns": list(table.columns), "index": table.index.to_numpy()},
    ("pandas", "Series"): lambda column: {"index": column.index.to_numpy()},
    ("polars", "DataFrame"): lambda table: {"columns": list(table.columns)},
    ("pyarrow", "Table"): lambda table: {"columns": list(table.column_names)},
}


def _parts_of_array(array: np.ndarray) -> Sequence[Any] | None:
    """Return the fields of a structured array, or the values of one whose elements are arrays or other containers."""
    if array.dtype.names:
        return [array[name] for name in array.dtype.names]
    if array.dtype.kind == "O" and any(isinstance(part, np.ndarray | list | tuple | dict) for part in array.flat):
        return list(array.flat)
    return None


def _in_order(values: frozenset[Any]) -> list[Any]:
    """Return the values of a set, which may be of several types, in an order that does not depend on the set."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _stored_field(value: Any, name: str) -> Any:
    stored = getattr(value, "__dict__", {})
    if name in stored:
        return stored[name]
    if isinstance(getattr(type(value), name, None), MemberDescriptorType):  # a slot
        return getattr(value, name)
    raise LazyOutput(
        f"the step returned {name_type(value)} whose {name} may be computed only when it is read, after the "
        "clock has stopped; return an array, a number, or a tuple or mapping of these"
    )


def tree_map(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return ``value``, nested as it is, with every leaf changed, in the order of :func:`tree_leaves`."""
    if isinstance(value, Mapping):
        return {key: tree_map(part, change) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return sequence_with(value, [tree_map(part, change) for part in value])
    return None if value is None else change(value)


def sequence_with(value: tuple[Any, ...] | list[Any], parts: list[Any]) -> Any:
    """Return a tuple or list of the kind of ``value`` with other parts."""
    if hasattr(value, "_make"):  # a named tuple
        return value._make(parts)
    if hasattr(value, "n_sequence_fields"):  # one of a C extension, as PyTorch's maximum returns
        return type(value)(parts)
    return tuple(parts) if isinstance(value, tuple) else parts
