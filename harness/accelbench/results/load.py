"""Find result files in a file, in a folder or at a URL, and open them."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from accelbench.errors import BadInput, UnreadableResult
from accelbench.locations import (
    NUMBERED,
    Entry,
    ResultStore,
    address_beside,
    find_journals,
    open_store,
    read_if_present,
)
from accelbench.schema.result import SCHEMA_VERSION, Run
from accelbench.schema.result_json import from_bytes as run_in
from accelbench.schema.run_explanation import SUFFIX, RunExplanation
from accelbench.schema.run_explanation import from_bytes as explanation_in
from accelbench.schema.safe_json import members_in, parse, printable, unreadable_in_one_line
from accelbench.text import format_levels, list_some

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")  # of a commit
_MOST_TIMED = 20  # numbered files of a folder whose times are read to find the newest


@dataclass(frozen=True, kw_only=True)
class Result:
    """One result file: the run in it, and the file's own name, number and time.

    ``path`` is where it lies, which may be a URL. ``name`` is the file's stem without its ``number``; ``taken`` is None
    where the file does not record it. ``commit`` is the whole hash of the commit that was measured and ``commit_time``
    its time in ISO form, each "" where the file names none. ``explanation`` is the one kept beside the file, as far as
    it was asked for: see `find_explanation`.
    """

    path: str
    name: str
    number: int
    taken: datetime | None
    run: Run
    commit: str = ""
    commit_time: str = ""
    explanation: RunExplanation | None = None


def as_result(path: PurePath | str, taken: Any, run: Run) -> Result:
    """Return a run as a result, with name, number and time from its file's name and ``datetime``."""
    match = NUMBERED.fullmatch(stem := PurePath(path).stem)
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
    about = _parse(data, address, "datetime", "commit_info")
    result = as_result(name, about.get("datetime"), run_in(data, source=address))
    _check_effects(result.run, address)
    commit, commit_time = _commit_in(about.get("commit_info"))
    return replace(result, path=address, commit=commit, commit_time=commit_time)  # a path need not end in the name


def _commit_in(about: Any) -> tuple[str, str]:
    """Return the hash of a commit and its time in ISO form, each "" where it is not known."""
    if not isinstance(about, dict) or not _HASH.fullmatch(str(about.get("id"))):
        return "", ""
    made = as_time(about.get("time"))
    return about["id"], made.isoformat() if made else ""


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
    if len(unreadable) == 1:
        return unreadable[0]
    if unreadable:
        many = f"none of its {len(unreadable)} JSON files can be read"
        return BadInput(f"{printable(str(path))}: {many}; the first: {min(map(str, unreadable))}")
    if journals := find_journals(path):
        unfinished = list_some((printable(str(journal)) for journal in journals), 1)
        return BadInput(
            f"{printable(str(path))}: no results here, but an unfinished run is in {unfinished}; "
            "repeat its command with --accel-resume to continue it"
        )
    return BadInput(f"{printable(str(path))}: no results here; make some with pytest benchmarks/ --benchmark-save=NAME")


def order_runs(
    folders: Sequence[Hashable], numbers: Sequence[int], names: Sequence[str], times: Sequence[float]
) -> tuple[list[int], list[int]]:
    """Return the positions of runs in the order in which they were made, and of runs whose clock was wrong.

    Numbers in a folder ascend as runs are made, whatever the clock says. Of the runs of a folder the largest set whose
    times ascend with the numbers is believed; the others take the time of the run before.

    Args:
        folders: what tells the folders of the runs apart.
        numbers: of the runs; one without a number has 0, and its time is believed.
        names: of the files, which decide between runs of one time and number.
        times: in the order of time, NaN where none is known.
    """
    believed, wrong = _believe_times(folders, numbers, times)
    known = (-math.inf if math.isnan(time) else time for time in believed)
    keys = [*zip(known, numbers, names, strict=True)]
    return sorted(range(len(keys)), key=keys.__getitem__), wrong


def _believe_times(
    folders: Sequence[Hashable], numbers: Sequence[int], times: Sequence[float]
) -> tuple[list[float], list[int]]:
    """Return when runs were made, as far as clocks can be believed, and the positions of runs whose clock was wrong."""
    believed, wrong = [*times], []
    series: dict[Hashable, list[int]] = {}
    for place, (folder, number) in enumerate(zip(folders, numbers, strict=True)):
        if number:
            series.setdefault(folder, []).append(place)
    for places in series.values():
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
    numbers, times = [each.number for each in found], [_timestamp(each.taken) for each in found]
    places, _ = order_runs(folders, numbers, [*results], times)
    return [found[place] for place in reversed(places)]


def _timestamp(taken: datetime | None) -> float:
    return taken.timestamp() if taken else math.nan


def find_newest(location: Path | str) -> Found:
    """Return the newest of the results that `find_results` would find, opening as few files as possible.

    Numbered files of a single folder are ordered by their numbers, and only the newest is opened. Otherwise, the
    ``datetime`` of the 20 files with the highest numbers in each folder and of every file without a number is read, and
    decides as `order_runs` says. A file that cannot be read is reported, and the next one takes its place.

    Raises:
        BadInput: the location cannot be reached, or nothing there is a result.
        UnreadableResult: the file is truncated, of a newer schema or not ours.
    """
    storage = open_store(location)
    unreadable: list[UnreadableResult] = []
    for entry in _newest_first(storage, storage.entries()):
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


def _newest_first(storage: ResultStore, entries: Sequence[Entry]) -> list[Entry]:
    """Return files in the order of their runs, the newest first, without reading numbered ones of a single folder."""
    folders: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.number, reverse=True):
        folders.setdefault(entry.folder, []).append(entry)
    times: dict[str, float] = {}
    if len({entry.folder if entry.number else entry.name for entry in entries}) > 1:
        for found in folders.values():
            timed = [entry for place, entry in enumerate(found) if place < _MOST_TIMED or not entry.number]
            of_unreadable = math.inf  # one that nothing shows to be older is reported
            for entry, data in zip(timed, storage.read(timed), strict=True):
                try:
                    taken = _parse(data, storage.address(entry.name), "datetime").get("datetime")
                    times[entry.name], of_unreadable = _timestamp(as_time(taken)), math.nan
                except UnreadableResult:
                    times[entry.name] = of_unreadable if entry.number else math.inf
    places, _ = order_runs(
        [entry.folder for entry in entries],
        [entry.number for entry in entries],
        [entry.name for entry in entries],
        [times.get(entry.name, math.nan) for entry in entries],
    )
    return [entries[place] for place in reversed(places)]


def _open(storage: ResultStore, entry: Entry) -> Result:
    (data,) = storage.read([entry])
    return result_in(data, entry.name, storage.address(entry.name))


def _parse(data: bytes | UnreadableResult, address: str, *names: str) -> dict[str, Any]:
    if isinstance(data, UnreadableResult):
        raise data
    with unreadable_in_one_line(address):
        return {name: parse(value) for name, value in members_in(data, *names).items()}
