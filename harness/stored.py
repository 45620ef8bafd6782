"""Result files, read back as facts. They are data from whoever wrote them: whatever is wrong is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.errors import UnreadableResult
from harness.record import KEY, SCHEMA_VERSION, Run
from harness.untrusted import as_schema, read_document, shown


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
    return as_schema(stored, Run, SCHEMA_VERSION, source=source, again="run")
