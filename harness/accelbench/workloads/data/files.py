"""Files that workloads read: folders that are made once and kept, and how much of a file lies in memory already."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from accelbench.errors import BadInput
from accelbench.files import CACHE_VARIABLE, cache_folder


def keep_folder(name: str, write: Callable[[Path], None], *, or_else: str = "") -> Path:
    """Return the cache's folder of that name. If it does not exist yet, ``write`` makes and fills it.

    Raises:
        BadInput: the cache cannot be written to; the message ends with the way out that ``or_else`` adds.
    """
    home = cache_folder() / name
    if home.is_dir():
        return home
    try:
        # Written elsewhere and renamed whole, so that an interrupted write is never mistaken for the finished folder.
        with scratch_folder(".unfinished-") as aside:
            draft = Path(aside) / name
            write(draft)
            _publish(draft, home)
    except OSError as error:
        raise BadInput(
            f"{home.parent}: cannot keep the images there ({error.strerror}); "
            f"set {CACHE_VARIABLE} to a folder with room{or_else}"
        ) from None
    return home


def scratch_folder(prefix: str) -> TemporaryDirectory[str]:
    """Return a new folder on the cache's disk; it is removed with the returned object."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return TemporaryDirectory(dir=cache_folder(), prefix=prefix)


def _publish(draft: Path, home: Path) -> None:
    try:
        draft.rename(home)
    except OSError:
        if not home.is_dir():  # otherwise another process wrote the same content first
            raise


_RESIDENT = 1  # mincore(2): the lowest bit of a page's byte; the others are reserved


def resident_share(paths: Iterable[Path]) -> float | None:
    """Return the share of the files' pages that lie in the page cache, or None where the system does not know.

    mincore(2) knows it of files that the process owns or may write; it calls all pages of other files resident.
    """
    try:
        pages = [_pages(path) for path in paths if path.stat().st_size]
    except (OSError, AttributeError, TypeError):  # no mincore here
        return None
    return float(np.concatenate(pages).mean()) if pages else None


def _pages(path: Path) -> np.ndarray:
    """Return for each page of a file whether it is resident."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        content = np.frombuffer(mapped, np.uint8)  # for its address: mapping alone reads nothing
        pages = np.zeros(-(-len(mapped) // mmap.PAGESIZE), np.uint8)
        mincore = ctypes.CDLL(None, use_errno=True).mincore
        failed = mincore(
            ctypes.c_void_p(content.ctypes.data), ctypes.c_size_t(len(mapped)), ctypes.c_void_p(pages.ctypes.data)
        )
        del content  # a mapping with a view of it cannot be closed
        if failed:
            raise OSError(ctypes.get_errno(), "mincore failed", str(path))
    return pages & _RESIDENT
