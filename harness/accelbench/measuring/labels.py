"""The names of the values in an output: a dictionary's keys, a table's columns and index, and how lists are nested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accelbench.errors import BadInput
from accelbench.frameworks import host
from accelbench.frameworks.tree import stored_labels, stored_parts
from accelbench.measuring.checks.output import identical
from accelbench.schema.reasons import Reason, reason
from accelbench.text import join_names, list_some, name_type

LABEL_ROUNDING = 1e-6  # relative difference of labels that are floats, such as the edges of a histogram
MOST_NAMES = 3  # labels that a reason names
_PLAIN = {int, float, complex, bool, str, bytes, type(None)}


def find_other_labels(output: Any, expected: Any) -> Reason | None:
    """Return a reason if a dictionary in an output has other keys than expected, or a table other columns or index.

    The order of keys says nothing, that of columns and of an index does. Where only one of both is a table, their
    labels are not compared. As many plain values must be nested alike, since only that says which belong together.
    """
    if other := _find_other_names(output, expected):
        return other
    nestings = _nesting_of(output), _nesting_of(expected)
    if None in nestings or nestings[0] == nestings[1] or len({*map(_count, nestings)}) > 1:
        return None
    return reason("message", message="the output is nested in another way than the baseline's")


def _find_other_names(output: Any, expected: Any) -> Reason | None:
    if type(output) in _PLAIN or type(expected) in _PLAIN:
        return None
    labels, others = stored_labels(output), stored_labels(expected)
    parts, expected_parts = stored_parts(output), stored_parts(expected)
    if ("keys" in labels) != ("keys" in others) and min(len(parts or ()), len(expected_parts or ())) > 1:
        kinds = f"the output has {name_type(output)} where the baseline's has {name_type(expected)}"
        return reason("message", message=f"{kinds}; return the same, since only keys say which value is which")
    for kind in labels.keys() & others.keys():
        if not _same_labels(kind, labels[kind], others[kind]):
            return reason("message", message=_describe_labels(kind, labels[kind], others[kind]))
    if parts is None or expected_parts is None or len(parts) != len(expected_parts):
        return None
    found = (_find_other_names(*pair) for pair in zip(parts, expected_parts, strict=True))
    return next(filter(None, found), None)


def _nesting_of(output: Any) -> Any:
    """Return the numbers of plain values in an output, nested as its lists are; None if it has other values."""
    parts = stored_parts(output)
    if parts is None:
        return 1 if type(output) in _PLAIN or isinstance(output, np.generic) else None
    if isinstance(output, np.ndarray) or any(isinstance(part, np.ndarray) for part in parts):
        return None
    nestings = [_nesting_of(part) for part in parts]
    if None in nestings:
        return None
    return [sum(nestings)] if all(nesting == 1 for nesting in nestings) else nestings


def _count(nesting: Any) -> int:
    return sum(map(_count, nesting)) if isinstance(nesting, list) else int(nesting)


def _same_labels(kind: str, labels: Sequence[Any], others: Sequence[Any]) -> bool:
    if len(labels) != len(others):
        return False
    if kind == "keys":
        return set(labels) == set(others) or _are_close(sorted, labels, others)
    if kind != "index":
        return list(labels) == list(others)
    try:
        return identical(host.arrays(labels), host.arrays(others)) or _are_close(list, labels, others)
    except BadInput:  # they are of a type that is compared by itself, such as a period
        return list(labels) == list(others)


def _are_close(arrange: Callable[[Any], list[Any]], labels: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether labels are numbers, with floats among them, that differ by no more than rounding."""
    both = (*labels, *others)
    if not all(isinstance(each, float | int | np.number) for each in both):
        return False
    if not any(isinstance(each, float | np.floating) for each in both):
        return False
    values, expected = np.array(arrange(labels), dtype=float), np.array(arrange(others), dtype=float)
    smallest = LABEL_ROUNDING * float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0))
    return np.allclose(values, expected, rtol=LABEL_ROUNDING, atol=smallest, equal_nan=True)


def _describe_labels(kind: str, labels: Sequence[Any], others: Sequence[Any]) -> str:
    if kind == "index":
        return "the output has another index than the baseline's"
    known, expected = set(labels), set(others)
    missing = [each for each in others if each not in known]
    added = [each for each in labels if each not in expected]
    if not missing and not added:
        return f"the output has its {kind} in another order than the baseline's, or some of them more often"
    lacks, has = (f"the {_names(kind, some)}" if some else "" for some in (missing, added))
    if not missing:
        return f"the output has {has}, and the baseline's has not"
    return f"the output lacks {lacks} of the baseline's" + (f", and has {has} instead" if added else "")


def _names(kind: str, labels: Sequence[Any]) -> str:
    shown = [*map(repr, labels)]
    if len(labels) > MOST_NAMES:
        return f"{kind} {list_some(shown, MOST_NAMES)}"
    return f"{kind if len(labels) > 1 else kind.removesuffix('s')} {join_names(shown)}"
