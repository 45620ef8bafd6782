"""The one door to a history: the result files of a storage as runs and observations, each file read once.

What files hold is kept in an index (see `kept_index`). A file is read again when its size or its mark has changed, and
not parsed again when its content has not; adding a run costs reading that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from harness.errors import UnreadableResult
from harness.reading.files import nothing_in
from harness.reading.history.observations import RUN_COLUMNS, TEXTS, History
from harness.reading.history.storage.entries import Entry, Storage
from harness.reading.history.storage.intake import FORMAT, Intake, taken_in
from harness.reading.history.storage.kept_index import FEWEST_FILES, empty_index, folder_of, keep_index, read_index
from harness.reading.history.storage.locations import storage_at
from harness.reading.history.storage.oddities import formats, remarks
from harness.reading.history.storage.order import Arranged, arranged

_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}


def history(location: Path | str) -> History:
    """Return the history in a file, in a folder and those below it, or at a URL that fsspec knows.

    The runs stand in the order in which they were made, none twice. Files of pytest-benchmark alone count as runs
    without effects. A file that cannot be read is a remark.

    Raises:
        BadInput: the location cannot be reached, or holds no result.
    """
    storage = storage_at(location)
    entries = storage.entries()
    folder = folder_of(storage.location) if len(entries) >= FEWEST_FILES else None
    before = (read_index(folder) if folder else None) or empty_index()
    index = up_to_date(before, storage, entries)
    if folder and index is not before:
        keep_index(folder, index)
    problems = index.files.loc[index.files["problem"] != "", "problem"].tolist()
    unreadable = [UnreadableResult(problem) for problem in problems]
    order = arranged(index.files)
    if order.runs.empty:
        raise nothing_in(storage.location, unreadable)
    observations = _observations(index.observations, order)
    runs = order.runs.assign(path=[storage.address(file) for file in order.runs["file"]])
    return History(
        runs=runs[[*RUN_COLUMNS, *FORMAT]].reset_index(drop=True),
        observations=observations,
        remarks=remarks(order, observations, problems, storage.address),
        formats=formats(runs),
        unreadable=tuple(unreadable),
    )


def up_to_date(index: Intake, storage: Storage, entries: Sequence[Entry]) -> Intake:
    """Return an index of these entries, itself where nothing has changed."""
    files = index.files
    marks = dict(zip(files["file"], zip(files["size_bytes"], files["mark"], strict=True), strict=True))
    stale = [entry for entry in entries if not entry.mark or marks.get(entry.name) != (entry.size_bytes, entry.mark)]
    fresh, same = taken_in(storage, stale, dict(zip(files["file"], files["digest"], strict=True)))
    if len(entries) == len(files) and _told_nothing(files, fresh, same):
        return index
    unchanged = {entry.name for entry in entries} - {entry.name for entry in stale} | {*same}
    kept = _only(index, unchanged)
    _mark(kept.files, same)
    parts = [part for part in (kept, *fresh) if len(part.files)]
    if not parts:
        return empty_index()
    together = pa.concat_tables([part.observations for part in parts])
    return Intake(
        files=pd.concat([part.files for part in parts], ignore_index=True),
        observations=together.unify_dictionaries().combine_chunks(),
    )


def _told_nothing(files: pd.DataFrame, fresh: Sequence[Intake], same: dict[str, Entry]) -> bool:
    """Say whether reading files again told nothing: each is the same, or cannot be read for the same reason."""
    bad = files[files["problem"] != ""]
    marks = {*zip(files["file"], files["mark"], strict=True)}
    problems = {*zip(bad["file"], bad["mark"], bad["problem"], strict=True)}
    columns = ["file", "mark", "problem"]
    again = {row for part in fresh for row in part.files[columns].itertuples(index=False, name=None)}
    return again <= problems and marks.issuperset((name, entry.mark) for name, entry in same.items())


def _only(index: Intake, names: set[str]) -> Intake:
    """Return an index of some of its files, the rows of files its own."""
    there = index.files["file"].isin(names)
    files = index.files[there].reset_index(drop=True)
    if there.all():
        return Intake(files=files, observations=index.observations)
    held = pc.is_in(index.observations["file"].cast(pa.string()), value_set=pa.array(files["file"], pa.string()))
    return Intake(files=files, observations=index.observations.filter(held))


def _mark(files: pd.DataFrame, same: dict[str, Entry]) -> None:
    """Note the new marks of files that have not changed."""
    seen = {name: entry.mark for name, entry in same.items()}
    files["mark"] = [seen.get(name, mark) for name, mark in zip(files["file"], files["mark"], strict=True)]


def _observations(stored: pa.Table, order: Arranged) -> pd.DataFrame:
    """Return the observations of the runs that are told, in their order, under their names."""
    frame: pd.DataFrame = stored.to_pandas(types_mapper=_NULLABLE.get)
    places = {file: place for place, file in enumerate(order.runs["file"])}
    files = frame["file"].cat
    place = np.array([*(places.get(file, -1) for file in files.categories), -1])[files.codes]
    rows = np.argsort(place, kind="stable")
    rows = rows[np.searchsorted(place[rows], 0) :]
    runs = pd.Categorical.from_codes(place[rows], categories=pd.Index(order.runs["run"]))
    frame = frame.take(rows).drop(columns="file").assign(run=runs, baseline=frame["baseline"].astype(bool))
    for name in TEXTS:
        if name != "run":
            frame[name] = frame[name].cat.remove_unused_categories()
    return frame[["run", *(name for name in frame if name != "run")]].reset_index(drop=True)
