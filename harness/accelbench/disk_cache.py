"""Keep the results of slow computations in the cache folder, under a hash of their inputs.

The hash covers this package's source and the versions of the libraries that compute, so that an upgrade computes anew.
Entries are plain data in MessagePack, checked when they are read, since anybody may have written them; a pickle could
run code. Two processes may compute the same entry: each file is written whole, and both are equal. Where the folder
cannot be written or an entry is damaged, everything is computed. The folder is safe to delete.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from accelbench.files import cache_folder, write_atomically

T = TypeVar("T")

MAX_BYTES = 64 * 2**20  # of all entries, about seventy reports; those that were not used for longest are deleted
_LIBRARIES = ("numpy", "pandas", "ruptures", "scipy")


def computed_folder() -> Path:
    """Return the folder of the kept results."""
    return cache_folder() / "computed"


def recall(name: str, kind: type[T], inputs: Iterable[bytes], compute: Callable[[], T]) -> T:
    """Return what was computed from these inputs before, or else compute it and keep it.

    ``name`` says what it is. ``kind`` is its type, of which msgspec must know how to read it.
    """
    digest = blake2b(code_digest(), digest_size=20)
    for each in inputs:
        digest.update(len(each).to_bytes(8))
        digest.update(each)
    path = computed_folder() / f"{name}-{digest.hexdigest()}.msgpack"
    with suppress(OSError, ValueError, msgspec.MsgspecError, RecursionError):
        kept = msgspec.msgpack.decode(path.read_bytes(), type=kind)
        with suppress(OSError):
            path.touch()
        return kept
    computed = compute()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, as_bytes(computed))
        _delete_oldest(path.parent)
    return computed


def as_bytes(value: Any) -> bytes:
    """Return plain data, dataclasses of them and NumPy's numbers as bytes, the same for equal ones."""
    return msgspec.msgpack.encode(value, enc_hook=lambda number: number.item())


def _delete_oldest(folder: Path) -> None:
    """Delete the entries that were not used for longest, until the others take no more than they may."""
    entries = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process deleted it
            status = path.stat()
            entries.append((status.st_mtime_ns, status.st_size, path))
    total_bytes = sum(size_bytes for _, size_bytes, _ in entries)
    for _, size_bytes, path in sorted(entries):
        if total_bytes <= MAX_BYTES:
            return
        path.unlink(missing_ok=True)
        total_bytes -= size_bytes


@cache
def code_digest() -> bytes:
    """Return a hash of this package's source and of the libraries that compute."""
    digest = blake2b(platform.python_version().encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            digest.update(f"{library} {version(library)}".encode())
    return digest.digest()
