"""Whether files lie in memory already: the page cache, asked page by page."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable
from pathlib import Path

import numpy as np

_RESIDENT = 1  # mincore(2): the lowest bit of a page's byte; the others are reserved


def resident_share(paths: Iterable[Path]) -> float | None:
    """Return the share of the files' pages that lie in the page cache, or None where the system does not tell.

    mincore(2) tells it of files that the process owns or may write; of others, Linux says that all of it is resident.
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
        del content  # a mapping that is still looked at cannot be closed
        if failed:
            raise OSError(ctypes.get_errno(), "mincore failed", str(path))
    return pages & _RESIDENT
