"""Find result files and open them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path, PurePath
from typing import Any

from harness.errors import BadInput, UnreadableResult
from harness.record import KEY, Run
from harness.stored import from_json
from harness.untrusted import read_document, shown

_NUMBERED = re.compile(r"(?P<number>\d{4,15})_(?P<name>.+)")
DEEPEST = 16  # folders below one another that are looked into
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One result file: the run in it, and what its file says about it.

    ``name`` is the file's stem without its ``number``; ``taken`` is None where the file does not say when.
    """

    path: Path
    name: str
    number: int
    taken: datetime | None
    run: Run


@dataclass(frozen=True, kw_only=True)
class Found:
    """The results under a path, newest first, and why others beside them cannot be read."""

    results: list[Result]
    unreadable: list[UnreadableResult] = field(default_factory=list)


def find_results(path: Path | str) -> Found:
    """Return the results in a file or in a folder and those below it.

    Raises:
        BadInput: there is no such path, or nothing below it is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    path = Path(path)
    if not is_folder(path):
        return Found(results=[_open(path)])
    results, unreadable = [], []
    for file in sorted(json_files(path)):
        try:
            results.append(_open(file))
        except UnreadableResult as error:
            unreadable.append(error)
    if not results:
        raise nothing_in(path, unreadable)
    results.sort(key=lambda result: (result.taken or _EARLIEST, result.number), reverse=True)
    return Found(results=results, unreadable=unreadable)


def find_newest(path: Path | str) -> Found:
    """Return the result in a file, or the newest one in a folder and those below it, opening no more than it must.

    Trusted is that the numbers in a folder ascend with time, as pytest-benchmark gives them: of each folder the highest
    number is looked at, and every file without a number. Among these the files' ``datetime`` decides. One that cannot
    be read is told, and the next lower number takes its place.

    Raises:
        BadInput: there is no such path, or nothing below it is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    path = Path(path)
    if not is_folder(path):
        return Found(results=[_open(path)])
    unreadable: list[UnreadableResult] = []
    ordered = [_newest_first(series, unreadable) for series in _series(path)]
    for _, _, file in merge(*ordered, reverse=True):  # looks at the next of a series when it has used up the last
        try:
            return Found(results=[_open(file)], unreadable=unreadable)
        except UnreadableResult as error:
            unreadable.append(error)
    raise nothing_in(path, unreadable)


def _series(folder: Path) -> Iterable[list[Path]]:
    """Return files whose order is known, the newest last: the numbered ones of a folder, and each other one alone."""
    series: dict[Path, list[Path]] = {}
    for file in sorted(json_files(folder), key=lambda file: (number_of(file), file.name)):
        series.setdefault(file.parent if number_of(file) else file, []).append(file)
    return series.values()


def _newest_first(series: list[Path], unreadable: list[UnreadableResult]) -> Iterator[tuple[datetime, int, Path]]:
    """Yield when each file was made, its number and the file, having read no more of it than that.

    What does not say when it was made comes last.
    """
    timeless = []
    for file in reversed(series):
        try:
            taken = as_time((read_document(file, "datetime") or {}).get("datetime"))
        except UnreadableResult as error:
            unreadable.append(error)
        else:
            if taken:
                yield taken, number_of(file), file
            else:
                timeless.append(file)
    yield from ((_EARLIEST, number_of(file), file) for file in timeless)


def is_folder(path: Path) -> bool:
    """Say whether a path is a folder.

    Raises:
        BadInput: there is nothing, or nothing that may be looked at.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        reason = "no such file or folder; make results with pytest benchmarks/ --benchmark-save=NAME"
    except (OSError, ValueError) as error:  # ValueError: a null character
        reason = f"cannot be read ({getattr(error, 'strerror', error)}); give a result file or a folder of them"
    raise BadInput(f"{shown(str(path))}: {reason}")


def json_files(folder: Path) -> Iterator[Path]:
    """Yield the files that may be results; hidden is a draft of a run that was killed while it saved."""
    for place, folders, names in os.walk(folder):
        deepest = len(Path(place).relative_to(folder).parts) == DEEPEST
        folders[:] = [] if deepest else [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in names if name.endswith(".json") and not name.startswith("."))


def number_of(path: PurePath) -> int:
    """Return the number at the beginning of a result file's name, 0 where there is none."""
    match = _NUMBERED.fullmatch(path.stem)
    return int(match["number"]) if match else 0


def _open(path: Path) -> Result:
    document = read_document(path, KEY, "datetime") or {}
    return as_result(path, document.get("datetime"), from_json(document, source=str(path)))


def as_result(path: Path, taken: Any, run: Run) -> Result:
    """Return a run as the result that its file's name and ``datetime`` say it is."""
    match = _NUMBERED.fullmatch(path.stem)
    return Result(
        path=path,
        name=shown(match["name"] if match else path.stem),
        number=number_of(path),
        taken=as_time(taken),
        run=run,
    )


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
        return BadInput(f"{shown(str(path))}: no results here; make some with pytest benchmarks/ --benchmark-save=NAME")
    if len(unreadable) == 1:
        return unreadable[0]
    many = f"none of its {len(unreadable)} JSON files can be read"
    return BadInput(f"{shown(str(path))}: {many}; the first: {unreadable[0]}")
