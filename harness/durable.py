"""Files that are on disk when the call returns, and whole or not there at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(place: Path, body: bytes) -> None:
    """Write a file aside, bring it to disk, and only then give it its name."""
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk, where the system has a way to."""
    with suppress(OSError):  # Windows opens no folders, and some network file systems sync none
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
