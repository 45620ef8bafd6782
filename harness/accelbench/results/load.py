"""Find result files in a file, in a folder or at a URL, and open them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from accelbench.errors import BadInput, UnreadableResult
from accelbench.locations import Entry, ResultStore, address_beside, open_store, read_if_present
from accelbench.schema.result import Run
from accelbench.schema.result_json import from_bytes as run_in
from accelbench.schema.run_explanation import SUFFIX, RunExplanation
from accelbench.schema.run_explanation import from_bytes as explanation_in
from accelbench.schema.safe_json import members_in, parse, printable, unreadable_in_one_line

_NUMBERED = re.compile(r"(?P<number>\d{4,15})_(?P<name>.+)")


@dataclass(frozen=True, kw_only=True)
class Result:
    """One result file: the run in it, and the file's own name, number and time.

    ``path`` is where it lies, which may be a URL. ``name`` is the file's stem without its ``number``; ``taken`` is None
    where the file does not record it. ``explanation`` is the one kept beside the file, as far as it was asked for: see
    `find_explanation`.
    """

    path: str
    name: str
    number: int
    taken: datetime | None
    run: Run
    explanation: RunExplanation | None = None


def number_of(path: PurePath) -> int:
    """Return the number at the beginning of a result file's name, 0 where there is none."""
    match = _NUMBERED.fullmatch(path.stem)
    return int(match["number"]) if match else 0


def as_result(path: PurePath | str, taken: Any, run: Run) -> Result:
    """Return a run as a result, with name, number and time from its file's name and ``datetime``."""
    match = _NUMBERED.fullmatch(stem := PurePath(path).stem)
    return Result(
        path=str(path),
        name=printable(match["name"] if match else stem),
        number=int(match["number"]) if match else 0,
        taken=as_time(taken),
        run=run,
    )


def result_in(data: bytes | UnreadableResult, name: str, address: str) -> Result:
    """Return the result in a file's content, or raise why it could not be read.

    Raises:
        UnreadableResult: it is truncated, of a newer schema or not ours.
    """
    if isinstance(data, UnreadableResult):
        raise data
    taken = _parse(data, address, "datetime").get("datetime")
    result = as_result(name, taken, run_in(data, source=address))
    return replace(result, path=address)  # which need not end in the file's name


def as_time(text: Any) -> datetime | None:
    """Return an ISO time; one without a zone is in UTC, as pytest-benchmark writes it."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def nothing_in(path: Path | str, unreadable: list[UnreadableResult]) -> BadInput:
    """Return what to raise about a place in which there is no result."""
    if not unreadable:
        return BadInput(
            f"{printable(str(path))}: no results here; make some with pytest benchmarks/ --benchmark-save=NAME"
        )
    if len(unreadable) == 1:
        return unreadable[0]
    many = f"none of its {len(unreadable)} JSON files can be read"
    return BadInput(f"{printable(str(path))}: {many}; the first: {unreadable[0]}")


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
    storage = open_store(location)
    results, unreadable = [], []
    for entry in storage.entries():
        try:
            results.append(_open(storage, entry))
        except UnreadableResult as error:
            unreadable.append(error)
    if not results:
        raise nothing_in(storage.location, unreadable)
    results.sort(key=lambda result: (result.taken or _EARLIEST, result.number), reverse=True)
    return Found(results=results, unreadable=unreadable)


def find_newest(location: Path | str) -> Found:
    """Return the newest of the results that `find_results` would find, opening as few files as possible.

    pytest-benchmark numbers the files of a folder in the order of time, so that only the highest number of each folder
    is opened, and every file without a number. Among these the files' ``datetime`` decides. A file that cannot be read
    is reported, and the next lower number takes its place.

    Raises:
        BadInput: the location cannot be reached, or nothing there is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    storage = open_store(location)
    unreadable: list[UnreadableResult] = []
    ordered = [_newest_first(storage, series, unreadable) for series in _series(storage.entries())]
    # Looks at the next of a series when it has used up the last.
    for *_, entry in merge(*ordered, key=lambda each: each[:2], reverse=True):
        try:
            return Found(results=[_open(storage, entry)], unreadable=unreadable)
        except UnreadableResult as error:
            unreadable.append(error)
    raise nothing_in(storage.location, unreadable)


def find_explanation(address: str) -> RunExplanation | None:
    """Return the explanation that is kept beside a result file at a path or a URL, None without one.

    Raises:
        BadInput: the URL cannot be reached.
        UnreadableResult: it is truncated, of a newer schema or no explanation.
    """
    beside = address_beside(address, SUFFIX)
    data = read_if_present(beside)
    return None if data is None else explanation_in(data, source=beside)


def document_at(address: str, *names: str) -> dict[str, Any]:
    """Return the values under these names of a result file, at a path or a URL.

    Raises:
        BadInput: it cannot be reached, or is gone.
        UnreadableResult: it cannot be read, is no JSON, or breaks a limit.
    """
    storage = open_store(address)
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
    storage: ResultStore, series: list[Entry], unreadable: list[UnreadableResult]
) -> Iterator[tuple[datetime, int, Entry]]:
    """Yield each file with its time and number, parsing no more of it than that.

    Files without a time come last.
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


def _open(storage: ResultStore, entry: Entry) -> Result:
    (data,) = storage.read([entry])
    return result_in(data, entry.name, storage.address(entry.name))


def _document(storage: ResultStore, entry: Entry, *names: str) -> dict[str, Any]:
    (data,) = storage.read([entry])
    return _parse(data, storage.address(entry.name), *names)


def _parse(data: bytes | UnreadableResult, address: str, *names: str) -> dict[str, Any]:
    if isinstance(data, UnreadableResult):
        raise data
    with unreadable_in_one_line(address):
        return {name: parse(value) for name, value in members_in(data, *names).items()}


def _number(entry: Entry) -> int:
    return number_of(PurePosixPath(entry.name))
