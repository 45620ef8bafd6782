"""The derived index on disk: two Parquet files per storage, rebuilt when missing or damaged, safe to delete.

It lies in the user's cache and not beside the results: they may be somebody else's or out of reach, while the index is
trusted as it stands; and nothing has to be kept out of version control. A few files are read as fast without it.

Version history (another one for whatever changes what is kept of a file):
    1  first version
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.cache import cache_folder
from harness.durable import write_whole
from harness.reading.history.storage.intake import FILE_COLUMNS, SCHEMA, Intake
from harness.record import SCHEMA_VERSION

VERSION = 1
FEWEST_FILES = 24  # that are worth an index
_FILES, _OBSERVATIONS = "files.parquet", "observations.parquet"
_MADE_BY, _STAMP = b"accelbench.index", b"accelbench.stamp"
_THIS = f"{VERSION}, schema {SCHEMA_VERSION}".encode()  # a newer schema makes files readable that were not


def folder_of(location: str) -> Path:
    """Return the folder of a storage's index."""
    return cache_folder() / "history" / hashlib.sha256(location.encode()).hexdigest()[:20]


def read_index(folder: Path) -> Intake | None:
    """Return a stored index, None where there is none of this version that is whole."""
    # Whatever is wrong with it, what it is derived from is still there.
    with suppress(OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        files, observations = (pq.read_table(folder / name) for name in (_FILES, _OBSERVATIONS))
        told = [(table.schema.metadata or {}) for table in (files, observations)]
        if {each.get(_MADE_BY) for each in told} == {_THIS} and len({each.get(_STAMP) for each in told}) == 1:
            held = observations.replace_schema_metadata().cast(SCHEMA)
            return Intake(files=files.to_pandas(), observations=held)
    return None


def keep_index(folder: Path, index: Intake) -> None:
    """Write an index; where that fails, everything works without."""
    stamp = {_MADE_BY: _THIS, _STAMP: uuid.uuid4().bytes}  # two that do not belong together are not believed
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in (
            (_OBSERVATIONS, index.observations),
            (_FILES, pa.Table.from_pandas(index.files, preserve_index=False)),
        ):
            write_whole(folder / name, _as_parquet(table, stamp))


def empty_index() -> Intake:
    """Return an index of nothing."""
    return Intake(files=pd.DataFrame(columns=[*FILE_COLUMNS]), observations=SCHEMA.empty_table())


def _as_parquet(table: pa.Table, stamp: dict[bytes, bytes]) -> bytes:
    held = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata((table.schema.metadata or {}) | stamp), held, compression="zstd")
    return bytes(held.getvalue())
