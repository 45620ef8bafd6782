"""Results in a folder and those below it, or in one file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.errors import BadInput, UnreadableResult
from harness.reading.history.storage.entries import DEEPEST, Entry
from harness.untrusted import read_bytes, refused_in_one_line, shown


class Folder:
    """A file, or a folder and those below it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = path if _is_folder(path) else path.parent
        self.alone = self._files != path
        self._odd: dict[str, Path] = {}  # files whose names no text can hold, by what stands for them
        self.location = str(path.absolute())

    def entries(self) -> list[Entry]:
        """Return what may be results, in the order of their names."""
        found = [self._path] if self.alone else _json_files(self._path)
        entries = [entry for path in found if (entry := self._entry(path))]
        return sorted(entries, key=lambda entry: entry.name)

    def address(self, name: str) -> str:
        """Return where an entry lies."""
        return str(self._files / name)

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield what each entry holds, or why it cannot be read."""
        for entry in entries:
            path = self._odd.get(entry.name, self._files / entry.name)
            held: bytes | UnreadableResult
            try:
                with refused_in_one_line(str(path)):
                    held = read_bytes(path)
            except UnreadableResult as error:
                held = error
            yield held

    def _entry(self, path: Path) -> Entry | None:
        name = path.relative_to(self._files).as_posix()
        if _no_text(name):
            name = shown(name)
            self._odd[name] = path
        try:
            found = path.stat()
        except FileNotFoundError:
            # A link to nowhere is told when it is read; what went away since the folder was listed is not missed.
            return Entry(name=name, size_bytes=0, mark="") if path.is_symlink() else None
        except OSError:
            return Entry(name=name, size_bytes=0, mark="")
        return Entry(name=name, size_bytes=found.st_size, mark=str(found.st_mtime_ns))


def _is_folder(path: Path) -> bool:
    """Say whether a path is a folder.

    Raises:
        BadInput: there is nothing, or nothing that may be looked at.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        reason = "no such file or folder; make results with pytest benchmarks/ --benchmark-save=NAME"
    except (OSError, ValueError) as error:  # ValueError: a null character
        reason = f"cannot be read ({getattr(error, 'strerror', error)}); give a result file or a folder of them"
    raise BadInput(f"{shown(str(path))}: {reason}")


def _json_files(folder: Path) -> Iterator[Path]:
    """Yield the files that may be results; hidden is a draft of a run that was killed while it saved."""
    for place, folders, names in os.walk(folder):
        deepest = len(Path(place).relative_to(folder).parts) == DEEPEST
        folders[:] = [] if deepest else [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in names if name.endswith(".json") and not name.startswith("."))


def _no_text(name: str) -> bool:
    """Say whether a file's name is no Unicode, so that Python fills in surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in name)
