"""The cache folder, and atomic writes: when a call returns, the file is on disk, complete or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

CACHE_VARIABLE = "ACCELBENCH_CACHE"
_MOST_LINKS = 40  # in a row, as in Linux


def cache_folder() -> Path:
    """Return the cache folder: ``$ACCELBENCH_CACHE``, or ``accelbench`` in the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accelbench"


def write_atomically(path: Path, body: bytes) -> None:
    """Write a draft beside the file that ``path`` leads to, flush it to disk, and then rename it.

    A link remains, and the file at its end is replaced. A device, a FIFO or a socket is never replaced: the body is
    written into it, as a shell's ``>`` would do, without waiting for somebody who reads a FIFO.

    Raises:
        OSError: the file cannot be written. An earlier file of this name is unchanged.
    """
    place = destination(path)
    if is_special(place):
        _write_into(place, body)
        return
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


def destination(path: Path) -> Path:
    """Return the path at the end of the links of a path, whether or not it exists.

    Raises:
        OSError: it is a folder, or the links lead in a circle.
    """
    place = path.absolute()
    for _ in range(_MOST_LINKS):
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if _is_of_the_system(place) or not place.is_symlink():
            return place
        target = place.parent / place.readlink()
        place = Path(os.path.realpath(target.parent), target.name)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def is_special(path: Path) -> bool:
    """Return whether a path is no regular file but a device, a FIFO or a socket.

    So is what stands in ``/dev`` for a file that the process has open, such as ``/dev/stdout``.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or (stat.S_ISREG(mode) and _is_of_the_system(path))


def _is_of_the_system(path: Path) -> bool:
    return path.is_relative_to("/dev") or path.is_relative_to("/proc")


def _write_into(path: Path, body: bytes) -> None:
    """Write into something that must not be replaced.

    Raises:
        OSError: it cannot be written, or nobody has opened the FIFO to read it.
    """
    try:
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno == errno.ENXIO and path.is_fifo():
            raise OSError(errno.ENXIO, "nobody reads this FIFO", str(path)) from None
        raise
    with open(handle, "wb") as file:  # noqa: PTH123  a handle has no path
        os.set_blocking(handle, True)
        file.write(body)


def require_writable(folder: Path) -> None:
    """Check that files can be written into a folder, which is made if it does not exist.

    Raises:
        OSError: they cannot.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(b"room")


def hide_from_git(folder: Path, *patterns: str) -> None:
    """Have Git ignore files of these patterns in a folder, unless it holds a file already.

    Raises:
        OSError: the folder cannot be written.
    """
    if not any(path.is_file() for path in folder.rglob("*")):
        lines = ["# Written by accelbench. Delete a line to have Git see these files.", *patterns]
        (folder / ".gitignore").write_text("\n".join(lines) + "\n")


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, where the system can."""
    with suppress(OSError):  # Windows cannot open folders, and some network file systems cannot sync them
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
