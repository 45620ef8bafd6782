"""Values nested in tuples, lists and mappings: what a step returns, and what an arm shows of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def parts(value: Any) -> Iterator[Any]:
    """Yield what ``value`` holds, however nested."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for part in value:
            yield from parts(part)
    elif value is not None:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return ``value`` in the same nesting with every part of it changed, in the order of :func:`parts`."""
    if isinstance(value, Mapping):
        return {key: mapped(part, change) for key, part in value.items()}
    if isinstance(value, tuple | list):
        changed = [mapped(part, change) for part in value]
        return tuple(changed) if isinstance(value, tuple) else changed
    return None if value is None else change(value)
