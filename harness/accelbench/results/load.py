"""Find result files in a file, in a folder or at a URL, and open them."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from heapq import merge
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from accelbench.errors import BadInput, UnreadableResult
from accelbench.locations import Entry, ResultStore, address_beside, open_store, read_if_present
from accelbench.schema.result import SCHEMA_VERSION, Run
from accelbench.schema.result_json import from_bytes as run_in
from accelbench.schema.run_explanation import SUFFIX, RunExplanation
from accelbench.schema.run_explanation import from_bytes as explanation_in
from accelbench.schema.safe_json import members_in, parse, printable, unreadable_in_one_line
from accelbench.text import format_levels

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
        UnreadableResult: it is truncated, of a newer schema or not ours, or an effect is against no arm of its trial.
    """
    if isinstance(data, UnreadableResult):
        raise data
    taken = _parse(data, address, "datetime").get("datetime")
    result = as_result(name, taken, run_in(data, source=address))
    _check_effects(result.run, address)
    return replace(result, path=address)  # which need not end in the file's name


def _check_effects(run: Run, address: str) -> None:
    """Check that effects are against arms of their trials.

    Raises:
        UnreadableResult: one is against levels that no arm has.
    """
    for trial in run.trials:
        arms = {frozenset(arm.levels.items()) for arm in trial.arms}
        for effect in (effect for arm in trial.arms for effect in arm.effects):
            if frozenset(effect.against.items()) not in arms:
                against = format_levels(effect.against) or "nothing"
                raise UnreadableResult(
                    f"{printable(address)}: does not follow schema version {SCHEMA_VERSION}: an effect of {trial.id} "
                    f"is against {against}, which is no arm of it; delete it or run again"
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
        return BadInput(
            f"{printable(str(path))}: no results here; make some with pytest benchmarks/ --benchmark-save=NAME"
        )
    if len(unreadable) == 1:
        return unreadable[0]
    many = f"none of its {len(unreadable)} JSON files can be read"
    return BadInput(f"{printable(str(path))}: {many}; the first: {unreadable[0]}")


def believe_times(
    series: Sequence[Hashable], numbers: Sequence[int], times: Sequence[float]
) -> tuple[list[float], list[int]]:
    """Return when runs were made, as far as clocks can be believed, and the positions of runs whose clock was wrong.

    Numbers in a folder ascend as runs are made, whatever the clock says. Of the runs of a folder the largest set whose
    times ascend with the numbers is believed; the others take the time of the run before.

    Args:
        series: what tells the folders of the runs apart.
        numbers: of the runs; one without a number has 0, and its time is believed.
        times: in the order of time, NaN where none is known.
    """
    believed, wrong = [*times], []
    folders: dict[Hashable, list[int]] = {}
    for place, (folder, number) in enumerate(zip(series, numbers, strict=True)):
        if number:
            folders.setdefault(folder, []).append(place)
    for places in folders.values():
        places.sort(key=lambda place: (numbers[place], math.isnan(times[place]), times[place]))
        timed = [place for place in places if not math.isnan(times[place])]
        ascending = [timed[each] for each in longest_ascending([times[place] for place in timed])]
        trusted = {*ascending}
        wrong += [place for place in timed if place not in trusted]
        time = times[ascending[0]] if ascending else math.nan
        for place in places:
            time = believed[place] = times[place] if place in trusted else time
    return believed, wrong


def longest_ascending(values: Sequence[float]) -> list[int]:
    """Return the positions of a longest subsequence that does not descend.

    Fredman, "On computing the length of longest increasing subsequences", Discrete Mathematics 11 (1975).
    """
    ends: list[float] = []  # the smallest value in which a subsequence of each length ends
    positions: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        length = bisect_right(ends, value)
        before.append(positions[length - 1] if length else -1)
        ends[length : length + 1] = [value]
        positions[length : length + 1] = [position]
    found = []
    position = positions[-1] if positions else -1
    while position >= 0:
        found.append(position)
        position = before[position]
    return found[::-1]


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
    results: dict[str, Result] = {}
    unreadable = []
    for entry in storage.entries():
        try:
            results[entry.name] = _open(storage, entry)
        except UnreadableResult as error:
            unreadable.append(error)
    if not results:
        raise nothing_in(storage.location, unreadable)
    return Found(results=_sort_newest_first(results), unreadable=unreadable)


def _sort_newest_first(results: dict[str, Result]) -> list[Result]:
    """Return results, given by the name of their file, in the order in which a history has them, the newest first."""
    found = [*results.values()]
    folders = [(name.rpartition("/")[0], result.run.machine) for name, result in results.items()]
    times, _ = believe_times(folders, [each.number for each in found], [_timestamp(each.taken) for each in found])
    keys = [
        (-math.inf if math.isnan(time) else time, result.number, name)
        for time, (name, result) in zip(times, results.items(), strict=True)
    ]
    return [found[place] for place in sorted(range(len(found)), key=keys.__getitem__, reverse=True)]


def _timestamp(taken: datetime | None) -> float:
    return taken.timestamp() if taken else math.nan


def find_newest(location: Path | str) -> Found:
    """Return the newest of the results that `find_results` would find, opening as few files as possible.

    pytest-benchmark numbers the files of a folder in the order of time, so that only the highest number of each folder
    is opened, and every file without a number. Among these the files' ``datetime`` decides, as far as the numbers allow
    to believe it: see `believe_times`. A file that cannot be read is reported, and the next lower number takes its
    place.

    Raises:
        BadInput: the location cannot be reached, or nothing there is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    storage = open_store(location)
    unreadable: list[UnreadableResult] = []
    all_series = _series(storage.entries())
    ordered = [_newest_first(storage, series, unreadable, alone=len(all_series) == 1) for series in all_series]
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


def _series(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return files whose order is known, the newest last: the numbered ones of a folder, and each other one alone."""
    series: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (_number(entry), entry.name)):
        series.setdefault(entry.name.rpartition("/")[0] if _number(entry) else f"/{entry.name}", []).append(entry)
    return [*series.values()]


