"""Results under a URL that fsspec knows, such as ``s3://bucket/results``.

They are read as those in a folder are: the same names, the same depth, the same limits, the same one line for a file
that cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from harness.errors import BadInput, UnreadableResult
from harness.reading.history.storage.entries import DEEPEST, Entry
from harness.units import size
from harness.untrusted import MOST_BYTES, BeyondLimit, refused_in_one_line, shown

# What storages call the mark that changes with a file, the strongest first.
_MARKS = (
    "ETag",
    "etag",
    "md5Hash",
    "content_md5",
    "CRC",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)


@contextmanager
def reaching(url: str, verb: str = "reached") -> Iterator[None]:
    """Let whatever a storage raises be one line; every storage's package has errors of its own.

    Raises:
        BadInput: something was raised.
    """
    try:
        yield
    except Exception as error:
        wanted = "give a folder, or install and configure what fsspec needs for this address"
        raise BadInput(f"{shown(url)}: cannot be {verb} ({_in_words(error)}); {wanted}") from None


def below(url: str, name: str) -> str:
    """Return the address of what lies below a URL.

    Of a chain such as ``zip://runs::s3://bucket/runs.zip`` the first address with a place is meant.
    """
    before, place, after = _parts(url)
    return f"{before}{'/'.join(filter(None, (place.rstrip('/'), name)))}{after}"


def folder_and_name(url: str) -> tuple[str, str]:
    """Return the address of the folder in which a URL lies, and its name there."""
    before, place, after = _parts(url)
    folder, _, name = place.rpartition("/")
    return f"{before}{folder}{after}", name


class Elsewhere:
    """What fsspec reaches."""

    def __init__(self, location: str) -> None:
        import fsspec  # here, since a folder does not need it

        self.location = location if location.endswith("://") else location.rstrip("/")
        with reaching(self.location):
            self._system, self._wanted = fsspec.core.url_to_fs(self.location)
        self.alone = self._wanted.endswith(".json")
        self._files = self._wanted.rpartition("/")[0] if self.alone else self._wanted
        self._address = folder_and_name(self.location)[0] if self.alone else self.location

    def entries(self) -> list[Entry]:
        """Return what may be results, in the order of their names."""
        with reaching(self.location):
            found: dict[str, dict[str, Any]] = self._system.find(self._wanted, detail=True)
        entries = [_entry(path.removeprefix(self._files).lstrip("/"), facts) for path, facts in found.items()]
        return sorted(filter(_may_be_result, entries), key=lambda entry: entry.name)

    def address(self, name: str) -> str:
        """Return where an entry lies."""
        return below(self._address, name)

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield what each entry holds, or why it cannot be read."""
        fetched = [entry for entry in entries if entry.size_bytes <= MOST_BYTES]
        held = dict(zip((entry.name for entry in fetched), self._fetched(fetched), strict=True))
        for entry in entries:
            yield self._held(entry, held.get(entry.name))

    def _fetched(self, entries: Sequence[Entry]) -> list[Any]:
        """Return what each entry holds, or what was raised instead.

        Ranges are asked for, since they are fetched side by side and take names as they are; a size that the storage
        does not tell is 0, and the file is fetched whole.
        """
        paths = [f"{self._files}/{entry.name}" for entry in entries]
        ends = [entry.size_bytes or None for entry in entries]
        try:
            return list(self._system.cat_ranges(paths, [0] * len(paths), ends, on_error="return"))
        except Exception as error:
            return [error] * len(entries)

    def _held(self, entry: Entry, found: Any) -> bytes | UnreadableResult:
        try:
            with refused_in_one_line(self.address(entry.name)):
                if isinstance(found, Exception):
                    raise BeyondLimit(_in_words(found))
                size_bytes = entry.size_bytes if found is None else len(found)
                if size_bytes > MOST_BYTES:
                    raise BeyondLimit(f"it takes {size(size_bytes)}, at most {size(MOST_BYTES)} are read")
                return bytes(found)
        except UnreadableResult as error:
            return error


def _parts(url: str) -> tuple[str, str, str]:
    """Return what stands before the place that an address names, the place, and what stands after it."""
    scheme, sign, rest = url.partition("://")
    place, chain, after = rest.partition("::")
    return scheme + sign, place, chain + after


def _entry(name: str, facts: dict[str, Any]) -> Entry:
    mark = next((str(facts[key]) for key in _MARKS if facts.get(key) is not None), "")
    return Entry(name=name, size_bytes=int(facts.get("size") or 0), mark=mark)


def _may_be_result(entry: Entry) -> bool:
    parts = PurePosixPath(entry.name).parts
    return (
        0 < len(parts) <= DEEPEST + 1
        and entry.name.endswith(".json")
        and not any(part.startswith(".") for part in parts)
    )


def _in_words(error: Exception) -> str:
    """Return the first line of what an error says, and its kind where it says nothing."""
    return shown(next(iter(str(error).splitlines()), "") or type(error).__name__)[:300]
