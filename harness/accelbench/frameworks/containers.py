"""Containers of other libraries that hold their values in memory, read as arrays without importing the libraries."""

from __future__ import annotations

import sys
from typing import Any


def parts_of(value: Any) -> list[Any] | None:
    """Return the arrays that a table, a sparse matrix, or a cache of a language model holds; None for anything else.

    A table comes by columns, a sparse matrix by its rows in order: where they begin, the columns, and the values.
    """
    for base in type(value).__mro__:
        package = base.__module__.partition(".")[0]
        read = _READERS.get((package, base.__name__))
        if read and getattr(sys.modules.get(base.__module__), base.__name__, None) is base:
            return read(value)
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
