"""Result files, read back as facts. They are data from whoever wrote them: whatever is wrong is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from harness.errors import UnreadableResult
from harness.record import KEY, SCHEMA_VERSION, Run
from harness.untrusted import read_document, shown

_LONGEST_VERSION, _LONGEST_CLAUSE = 20, 300  # characters; both quote the file


def read_run(path: Path) -> Run:
    """Read one result file.

    Raises:
        UnreadableResult: the file is truncated, too large, of a newer schema, not ours, or does not follow the schema.
    """
    return from_json(read_document(path, KEY), source=str(path))


def from_json(document: Any, *, source: str) -> Run:
    """Return the run held by a result file's JSON.

    Raises:
        UnreadableResult: the JSON is of a newer schema, not ours, or does not follow the schema.
    """
    source = shown(source)
    stored = document.get(KEY) if isinstance(document, dict) else None
    if not isinstance(stored, dict):
        raise UnreadableResult(
            f"{source}: not a result of accelbench (no {KEY!r} key); "
            "make one with pytest benchmarks/ --benchmark-save=NAME"
        )
    version = stored.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UnreadableResult(
            f"{source}: schema version {version}, this accelbench reads up to {SCHEMA_VERSION}; upgrade accelbench"
        )
    try:
        return msgspec.convert(stored, Run, strict=True)
    except msgspec.ValidationError as error:
        why = str(error)[:_LONGEST_CLAUSE]
        raise UnreadableResult(
            f"{source}: does not follow schema version {str(version)[:_LONGEST_VERSION]}: {why}; delete it or run again"
        ) from None
