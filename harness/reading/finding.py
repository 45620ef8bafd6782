"""Find results in a file, in a folder or at a URL, and open them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import UnreadableResult
from harness.reading.files import Result, as_result, as_time, nothing_in, number_of
from harness.reading.history.storage.entries import Entry, Storage
from harness.reading.history.storage.locations import storage_at
from harness.stored import PARTS, from_json
from harness.untrusted import document_in, refused_in_one_line

_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The results at a location, newest first, and why others beside them cannot be read."""

    results: list[Result]
    unreadable: list[UnreadableResult] = field(default_factory=list)


def find_results(location: Path | str) -> Found:
    """Return the results in a file, in a folder and those below it, or at a URL that fsspec knows.

    Raises:
        BadInput: the location cannot be reached, or nothing there is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    storage = storage_at(location)
    results, unreadable = [], []
    for entry in storage.entries():
        try:
            results.append(_opened(storage, entry))
        except UnreadableResult as error:
            unreadable.append(error)
    if not results:
        raise nothing_in(storage.location, unreadable)
    results.sort(key=lambda result: (result.taken or _EARLIEST, result.number), reverse=True)
    return Found(results=results, unreadable=unreadable)


def find_newest(location: Path | str) -> Found:
    """Return the newest result of those that `find_results` would find, opening no more of them than it must.

    Trusted is that the numbers in a folder ascend with time, as pytest-benchmark gives them: of each folder the highest
    number is looked at, and every file without a number. Among these the files' ``datetime`` decides. One that cannot
    be read is told, and the next lower number takes its place.

    Raises:
        BadInput: the location cannot be reached, or nothing there is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    storage = storage_at(location)
    unreadable: list[UnreadableResult] = []
    ordered = [_newest_first(storage, series, unreadable) for series in _series(storage.entries())]
    # Looks at the next of a series when it has used up the last.
    for *_, entry in merge(*ordered, key=lambda each: each[:2], reverse=True):
        try:
            return Found(results=[_opened(storage, entry)], unreadable=unreadable)
        except UnreadableResult as error:
            unreadable.append(error)
    raise nothing_in(storage.location, unreadable)


def document_at(address: str, *names: str) -> dict[str, Any]:
    """Return what stands under these names of a result file, at a path or a URL.

    Raises:
        BadInput: it cannot be reached, or is gone.
        UnreadableResult: it cannot be read, is no JSON, or breaks a limit.
    """
    storage = storage_at(address)
    entries = storage.entries()
    if not entries:
        raise nothing_in(storage.location, [])
    return _document(storage, entries[0], *names)


def _series(entries: Sequence[Entry]) -> Iterable[list[Entry]]:
    """Return files whose order is known, the newest last: the numbered ones of a folder, and each other one alone."""
    series: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (_number(entry), entry.name)):
        series.setdefault(entry.name.rpartition("/")[0] if _number(entry) else f"/{entry.name}", []).append(entry)
    return series.values()


def _newest_first(
    storage: Storage, series: list[Entry], unreadable: list[UnreadableResult]
) -> Iterator[tuple[datetime, int, Entry]]:
    """Yield when each file was made, its number and the file, having parsed no more of it than that.

    What does not say when it was made comes last.
    """
    timeless = []
    for entry in reversed(series):
        try:
            taken = as_time(_document(storage, entry, "datetime").get("datetime"))
        except UnreadableResult as error:
            unreadable.append(error)
        else:
            if taken:
                yield taken, _number(entry), entry
            else:
                timeless.append(entry)
    yield from ((_EARLIEST, _number(entry), entry) for entry in timeless)


def _opened(storage: Storage, entry: Entry) -> Result:
    document = _document(storage, entry, *PARTS, "datetime")
    address = storage.address(entry.name)
    result = as_result(entry.name, document.get("datetime"), from_json(document, source=address))
    return replace(result, path=address)  # which need not end in the file's name


def _document(storage: Storage, entry: Entry, *names: str) -> dict[str, Any]:
    (data,) = storage.read([entry])
    if isinstance(data, UnreadableResult):
        raise data
    with refused_in_one_line(storage.address(entry.name)):
        return document_in(data, *names) or {}


def _number(entry: Entry) -> int:
    return number_of(PurePosixPath(entry.name))
