"""Files written where they are read: only those whose content changed, and none is deleted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.durable import write_whole
from harness.errors import BadInput
from harness.reading.history.storage.locations import local_path
from harness.reading.history.storage.urls import reaching
from harness.units import count, plural
from harness.untrusted import shown


@dataclass(frozen=True, kw_only=True)
class Published:
    """How many files were written, and how many were left, since they held the same already."""

    wrote: int
    unchanged: int

    def __str__(self) -> str:
        """Return it in words."""
        return f"wrote {plural(self.wrote, 'file')}, left {count(self.unchanged)} unchanged"


def publish(files: Mapping[str, bytes], place: Path | str, once: Collection[str] = ()) -> Published:
    """Write files, by their names below a folder or a URL that fsspec knows; those in ``once`` only where none is.

    Raises:
        BadInput: one cannot be written.
    """
    folder = local_path(place)
    wrote = _to_url(files, str(place), once) if folder is None else _to_folder(files, folder, once)
    return Published(wrote=wrote, unchanged=len(files) - wrote)


def _to_folder(files: Mapping[str, bytes], folder: Path, once: Collection[str]) -> int:
    """Write what changed, and return how many files that are."""
    try:
        kept = {name for name in once if (folder / name).exists()}
        changed = [name for name, body in files.items() if name not in kept and not _holds(folder / name, body)]
        for name in changed:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, files[name])
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"{shown(str(folder))}: cannot be written ({why}); name another place with --output") from None
    return len(changed)


def _holds(path: Path, body: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(body) and path.read_bytes() == body


def _to_url(files: Mapping[str, bytes], url: str, once: Collection[str]) -> int:
    """Write what changed, and return how many files that are; only those of the same size are fetched to compare."""
    import fsspec  # here, since a folder does not need it

    with reaching(url, "written"):
        system, root = fsspec.core.url_to_fs(url)
        sizes = {path: facts.get("size") for path, facts in system.find(root, detail=True).items()}
        paths = {name: f"{root.rstrip('/')}/{name}" for name in files}
        alike = [name for name, body in files.items() if sizes.get(paths[name]) == len(body)]
        ends = [len(files[name]) for name in alike]
        held = system.cat_ranges([paths[name] for name in alike], [0] * len(alike), ends, on_error="return")
        kept = {name for name, found in zip(alike, held, strict=True) if found == files[name]}
        kept |= {name for name in once if paths[name] in sizes}
        changed = {paths[name]: body for name, body in files.items() if name not in kept}
        _put(system, changed)
    return len(changed)


def _put(system: Any, files: Mapping[str, bytes]) -> None:
    """Upload files, by their paths. From files, since by a name storages know what to tell a browser that it is."""
    with TemporaryDirectory(prefix="accelbench-") as folder:
        drafts = [Path(folder, str(place), path.rpartition("/")[2]) for place, path in enumerate(files)]
        for draft, body in zip(drafts, files.values(), strict=True):
            draft.parent.mkdir()
            draft.write_bytes(body)
        if drafts:
            system.put([str(draft) for draft in drafts], list(files))
