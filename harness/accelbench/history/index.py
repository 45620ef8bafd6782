"""Load the history in a folder or at a URL: every result file once, in the order in which the runs were made.

Parsing a result takes up to a tenth of a second, so what several files hold is cached in one Arrow file per location
in the user's cache folder. A cached file counts as unchanged while its name, size and mark (its modification time, or
the ETag of a remote file) stay the same. One with another mark, as every file of a fresh checkout has, is parsed only
if its content differs. The cache is safe to delete. Files that cannot be read are tried again each time.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from accelbench.errors import UnreadableResult
from accelbench.files import cache_folder, write_atomically
from accelbench.garbage_collection import no_collection
from accelbench.history.observations import (
    RUN_COLUMNS,
    UNMEASURED_COLUMNS,
    History,
    describe_runs,
    join_observations,
    observe_arms,
)
from accelbench.locations import Entry, ResultStore, number_of, open_store
from accelbench.results.load import Result, nothing_in, order_runs, result_in
from accelbench.schema.result import SCHEMA_VERSION
from accelbench.schema.result_json import NoResult, machine_in
from accelbench.schema.safe_json import printable
from accelbench.text import list_some
from accelbench.units import count, plural

MIN_FILES_TO_CACHE = 5  # fewer are parsed in a fifth of a second
_CACHE_VERSION = f"7, schema {SCHEMA_VERSION}"  # raise it whenever something else is kept of a file
_METADATA = b"accelbench"
_BATCH_FILES = 16  # files read together: remote ones are fetched concurrently, and memory stays bounded
_SLOW_S = 2  # reading for longer shows a progress bar
_MAX_NAMED = 3  # runs or files in a remark
_FILE_COLUMNS = ("file", "size_bytes", "mark", "digest", *RUN_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class _Content:
    """What an entry holds: bytes, why they cannot be read, or a result that was read before."""

    entry: Entry
    address: str
    held: bytes | UnreadableResult | Result

    @cached_property
    def digest(self) -> str:
        """The digest of the bytes, "" without them."""
        return hashlib.sha256(self.held).hexdigest() if isinstance(self.held, bytes) else ""

    def machine(self) -> str:
        """Return the machine of the run, in a tenth of the time that reading all of it takes; "" where there is none.

        Raises:
            UnreadableResult: it cannot be read.
        """
        if isinstance(self.held, bytes):
            return machine_in(self.held, source=self.address)
        return self.result().run.machine

    def result(self) -> Result:
        """Return the result, or raise why there is none.

        Raises:
            UnreadableResult: it cannot be read.
        """
        return self.held if isinstance(self.held, Result) else result_in(self.held, self.entry.name, self.address)


@dataclass(frozen=True, kw_only=True)
class _Files:
    """What readable files hold: a row per file in ``files``; the other tables name the file in their column ``run``.

    ``left_out`` names the machines of files of which nothing else was read, by name, size and mark.
    """

    files: pd.DataFrame
    observations: pd.DataFrame
    unmeasured: pd.DataFrame
    left_out: dict[tuple[str, int, str], str] = field(default_factory=dict)


def load_history(location: Path | str, opened: Iterable[Result] = (), *, machine: str = "") -> History:
    """Return the history in a file, in a folder and the folders below it, or at a URL that fsspec knows.

    Each run occurs once, in the order in which the runs were made. A file that cannot be read is left out.
    ``opened`` are results that were read before; their files are not read again. Where a ``machine`` is named, its runs
    alone are the history.

    Raises:
        BadInput: the location cannot be reached, or holds no result.
    """
    storage = open_store(location)
    entries = storage.entries()
    cache = _cache_path(storage.location) if len(entries) >= MIN_FILES_TO_CACHE else None
    known = (_read_cache(cache) if cache else None) or _EMPTY
    current, unreadable = _update(known, storage, entries, {result.path: result for result in opened}, machine)
    if cache and current is not known:
        _write_cache(cache, current)
    files = current.files[current.files["machine"] == machine] if machine else current.files
    if files.empty:
        raise nothing_in(storage.location, [*unreadable.values()])
    files = files.assign(path=[storage.address(file) for file in files["file"]])
    files, duplicates = _without_duplicates(files)
    runs = _in_order(files)
    return History(
        runs=runs[[*RUN_COLUMNS]],
        observations=_in_order_of_runs(current.observations, runs),
        unmeasured=_in_order_of_runs(current.unmeasured, runs),
        remarks=tuple(map(printable, (*duplicates, *_remark_clock(runs)))),
        unreadable={storage.address(name): error for name, error in unreadable.items()},
        newer_unreadable=_newer_unreadable(runs, unreadable),
    )


def _update(
    known: _Files, storage: ResultStore, entries: Sequence[Entry], opened: Mapping[str, Result], machine: str
) -> tuple[_Files, dict[str, UnreadableResult]]:
    """Return what the entries hold, ``known`` itself where nothing changed, and why others cannot be read, by name.

    Files that nobody has read before are left out where they are not of the ``machine``, if one is named.
    """
    left_out = {
        each.key: other for each in entries if machine and (other := known.left_out.get(each.key, machine)) != machine
    }
    columns = (known.files[name] for name in ("file", "size_bytes", "mark"))
    cached = {*zip(*columns, strict=True), *left_out}
    stale = [entry for entry in entries if not entry.mark or entry.key not in cached]
    digests = dict(zip(known.files["file"], known.files["digest"], strict=True))
    marks: dict[str, str] = {}  # of files that are cached under another mark
    unreadable: dict[str, UnreadableResult] = {}
    fresh: list[_Files] = []
    with no_collection():  # which takes a third of the time, since parsing makes a million objects
        for batch in _read_batches(storage, stale, opened):
            results: list[tuple[_Content, Result]] = []
            for each in batch:
                if (digest := digests.get(each.entry.name)) and each.digest == digest:
                    marks[each.entry.name] = each.entry.mark
                    continue
                try:
                    if machine and (other := each.machine()) not in (machine, ""):
                        left_out[each.entry.key] = other
                        continue
                    results.append((each, each.result()))
                except UnreadableResult as error:
                    unreadable[each.entry.name] = error
            if results:
                fresh.append(_tabulate(results))
    unchanged = ({entry.name for entry in entries} - {entry.name for entry in stale}) | marks.keys()
    if not fresh and not marks and left_out == known.left_out and unchanged.issuperset(known.files["file"]):
        return known, unreadable
    files = known.files[known.files["file"].isin(unchanged)]
    kept = _Files(
        files=files.assign(mark=[marks.get(*each) for each in zip(files["file"], files["mark"], strict=True)]),
        observations=known.observations[known.observations["run"].isin(unchanged)],
        unmeasured=known.unmeasured[known.unmeasured["run"].isin(unchanged)],
    )
    parts = kept, *fresh
    current = _Files(
        files=_join([each.files for each in parts]),
        observations=join_observations([each.observations for each in parts]),
        unmeasured=_join([each.unmeasured for each in parts]),
        left_out=left_out,
    )
    return current, unreadable


def _join(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all tables; empty ones have other types."""
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def _read_batches(
    storage: ResultStore, entries: Sequence[Entry], opened: Mapping[str, Result]
) -> Iterator[list[_Content]]:
    """Yield the content of some entries at a time."""
    if not entries:
        return
    from tqdm import tqdm  # here, since where nothing changed, nothing is read

    text = "Reading results: {n_fmt} of {total_fmt} files, about {remaining} left"
    with tqdm(total=len(entries), bar_format=text, delay=_SLOW_S, leave=False, disable=None) as progress:
        for start in range(0, len(entries), _BATCH_FILES):
            batch = entries[start : start + _BATCH_FILES]
            held: dict[str, bytes | UnreadableResult | Result] = {
                entry.name: opened[address] for entry in batch if (address := storage.address(entry.name)) in opened
            }
            unopened = [entry for entry in batch if entry.name not in held]
            held |= zip((entry.name for entry in unopened), storage.read(unopened), strict=True)
            yield [_Content(entry=entry, address=storage.address(entry.name), held=held[entry.name]) for entry in batch]
            progress.update(len(batch))


