"""Find result files and open them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import BadInput, UnreadableResult
from harness.record import Run, from_json, read_document

_NUMBERED = re.compile(r"(?P<number>\d{4,})_(?P<name>.+)")
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
    """Return the results in a file or, however deep, in a folder.

    Raises:
        BadInput: there is no such path, or nothing below it is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    path = Path(path)
    if path.is_file():
        return Found(results=[_open(path)])
    if not path.is_dir():
        raise BadInput(f"{path}: no such file or folder; make results with pytest benchmarks/ --benchmark-save=NAME")
    results, unreadable = [], []
    for file in sorted(path.rglob("*.json")):
        try:
            results.append(_open(file))
        except UnreadableResult as error:
            unreadable.append(error)
    if not results:
        raise _nothing(path, unreadable)
    results.sort(key=lambda result: (result.taken or _EARLIEST, result.number), reverse=True)
    return Found(results=results, unreadable=unreadable)


def _open(path: Path) -> Result:
    document = read_document(path)
    run = from_json(document, source=str(path))
    match = _NUMBERED.fullmatch(path.stem)
    return Result(
        path=path,
        name=match["name"] if match else path.stem,
        number=int(match["number"]) if match else 0,
        taken=_time(document.get("datetime")),
        run=run,
    )


def _time(text: Any) -> datetime | None:
    """Return an ISO time; one without a zone is in UTC, as pytest-benchmark writes it."""
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _nothing(path: Path, unreadable: list[UnreadableResult]) -> BadInput:
    if not unreadable:
        return BadInput(f"{path}: no results here; make some with pytest benchmarks/ --benchmark-save=NAME")
    if len(unreadable) == 1:
        return unreadable[0]
    return BadInput(f"{path}: none of its {len(unreadable)} JSON files can be read; the first: {unreadable[0]}")
