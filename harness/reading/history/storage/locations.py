"""Where results lie: a file, a folder, or whatever fsspec can list, such as ``s3://bucket/results``.

What lies elsewhere is read as what lies here: the same names, the same depth, the same limits, the same one line for a
file that cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.request import url2pathname

from harness.errors import BadInput, UnreadableResult
from harness.reading.files import DEEPEST, is_folder, json_files
from harness.units import size
from harness.untrusted import MOST_BYTES, BeyondLimit, read_bytes, refused_in_one_line, shown

# What storages call the mark that changes with a file, the strongest first.
_MARKS = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file that may be a result: its place below the storage, and a ``mark`` that changes when the file does."""

    name: str
    size_bytes: int
    mark: str


class Storage(Protocol):
    """A place with result files; ``location`` is the same text for the same place."""

    location: str

    def entries(self) -> list[Entry]:
        """Return what may be results, in the order of their names; hidden files and folders are passed over."""
        ...

    def address(self, name: str) -> str:
        """Return where an entry or a folder lies, as one would write it; the storage itself is ""."""
        ...

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield what each entry holds, or why it cannot be read."""
        ...


def storage_at(location: Path | str) -> Storage:
    """Return the storage at a path or at a URL that fsspec knows.

    Raises:
        BadInput: there is no such path, or fsspec cannot reach what is named.
    """
    kind, is_url, rest = str(location).partition("://")
    if not is_url:
        return _Local(Path(location))
    return _Local(Path(url2pathname(rest))) if kind == "file" else _Remote(str(location))


class _Local:
    """A file, or a folder and those below it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = path if is_folder(path) else path.parent
        self._alone = self._files != path
        self._odd: dict[str, Path] = {}  # files whose names no text can hold, by what stands for them
        self.location = str(path.absolute())

    def entries(self) -> list[Entry]:
        found = [self._path] if self._alone else json_files(self._path)
        entries = [entry for path in found if (entry := self._entry(path))]
        return sorted(entries, key=lambda entry: entry.name)

    def address(self, name: str) -> str:
        return str(self._files / name)

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        for entry in entries:
            path = self._odd.get(entry.name, self._files / entry.name)
            held: bytes | UnreadableResult
            try:
                with refused_in_one_line(str(path)):
                    held = read_bytes(path)
            except UnreadableResult as error:
                held = error
            yield held

    def _entry(self, path: Path) -> Entry | None:
        name = path.relative_to(self._files).as_posix()
        if _no_text(name):
            name = shown(name)
            self._odd[name] = path
        try:
            found = path.stat()
        except FileNotFoundError:
            # A link to nowhere is told when it is read; what went away since the folder was listed is not missed.
            return Entry(name=name, size_bytes=0, mark="") if path.is_symlink() else None
        except OSError:
            return Entry(name=name, size_bytes=0, mark="")
        return Entry(name=name, size_bytes=found.st_size, mark=str(found.st_mtime_ns))


class _Remote:
    """What fsspec reaches. Every storage's package raises errors of its own, so that all of them are caught here."""

    def __init__(self, location: str) -> None:
        import fsspec  # here, since a folder does not need it

        self.location = location.rstrip("/")
        try:
            self._system, self._wanted = fsspec.core.url_to_fs(self.location)
        except Exception as error:
            raise self._unreachable(error) from None
        alone = self._wanted.endswith(".json")
        self._files = self._wanted.rpartition("/")[0] if alone else self._wanted
        self._address = self.location.rpartition("/")[0] if alone else self.location

    def entries(self) -> list[Entry]:
        try:
            found: dict[str, dict[str, Any]] = self._system.find(self._wanted, detail=True)
        except Exception as error:
            raise self._unreachable(error) from None
        entries = [_entry(path.removeprefix(self._files).lstrip("/"), facts) for path, facts in found.items()]
        return sorted(filter(_may_be_result, entries), key=lambda entry: entry.name)

    def address(self, name: str) -> str:
        return f"{self._address}/{name}".rstrip("/")

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
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

    def _unreachable(self, error: Exception) -> BadInput:
        wanted = "give a folder, or install and configure what fsspec needs for this address"
        return BadInput(f"{shown(self.location)}: cannot be listed ({_in_words(error)}); {wanted}")


def _no_text(name: str) -> bool:
    """Say whether a file's name is no Unicode, so that Python fills in surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in name)


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