def _tabulate(batch: Sequence[tuple[_Content, Result]]) -> _Files:
    contents, results = zip(*batch, strict=True)
    names = [each.entry.name for each in contents]
    files = describe_runs(results).assign(
        file=names,
        size_bytes=[each.entry.size_bytes for each in contents],
        mark=[each.entry.mark for each in contents],
        digest=[each.digest for each in contents],
    )
    observations, unmeasured = observe_arms(results, names)
    return _Files(files=files[[*_FILE_COLUMNS]], observations=observations, unmeasured=unmeasured)


_EMPTY = _Files(
    files=pd.DataFrame(columns=[*_FILE_COLUMNS]),
    observations=join_observations([]),
    unmeasured=pd.DataFrame(columns=[*UNMEASURED_COLUMNS]),
)


def _without_duplicates(files: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the files without those that hold the same run as another one, and a remark on these.

    Runs are the same where one machine finished them in the same microsecond. A file with a number is preferred.
    """
    ordered = files.assign(unnumbered=files["number"] == 0).sort_values(["unnumbered", "file"], ignore_index=True)
    original = ordered.groupby(["machine", "taken"], dropna=True)["path"].transform("first").fillna(ordered["path"])
    duplicate = ordered["path"] != original
    if not duplicate.any():
        return ordered, []
    pairs = [f"{path} as {first}" for path, first in zip(ordered["path"], original, strict=True) if path != first]
    remark = (
        f"{plural(len(pairs), 'file')} left out, since another one holds the same run: {list_some(pairs, _MAX_NAMED)}"
    )
    return ordered[~duplicate], [remark]


def _in_order(files: pd.DataFrame) -> pd.DataFrame:
    """Return the runs in the order in which they were made, with unique names and ``clock_agrees``.

    The clock orders the runs of different folders, as far as it can be believed: see `order_runs`.
    """
    taken = files["taken"]
    folders = [file.rpartition("/")[0] for file in files["file"]]
    known = np.where(taken.isna(), np.nan, taken.astype("int64")).tolist()
    machines = [*zip(folders, files["machine"], strict=True)]
    places, wrong = order_runs(machines, files["number"].tolist(), files["file"].tolist(), known)
    clock_agrees = np.ones(len(files), dtype=bool)
    clock_agrees[wrong] = False
    runs = files.assign(clock_agrees=clock_agrees).iloc[places].reset_index(drop=True)
    repeats = runs.groupby("run").cumcount()
    names = [f"{name} ({again + 1})" if again else name for name, again in zip(runs["run"], repeats, strict=True)]
    return runs.assign(run=names)


def _in_order_of_runs(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the runs, in their order and under their names instead of those of their files."""
    files = pd.Categorical(table["run"])
    positions = np.append(pd.Index(runs["file"]).get_indexer(files.categories), -1)[files.codes]
    ordered = table
    if (positions < 0).any():  # files that hold the same run as another one
        ordered, positions = ordered[positions >= 0], positions[positions >= 0]
        texts = ordered.select_dtypes("category").columns
        ordered = ordered.assign(**{name: ordered[name].cat.remove_unused_categories() for name in texts})
    if (np.diff(positions) < 0).any():
        rows = np.argsort(positions, kind="stable")
        ordered, positions = ordered.take(rows), positions[rows]
    named = pd.Categorical.from_codes(positions, categories=pd.Index(runs["run"]))
    return ordered.assign(run=named).reset_index(drop=True)


def _newer_unreadable(runs: pd.DataFrame, unreadable: Mapping[str, UnreadableResult]) -> UnreadableResult | None:
    """Return why the file with the highest number in the last run's folder cannot be read; None where it can be.

    JSON of somebody else is no run. A last run without a number has no place among numbers.
    """
    folders = runs["file"].str.rpartition("/")[0]
    folder, highest = folders.iloc[-1], runs.loc[folders == folders.iloc[-1], "number"].max()
    numbered = {
        number_of(name): error
        for name, error in unreadable.items()
        if name.rpartition("/")[0] == folder and not isinstance(error, NoResult)
    }
    newest = max(numbered, default=0)
    return numbered[newest] if newest > highest and runs["number"].iloc[-1] else None


def _remark_clock(runs: pd.DataFrame) -> Iterator[str]:
    for machine, found in runs[~runs["clock_agrees"]].groupby("machine", sort=False):
        disagreeing = f"{plural(len(found), 'run')} of {count((runs['machine'] == machine).sum())}"
        were = "was" if len(found) == 1 else "were"
        yield (
            f"{machine}: the clock and the numbers disagree on when {disagreeing} {were} made, and the numbers decide: "
            f"{list_some(found['run'], _MAX_NAMED)}"
        )


def _cache_path(location: str) -> Path:
    return cache_folder() / "history" / f"{hashlib.sha256(location.encode()).hexdigest()[:20]}.arrow"


def _read_cache(path: Path) -> _Files | None:
    """Return what is cached, or None where there is no intact cache of this version."""
    # Whatever is wrong with the cache, the files that it is derived from are still there.
    with suppress(OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        table.validate(full=True)
        stored = json.loads(table.schema.metadata[_METADATA])
        if stored["version"] == _CACHE_VERSION:
            files = pd.DataFrame(stored["files"], columns=[*_FILE_COLUMNS])
            return _Files(
                files=files.assign(taken=pd.to_datetime(files["taken"], utc=True, format="ISO8601")),
                observations=table.to_pandas(),  # which restores the types
                unmeasured=pd.DataFrame(stored["unmeasured"], columns=[*UNMEASURED_COLUMNS]),
                left_out={(name, size_bytes, mark): machine for name, size_bytes, mark, machine in stored["left_out"]},
            )
    return None


def _write_cache(path: Path, content: _Files) -> None:
    """Write the cache; where that fails, everything works without one."""
    taken = pd.Series([None if pd.isna(time) else time.isoformat() for time in content.files["taken"]], dtype=object)
    stored: dict[str, Any] = {
        "version": _CACHE_VERSION,
        "files": content.files.assign(taken=taken.to_numpy()).to_numpy().tolist(),
        "unmeasured": content.unmeasured.astype(object).to_numpy().tolist(),
        "left_out": [[*key, machine] for key, machine in content.left_out.items()],
    }
    table = pa.Table.from_pandas(content.observations, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _METADATA: json.dumps(stored).encode()})
    body = io.BytesIO()
    with pa.ipc.new_file(body, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, body.getvalue())
