"""The folder in which what is made once is kept."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "ACCELBENCH_CACHE"


def cache_folder() -> Path:
    """Return the folder in which what is made once is kept: the one that is set, or the user's cache."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accelbench"
