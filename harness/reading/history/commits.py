"""The commit from which a run was made, as pytest-benchmark recorded it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from harness.errors import HarnessError
from harness.reading.files import as_time
from harness.reading.history.storage.locations import storage_at
from harness.untrusted import document_in

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit: its whole hash, and when it was made, where the file says so."""

    id: str
    made: datetime | None


def commit_of(address: str) -> Commit | None:
    """Return the commit of a result file, at a path or a URL; None where it names none."""
    try:
        storage = storage_at(address)
        (data,) = storage.read(storage.entries())
        told = document_in(data, "commit_info") if isinstance(data, bytes) else None
    except (HarnessError, ValueError):  # ValueError: it is gone, or no JSON any more
        return None
    about = told.get("commit_info") if isinstance(told, dict) else None
    if not isinstance(about, dict) or not _HASH.fullmatch(str(about.get("id"))):
        return None
    return Commit(id=about["id"], made=as_time(about.get("time")))
