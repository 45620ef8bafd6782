"""The folder for data that are made once and kept for every later run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.cache import CACHE_VARIABLE, cache_folder
from harness.errors import BadInput


def kept(name: str, write: Callable[[Path], None], *, or_else: str = "") -> Path:
    """Return the cache's folder of that name; where it is not there yet, ``write`` makes it and fills it.

    Raises:
        BadInput: the cache cannot be written to; the message ends with the way out that ``or_else`` adds.
    """
    home = cache_folder() / name
    if home.is_dir():
        return home
    try:
        # Written elsewhere and renamed whole, so that an interrupted write is never mistaken for the finished folder.
        with scratch(".unfinished-") as aside:
            draft = Path(aside) / name
            write(draft)
            _put(draft, home)
    except OSError as error:
        raise BadInput(
            f"{home.parent}: cannot keep the images there ({error.strerror}); "
            f"set {CACHE_VARIABLE} to a folder with room{or_else}"
        ) from None
    return home


def scratch(prefix: str) -> TemporaryDirectory[str]:
    """Return a new folder on the cache's disk, which goes with the object that is returned."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return TemporaryDirectory(dir=cache_folder(), prefix=prefix)


def _put(draft: Path, home: Path) -> None:
    try:
        draft.rename(home)
    except OSError:
        if not home.is_dir():  # otherwise another process was quicker with the same content
            raise
