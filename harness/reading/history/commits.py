"""The commit from which a run was made, as pytest-benchmark recorded it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from harness.errors import UnreadableResult
from harness.reading.files import as_time
from harness.untrusted import read_document

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit: its whole hash, and when it was made, where the file says so."""

    id: str
    made: datetime | None


def commit_of(path: Path | str) -> Commit | None:
    """Return the commit of a result file, None where it names none."""
    try:
        told = (read_document(Path(path), "commit_info") or {}).get("commit_info")
    except UnreadableResult:
        return None
    if not isinstance(told, dict) or not _HASH.fullmatch(str(told.get("id"))):
        return None
    return Commit(id=told["id"], made=as_time(told.get("time")))
