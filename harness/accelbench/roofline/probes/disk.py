"""Probes of the disk that holds the cache folder: reads past the page cache, and reads from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from accelbench.core import Arm
from accelbench.errors import Unavailable
from accelbench.roofline.probes.probe import PeakProbe
from accelbench.workloads.data.files import resident_share, scratch_folder

FILE_BYTES = 2**25
CHUNK_BYTES = 2**22


def probes() -> Iterator[PeakProbe]:
    """Yield the probes."""
    yield PeakProbe(ceiling="disk", unit="byte", sizes=(FILE_BYTES,), kernels=partial(_read_file, _drop_pages))
    yield PeakProbe(ceiling="page cache", unit="byte", sizes=(FILE_BYTES,), kernels=partial(_read_file, _keep_pages))


def _read_file(before: Callable[[int, Path], None], size: int) -> Iterator[Arm]:
    """Yield an arm that calls ``before`` and then reads a file of ``size`` random bytes."""
    folder = scratch_folder(".ceiling-")
    path = Path(folder.name) / "file"
    path.write_bytes(os.urandom(size))
    file = path.open("r+b", buffering=0)
    os.fsync(file.fileno())  # dirty pages cannot be dropped
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


def _drop_pages(descriptor: int, path: Path) -> None:
    """Drop a file's pages from the page cache.

    Raises:
        Unavailable: they stay, as on a file system in memory.
    """
    if not hasattr(os, "posix_fadvise"):
        raise Unavailable("this system cannot drop a file's pages from memory")
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    if resident_share([path]) != 0:
        raise Unavailable(f"the pages of {path} cannot be dropped from memory")


def _keep_pages(descriptor: int, path: Path) -> None:
    """Leave the file in the page cache."""
