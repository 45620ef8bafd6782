"""A result file: the run in it, and what its file says about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from harness.errors import BadInput, UnreadableResult
from harness.record import Run
from harness.untrusted import shown

_NUMBERED = re.compile(r"(?P<number>\d{4,15})_(?P<name>.+)")


@dataclass(frozen=True, kw_only=True)
class Result:
    """One result file: the run in it, and what its file says about it.

    ``path`` is where it lies, which may be a URL. ``name`` is the file's stem without its ``number``; ``taken`` is None
    where the file does not say when.
    """

    path: str
    name: str
    number: int
    taken: datetime | None
    run: Run


def number_of(path: PurePath) -> int:
    """Return the number at the beginning of a result file's name, 0 where there is none."""
    match = _NUMBERED.fullmatch(path.stem)
    return int(match["number"]) if match else 0


def as_result(path: PurePath | str, taken: Any, run: Run) -> Result:
    """Return a run as the result that its file's name and ``datetime`` say it is."""
    match = _NUMBERED.fullmatch(stem := PurePath(path).stem)
    return Result(
        path=str(path),
        name=shown(match["name"] if match else stem),
        number=int(match["number"]) if match else 0,
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
