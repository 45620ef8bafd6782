"""Probes of the disk that holds the cache folder: reading past the page cache, and from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from harness.ceilings.probe import Probe
from harness.errors import Unavailable
from harness.experiment import Arm
from harness.workloads.data.cache_folder import scratch
from harness.workloads.data.page_cache import resident_share

FILE_BYTES = 2**25
CHUNK_BYTES = 2**22


def probes() -> Iterator[Probe]:
    """Yield the probes."""
    yield Probe(ceiling="disk", unit="byte", sizes=(FILE_BYTES,), kernels=partial(_reading, _from_disk))
    yield Probe(ceiling="page cache", unit="byte", sizes=(FILE_BYTES,), kernels=partial(_reading, _nothing))


def _reading(before: Callable[[int, Path], None], size: int) -> Iterator[Arm]:
    """Yield the reading of a file of so many random bytes, with what is done before each."""
    folder = scratch(".ceiling-")
    path = Path(folder.name) / "file"
    path.write_bytes(os.urandom(size))
    file = path.open("r+b", buffering=0)
    os.fsync(file.fileno())  # pages that are not yet written cannot be dropped
    buffer = bytearray(CHUNK_BYTES)

    def read() -> None:
        before(file.fileno(), path)
        file.seek(0)
        while file.readinto(buffer):
            pass

    def close() -> None:
        file.close()
        folder.cleanup()

    yield Arm(step=read, items=size, close=close)


def _from_disk(descriptor: int, path: Path) -> None:
    """Drop a file's pages from the page cache.

    Raises:
        Unavailable: they stay, as on a file system that lives in memory.
    """
    if not hasattr(os, "posix_fadvise"):
        raise Unavailable("this system keeps a file's pages in memory as it likes")
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    if resident_share([path]) != 0:
        raise Unavailable(f"the pages of {path} cannot be dropped from memory")


def _nothing(descriptor: int, path: Path) -> None:
    """Leave the file where it is, in the page cache."""
