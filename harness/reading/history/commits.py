"""The commit from which a run was made, as pytest-benchmark recorded it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from harness.errors import HarnessError
from harness.reading.files import as_time
from harness.reading.finding import document_at

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit: its whole hash, and when it was made, where the file says so."""

    id: str
    made: datetime | None


def commit_of(address: str) -> Commit | None:
    """Return the commit of a result file, at a path or a URL; None where it names none."""
    try:
        about = document_at(address, "commit_info").get("commit_info")
    except HarnessError:
        return None
    if not isinstance(about, dict) or not _HASH.fullmatch(str(about.get("id"))):
        return None
    return Commit(id=about["id"], made=as_time(about.get("time")))