def _newest_first(
    storage: ResultStore, series: list[Entry], unreadable: list[UnreadableResult], *, alone: bool
) -> Iterator[tuple[float, int, Entry]]:
    """Yield each file with its time and number, parsing no more of it than that; nothing of a series that is alone."""
    if alone:
        yield from ((0.0, _number(entry), entry) for entry in reversed(series))
        return

    @cache
    def read(place: int) -> float | UnreadableResult:
        try:
            return _timestamp(as_time(_document(storage, series[place], "datetime").get("datetime")))
        except UnreadableResult as error:
            return error

    def time_at(place: int) -> float:
        found = read(place)
        return math.nan if isinstance(found, UnreadableResult) else found

    made = math.inf  # when the run after was made
    for place, entry in reversed([*enumerate(series)]):
        found = read(place)
        if isinstance(found, UnreadableResult):
            unreadable.append(found)
            continue
        time = _believed_time(place, time_at)
        if not math.isnan(time):
            made = min(made, time)
        elif made == math.inf:
            made = -math.inf
        yield made, _number(entry), entry


def _believed_time(place: int, time_at: Callable[[int], float]) -> float:
    """Return the time of a series' file, by the rule of `believe_times`, looking at as few files before it as possible.

    NaN where neither it nor a file before it has a time.
    """
    known = (time for each in range(place, -1, -1) if not math.isnan(time := time_at(each)))
    latest, before = next(known, math.nan), next(known, -math.inf)
    if latest >= before or math.isnan(latest):
        return latest
    places = range(place + 1)  # which of these clocks were wrong, the whole series shows
    times, _ = believe_times([""] * len(places), [each + 1 for each in places], [*map(time_at, places)])
    return times[-1]


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
