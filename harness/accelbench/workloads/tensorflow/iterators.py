"""Iterators over a ``tf.data.Dataset`` that are deleted only when a timed block is over. Needs TensorFlow.

Whoever deletes an iterator ends the thread that tunes its pipeline, and in some of the cases waits until that thread
wakes up by itself: 10, 30, 70 or 150 ms after the iterator was made, and so on. On two cores, a tenth to a third of
short epochs took 148 ms, whatever their work; the others took 65 or 115 ms. A training of long epochs hardly notices.
An iteration that is timed is short, so what waits like that is left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class HeldIterators:
    """Holds the iterators that are made within `until_the_end` until that ends."""

    def __init__(self) -> None:
        self._held: list[Any] = []
        self._holds = False

    def over(self, dataset: Any) -> Any:
        """Return a data set, with the same type and content, whose iterators are held."""
        kind: Any = type(dataset)
        dataset.__class__ = _with_held_iterators(kind)  # Keras calls iter() on it, and offers no other way
        dataset.hold = self._hold
        return dataset

    @contextmanager
    def until_the_end(self) -> Iterator[None]:
        """Hold the iterators that are made meanwhile."""
        self._holds = True
        try:
            yield
        finally:
            self._holds = False
            self._held.clear()

    def _hold(self, iterator: Any) -> None:
        if self._holds:
            self._held.append(iterator)


@cache
def _with_held_iterators(kind: type) -> type:
    make: Callable[[Any], Any] = kind.__iter__  # type: ignore[attr-defined]

    def __iter__(self: Any) -> Any:  # noqa: N807  the name of a method
        iterator = make(self)
        self.hold(iterator)
        return iterator

    return type(kind.__name__, (kind,), {"__iter__": __iter__})
