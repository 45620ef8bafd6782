"""Result files -> what the index keeps of them: one row per file, and the observations in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from harness.errors import UnreadableResult
from harness.reading.files import Result, as_result
from harness.reading.history.observations import KINDS, RUN_COLUMNS, TEXTS, describe, observe
from harness.reading.history.storage.entries import Entry, Storage
from harness.reading.history.storage.foreign import foreign_run
from harness.record import KEY
from harness.stored import PARTS, from_json
from harness.untrusted import MOST_BYTES, document_in, refused_in_one_line

_FETCHED_FILES = 16  # side by side, from a storage elsewhere
_BATCH_FILES, _BATCH_BYTES = 64, 8 * 2**20  # that become one table; what is parsed takes up to sixty times as much
_WORTH_PROCESSES_BYTES = 48 * 2**20  # some 50 files, a few seconds' work; starting processes takes one
_LONG_S = 2
FORMAT = ("schema", "foreign")
FILE_COLUMNS = (
    "file", "size_bytes", "mark", "digest", "problem", *FORMAT,
    *(name for name in RUN_COLUMNS if name != "path"),
)  # fmt: skip
_ARROW = {"bool": pa.bool_(), "boolean": pa.bool_(), "Int64": pa.int64(), "float64": pa.float64()}
_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [("file", _TEXT), *((name, _TEXT) for name in TEXTS if name != "run")]
    + [(name, _ARROW[kind]) for name, kind in KINDS.items()]
)


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What some files hold: ``files`` has a row for each, ``observations`` those of all, told apart by ``file``.

    Besides a run's columns a row has ``file``, ``size_bytes``, ``mark`` and ``digest``, by which the file is known
    again, ``problem``, the line that says why it cannot be read, ``schema`` and ``foreign``.
    """

    files: pd.DataFrame
    observations: pa.Table


def as_stored(observations: pd.DataFrame) -> pa.Table:
    """Return observations as the index holds them."""
    return pa.Table.from_pandas(observations, schema=SCHEMA, preserve_index=False).replace_schema_metadata()


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """An entry and what it holds; ``address`` is where it lies."""

    entry: Entry
    address: str
    data: bytes | UnreadableResult
    digest: str


def taken_in(
    storage: Storage, entries: Sequence[Entry], known: Mapping[str, str]
) -> tuple[list[Intake], dict[str, Entry]]:
    """Read files, and return what they hold; of those whose digest is ``known`` only that they are the same.

    A file that is copied or restored has another time and the same content.
    """
    same: dict[str, Entry] = {}
    batches = _batched(_opened(storage, entries, known, same))
    total_bytes = sum(entry.size_bytes for entry in entries)
    jobs = min(joblib.cpu_count(), total_bytes // _WORTH_PROCESSES_BYTES + 1)
    if jobs == 1:
        return list(_told(map(examined, batches), len(entries))), same
    work = (joblib.delayed(examined)(batch) for batch in batches)
    parts = joblib.Parallel(n_jobs=jobs, batch_size=1, return_as="generator")(work)
    return list(_told(parts, len(entries))), same


def _told(parts: Iterable[Intake], files: int) -> Iterator[Intake]:
    """Yield what is read; where that takes long, a line on the terminal says how far it is, and goes away."""
    said = "Reading results into the index: {n_fmt} of {total_fmt} files, about {remaining} left"
    with tqdm(total=files, bar_format=said, delay=_LONG_S, leave=False, disable=None) as line:  # None: no terminal
        for part in parts:
            yield part
            line.update(len(part.files))


def examined(batch: Sequence[_Opened]) -> Intake:
    """Return what the files of a batch hold."""
    rows: list[dict[str, Any]] = []
    results: list[Result] = []
    foreign: list[bool] = []
    for each in batch:
        try:
            result, is_foreign = _result(each)
            results.append(result)
            foreign.append(is_foreign)
            rows.append(_known_by(each) | {"problem": ""})
        except UnreadableResult as error:
            rows.append(_known_by(each) | {"problem": str(error)})
    files = pd.DataFrame(rows)
    readable = files["problem"] == ""
    about = describe(results).assign(schema=[result.run.schema_version for result in results], foreign=foreign)
    about.index = files.index[readable]
    observations = observe(results, names=files.loc[readable, "file"].tolist())
    return Intake(
        files=files.join(about)[[*FILE_COLUMNS]],
        observations=as_stored(observations.rename(columns={"run": "file"})),
    )


def _opened(
    storage: Storage, entries: Sequence[Entry], known: Mapping[str, str], same: dict[str, Entry]
) -> Iterator[_Opened]:
    """Yield files as they are read, and put those whose content is known into ``same`` instead."""
    for some in _in_parts(entries):
        for entry, data in zip(some, storage.read(some), strict=True):
            digest = hashlib.blake2b(data, digest_size=16).hexdigest() if isinstance(data, bytes) else ""
            if digest and known.get(entry.name) == digest:
                same[entry.name] = entry
            else:
                yield _Opened(entry=entry, address=storage.address(entry.name), data=data, digest=digest)


def _in_parts(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield so many files as are fetched side by side."""
    part: list[Entry] = []
    for entry in entries:
        if part and (len(part) == _FETCHED_FILES or sum(each.size_bytes for each in [*part, entry]) > MOST_BYTES):
            yield part
            part = []
        part.append(entry)
    if part:
        yield part


def _batched(opened: Iterable[_Opened]) -> Iterator[list[_Opened]]:
    """Yield so many files together that the tables made of them are worth it, and so few that memory stays bounded."""
    batch: list[_Opened] = []
    for each in opened:
        batch.append(each)
        if len(batch) == _BATCH_FILES or sum(one.entry.size_bytes for one in batch) > _BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch


def _result(each: _Opened) -> tuple[Result, bool]:
    """Return what a file holds, and whether pytest-benchmark wrote it alone.

    Raises:
        UnreadableResult: it cannot be read.
    """
    if isinstance(each.data, UnreadableResult):
        raise each.data
    with refused_in_one_line(each.address):
        document = document_in(each.data, *PARTS, "datetime")
        document = document if isinstance(document, dict) else {}
        foreign = foreign_run(each.data) if KEY not in document else None
    run = foreign or from_json(document, source=each.address)
    return as_result(Path(each.entry.name), document.get("datetime"), run), foreign is not None


def _known_by(each: _Opened) -> dict[str, Any]:
    """Return by what a file is known again; one that could not be read at all is not, and tried again each time."""
    entry = each.entry
    size_bytes = entry.size_bytes if isinstance(each.data, bytes) else -1
    return {"file": entry.name, "size_bytes": size_bytes, "mark": entry.mark, "digest": each.digest}
