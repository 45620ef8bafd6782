"""An output that is made for its check: what a step has left in a file or a model, read when the clock has stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any


class Look(Mapping[str, Any]):
    """What there is to see once somebody looks.

    A step whose product is no array returns this instead of reading its product within the time that is measured.
    """

    def __init__(self, see: Callable[[], Mapping[str, Any]]) -> None:
        self._see = see

    @cached_property
    def seen(self) -> Mapping[str, Any]:
        """What was seen, when somebody looked first."""
        return self._see()

    def __getitem__(self, name: str) -> Any:
        return self.seen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.seen)

    def __len__(self) -> int:
        return len(self.seen)
