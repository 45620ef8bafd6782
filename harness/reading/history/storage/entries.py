"""What a storage of results is: files that may be results, listed and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.errors import UnreadableResult

DEEPEST = 16  # folders below one another that are looked into


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file that may be a result: its place below the storage, and a ``mark`` that changes when the file does."""

    name: str
    size_bytes: int
    mark: str


class Storage(Protocol):
    """A place with result files; ``location`` is the same text for the same place, ``alone`` if it is one file."""

    location: str
    alone: bool

    def entries(self) -> list[Entry]:
        """Return what may be results, in the order of their names; hidden files and folders are passed over."""
        ...

    def address(self, name: str) -> str:
        """Return where an entry or a folder lies, as one would write it; the storage itself is ""."""
        ...

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield what each entry holds, or why it cannot be read."""
        ...
