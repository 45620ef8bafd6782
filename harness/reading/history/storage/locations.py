"""Where results lie: in a file, in a folder, or under a URL that fsspec knows."""

from __future__ import annotations

from pathlib import Path
from urllib.request import url2pathname

from harness.reading.history.storage.entries import Storage
from harness.reading.history.storage.folders import Folder
from harness.reading.history.storage.urls import Elsewhere, below


def storage_at(location: Path | str) -> Storage:
    """Return the storage at a path or at a URL.

    Raises:
        BadInput: there is no such path, or fsspec cannot reach what is named.
    """
    path = local_path(location)
    return Elsewhere(str(location)) if path is None else Folder(path)


def local_path(location: Path | str) -> Path | None:
    """Return the path that a location names, None where it is a URL that leads elsewhere."""
    kind, is_url, rest = str(location).partition("://")
    if not is_url:
        return Path(location)
    return Path(url2pathname(rest)) if kind == "file" else None


def place_below(location: Path | str, name: str) -> str:
    """Return the location of what has this name below another one."""
    path = local_path(location)
    return below(str(location), name) if path is None else str(path / name)
