"""Where results and reports lie: a file, a folder, or a URL that fsspec knows, such as ``s3://bucket/results``.

Everything that lists, reads or writes at such a place goes through this module. Local and remote results are read
alike: the same names, the same depth, the same size limit, and the same one-line error for a file that cannot be used.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from accelbench.errors import BadInput, UnreadableResult
from accelbench.files import write_atomically
from accelbench.schema.reasons import message_or_type
from accelbench.schema.safe_json import MOST_BYTES, BeyondLimit, printable, read_bytes, unreadable_in_one_line
from accelbench.units import count, plural, size

RESULTS_INI = "accelbench_results"  # of pytest: the folder that keeps runs
RESULTS = Path("results")  # where the setting names no other
UNCONFIGURED = Path(".benchmarks")  # pytest-benchmark's folder, for repositories without the setting
# Where pytest reads its settings, in its order, with the table or section that holds them.
_SETTINGS = {
    "pytest.toml": ("pytest",), ".pytest.toml": ("pytest",), "pytest.ini": ("pytest",), ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool", "pytest"), "tox.ini": ("pytest",), "setup.cfg": ("tool:pytest",),
}  # fmt: skip
JOURNAL = ".journal"  # suffix of the file of an unfinished run; pytest-benchmark reads every *.json beside it
NUMBERED = re.compile(r"(?P<number>\d{4,15})_(?P<name>.+)")  # the name of a run's file, without its suffix
MAX_DEPTH = 16  # nested folders that are searched for results
# The names that storages give to a value that changes with the file, the most reliable first.
_VERSION_KEYS = (
    "ETag", "etag", "md5Hash", "content_md5", "CRC", "mtime", "LastModified", "last_modified", "updated", "created",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file that may be a result: its path below the storage, its size, and a ``mark`` that changes with the file.

    The mark is empty if the storage provides none.
    """

    name: str
    size_bytes: int
    mark: str

    @property
    def folder(self) -> str:
        """The folder that contains the file, "" for the storage itself."""
        return self.name.rpartition("/")[0]

    @property
    def number(self) -> int:
        """The number of the run, 0 where the name has none."""
        return number_of(self.name)

    @property
    def key(self) -> tuple[str, int, str]:
        """What stays the same while the file does."""
        return self.name, self.size_bytes, self.mark


class ResultStore(Protocol):
    """A place that holds result files.

    ``location`` is the same text for the same place. ``is_file`` is true if the place is one file.
    """

    location: str
    is_file: bool

    def entries(self) -> list[Entry]:
        """Return the files that may be results, sorted by name, without hidden files and folders."""
        ...

    def address(self, name: str) -> str:
        """Return the full address of an entry or a folder, or of the storage itself for ""."""
        ...

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield the content of each entry, or the reason why it cannot be read."""
        ...


@dataclass(frozen=True, kw_only=True)
class Published:
    """How many files were written, and how many already had the same content."""

    wrote: int
    unchanged: int

    def __str__(self) -> str:
        """Return both numbers in words."""
        return f"wrote {plural(self.wrote, 'file')}, left {count(self.unchanged)} unchanged"


def number_of(file: PurePath | str) -> int:
    """Return the number at the beginning of a result file's name, 0 where there is none."""
    match = NUMBERED.fullmatch(PurePath(file).stem)
    return int(match["number"]) if match else 0


def configured_results(start: Path) -> Path | None:
    """Return the folder of results that pytest's settings name at a folder or above it; None if they name none."""
    for folder in (start, *start.parents):
        for name, section in _SETTINGS.items():
            with suppress(OSError, ValueError, ConfigError):  # whatever is wrong with a file, pytest will say it
                if value := _read_setting(folder / name, section):
                    return folder / value
    return None


def _read_setting(file: Path, section: tuple[str, ...]) -> str:
    if file.suffix != ".toml":
        settings = ConfigParser(interpolation=None)
        settings.read_string(file.read_text(encoding="utf-8"))
        return settings.get(section[0], RESULTS_INI, fallback="")
    table: Any = tomllib.loads(file.read_text(encoding="utf-8"))
    for name in section:
        table = table.get(name, {})
    value = table.get("ini_options", {}).get(RESULTS_INI) or table.get(RESULTS_INI)
    return value if isinstance(value, str) else ""


def default_results() -> str:
    """Return the folder that holds the newest run measured here: the configured one, ``results`` or ``.benchmarks``."""
    here = Path.cwd()
    folders = [configured_results(here) or here / RESULTS, here / UNCONFIGURED]
    # The first one where there is neither a run nor the journal of one.
    chosen = max(folders, key=lambda folder: (_newest_run_s(folder), any(folder.glob(f"*/*{JOURNAL}"))))
    return str(chosen.relative_to(here) if chosen.is_relative_to(here) else chosen)


def _newest_run_s(folder: Path) -> float:
    """Return when the newest run of a folder was saved, in seconds; 0 if there is none."""
    with suppress(OSError):
        return max((file.stat().st_mtime for file in folder.glob("*/*.json") if number_of(file)), default=0.0)
    return 0.0


def find_journals(location: Path | str) -> list[Path]:
    """Return the journals of unfinished runs in a local folder and those below it, sorted by path; none for a URL."""
    folder = local_path(location)
    return sorted(_walk_files(folder, JOURNAL)) if folder else []


def open_store(location: Path | str) -> ResultStore:
    """Return the storage at a path or a URL.

    Raises:
        BadInput: the path does not exist, or fsspec cannot reach the URL.
    """
    path = local_path(location)
    return RemoteStorage(str(location)) if path is None else LocalStorage(path)


def local_path(location: Path | str) -> Path | None:
    """Return the path that a location names, or None for a URL that is not ``file://``."""
    scheme, is_url, rest = str(location).partition("://")
    if not is_url:
        return Path(location)
    if scheme != "file":
        return None
    from urllib.request import url2pathname  # here, since its import takes longer than all the others

    return Path(url2pathname(rest))


def is_present(location: str) -> bool:
    """Return whether there is a file or folder at a path; a URL counts as one."""
    path = local_path(location)
    try:
        return path is None or path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def join_location(location: Path | str, name: str) -> str:
    """Return the location of a file or folder below another location."""
    path = local_path(location)
    return _join_url(str(location), name) if path is None else str(path / name)


def address_beside(location: str, suffix: str) -> str:
    """Return the location of a companion of a result file: the same name with another suffix than ``.json``."""
    before, place, after = _url_parts(location) if local_path(location) is None else ("", location, "")
    return f"{before}{place.removesuffix('.json')}{suffix}{after}"


def read_if_present(location: str) -> bytes | None:
    """Return the content of a file at a path or a URL, None if there is no such file.

    Raises:
        BadInput: the URL cannot be reached.
        UnreadableResult: the file cannot be read, or is too large.
    """
    path = local_path(location)
    if path is not None:
        if not path.exists():
            return None
        with unreadable_in_one_line(location):
            return read_bytes(path)
    import fsspec  # here, since a local folder does not need it

    with _errors_in_one_line(location, "reached"):
        system, place = fsspec.core.url_to_fs(location)
        return bytes(system.cat_file(place)) if system.exists(place) else None


def write_text(text: str, location: str) -> None:
    """Write a text file at a path or a URL.

    Raises:
        BadInput: the file cannot be written.
    """
    path = local_path(location)
    if path is None:
        folder, name = _split_url(location)
        if not name:
            raise BadInput(f"{location}: names no file; end --output with a file name")
        publish({name: text.encode()}, folder)
        return
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"{location}: cannot be written ({why}); name another file with --output") from None


def publish(files: Mapping[str, bytes], place: Path | str, once: Collection[str] = ()) -> Published:
    """Write the files whose content changed below a folder or a URL, and delete none.

    ``files`` are contents by name below the place. A name in ``once`` is written only if there is no such file.

    Raises:
        BadInput: a file cannot be written.
    """
    folder = local_path(place)
    wrote = _publish_to_url(files, str(place), once) if folder is None else _publish_to_folder(files, folder, once)
    return Published(wrote=wrote, unchanged=len(files) - wrote)


class LocalStorage:
    """A result file, or a folder and the folders below it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._root = path if _is_folder(path) else path.parent
        self.is_file = self._root != path
        self._undecodable: dict[str, Path] = {}  # files whose names are not Unicode, by the name shown for them
        self.location = str(path.absolute())

    def entries(self) -> list[Entry]:
        """Return the files that may be results, sorted by name."""
        paths = [self._path] if self.is_file else _walk_files(self._path, ".json")
        entries = [entry for path in paths if (entry := self._entry(path))]
        return sorted(entries, key=lambda entry: entry.name)

    def address(self, name: str) -> str:
        """Return the path of an entry."""
        return str(self._root / name)

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield the content of each entry, or the reason why it cannot be read."""
        for entry in entries:
            path = self._undecodable.get(entry.name, self._root / entry.name)
            content: bytes | UnreadableResult
            try:
                with unreadable_in_one_line(str(path)):
                    content = read_bytes(path)
            except UnreadableResult as error:
                content = error
            yield content

    def _entry(self, path: Path) -> Entry | None:
        name = path.relative_to(self._root).as_posix()
        if _has_surrogates(name):
            name = printable(name)
            self._undecodable[name] = path
        try:
            status = path.stat()
        except FileNotFoundError:
            # A dangling link is reported when it is read. A file that vanished after the listing is ignored.
            return Entry(name=name, size_bytes=0, mark="") if path.is_symlink() else None
        except OSError:
            return Entry(name=name, size_bytes=0, mark="")
        return Entry(name=name, size_bytes=status.st_size, mark=str(status.st_mtime_ns))


class RemoteStorage:
    """A result file or a folder of them behind fsspec."""

    def __init__(self, location: str) -> None:
        import fsspec  # here, since a local folder does not need it

        self.location = location if location.endswith("://") else location.rstrip("/")
        with _errors_in_one_line(self.location, "reached"):
            self._system, self._path = fsspec.core.url_to_fs(self.location)
        self.is_file = self._path.endswith(".json")
        self._root = self._path.rpartition("/")[0] if self.is_file else self._path
        self._root_url = _split_url(self.location)[0] if self.is_file else self.location

    def entries(self) -> list[Entry]:
        """Return the files that may be results, sorted by name."""
        with _errors_in_one_line(self.location, "reached"):
            listing: dict[str, dict[str, Any]] = self._system.find(self._path, detail=True)
        entries = [_remote_entry(path.removeprefix(self._root).lstrip("/"), about) for path, about in listing.items()]
        return sorted(filter(_may_be_result, entries), key=lambda entry: entry.name)

    def address(self, name: str) -> str:
        """Return the URL of an entry."""
        return _join_url(self._root_url, name)

    def read(self, entries: Sequence[Entry]) -> Iterator[bytes | UnreadableResult]:
        """Yield the content of each entry, or the reason why it cannot be read."""
        small = [entry for entry in entries if entry.size_bytes <= MOST_BYTES]
        contents = dict(zip((entry.name for entry in small), self._fetch(small), strict=True))
        for entry in entries:
            yield self._check_content(entry, contents.get(entry.name))

    def _fetch(self, entries: Sequence[Entry]) -> list[Any]:
        """Return the content of each entry, or the exception raised instead.

        Byte ranges are requested because fsspec fetches them concurrently and does not expand patterns in their names.
        A storage that does not report a size reports 0 here, and the whole file is fetched.
        """
        paths = [f"{self._root}/{entry.name}" for entry in entries]
        ends = [entry.size_bytes or None for entry in entries]
        try:
            return list(self._system.cat_ranges(paths, [0] * len(paths), ends, on_error="return"))
        except Exception as error:
            return [error] * len(entries)

    def _check_content(self, entry: Entry, content: Any) -> bytes | UnreadableResult:
        try:
            with unreadable_in_one_line(self.address(entry.name)):
                if isinstance(content, Exception):
                    raise BeyondLimit(message_or_type(content))
                size_bytes = entry.size_bytes if content is None else len(content)
                if size_bytes > MOST_BYTES:
                    raise BeyondLimit(f"it takes {size(size_bytes)}, at most {size(MOST_BYTES)} are read")
                return bytes(content)
        except UnreadableResult as error:
            return error


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder.

    Raises:
        BadInput: the path does not exist or cannot be accessed.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        reason = "no such file or folder; make results with accelbench run, or pytest on your own benchmarks"
    except (OSError, ValueError) as error:  # ValueError: a null character
        reason = f"cannot be read ({getattr(error, 'strerror', error)}); give a result file or a folder of them"
    raise BadInput(f"{printable(str(path))}: {reason}")


def _walk_files(folder: Path, suffix: str) -> Iterator[Path]:
    """Yield the files of a suffix; a hidden file is the draft of a run that was killed while it saved."""
    for place, folders, names in os.walk(folder):
        at_max_depth = len(Path(place).relative_to(folder).parts) == MAX_DEPTH
        folders[:] = [] if at_max_depth else [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in names if name.endswith(suffix) and not name.startswith("."))


def _has_surrogates(name: str) -> bool:
    """Return whether a file name is not valid Unicode, so that Python filled in surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in name)


def _remote_entry(name: str, about: dict[str, Any]) -> Entry:
    mark = next((str(about[key]) for key in _VERSION_KEYS if about.get(key) is not None), "")
    return Entry(name=name, size_bytes=int(about.get("size") or 0), mark=mark)


def _may_be_result(entry: Entry) -> bool:
    parts = PurePosixPath(entry.name).parts
    return (
        0 < len(parts) <= MAX_DEPTH + 1
        and entry.name.endswith(".json")
        and not any(part.startswith(".") for part in parts)
    )


def _join_url(url: str, name: str) -> str:
    """Return the URL of a name below a URL.

    In a chain such as ``zip://runs::s3://bucket/runs.zip`` the first part of the chain is extended.
    """
    before, place, after = _url_parts(url)
    return f"{before}{'/'.join(filter(None, (place.rstrip('/'), name)))}{after}"


def _split_url(url: str) -> tuple[str, str]:
    """Return the URL of the folder that contains a URL, and the name in it."""
    before, place, after = _url_parts(url)
    folder, _, name = place.rpartition("/")
    return f"{before}{folder}{after}", name


def _url_parts(url: str) -> tuple[str, str, str]:
    """Return the scheme of a URL, its path, and the rest of the chain."""
    scheme, sign, rest = url.partition("://")
    place, chain, after = rest.partition("::")
    return scheme + sign, place, chain + after


@contextmanager
def _errors_in_one_line(url: str, verb: str) -> Iterator[None]:
    """Turn whatever a storage raises into one line, since every storage's package has its own exceptions."""
    try:
        yield
    except Exception as error:
        way_out = "give a folder, or install and configure what fsspec needs for this address"
        raise BadInput(f"{printable(url)}: cannot be {verb} ({message_or_type(error)}); {way_out}") from None


def _publish_to_folder(files: Mapping[str, bytes], folder: Path, once: Collection[str]) -> int:
    """Write the files that changed, and return their number."""
    try:
        existing = {name for name in once if (folder / name).exists()}
        changed = [name for name, body in files.items() if name not in existing and not _has_body(folder / name, body)]
        for name in changed:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, files[name])
    except OSError as error:
        why = error.strerror or error
        raise BadInput(
            f"{printable(str(folder))}: cannot be written ({why}); name another place with --output"
        ) from None
    return len(changed)


def _has_body(path: Path, body: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(body) and path.read_bytes() == body


def _publish_to_url(files: Mapping[str, bytes], url: str, once: Collection[str]) -> int:
    """Write the files that changed, and return their number; only files of the same size are fetched to compare."""
    import fsspec  # here, since a local folder does not need it

    with _errors_in_one_line(url, "written"):
        system, root = fsspec.core.url_to_fs(url)
        sizes = {path: about.get("size") for path, about in system.find(root, detail=True).items()}
        paths = {name: f"{root.rstrip('/')}/{name}" for name in files}
        same_size = [name for name, body in files.items() if sizes.get(paths[name]) == len(body)]
        ends = [len(files[name]) for name in same_size]
        bodies = system.cat_ranges([paths[name] for name in same_size], [0] * len(same_size), ends, on_error="return")
        unchanged = {name for name, body in zip(same_size, bodies, strict=True) if body == files[name]}
        unchanged |= {name for name in once if paths[name] in sizes}
        changed = {paths[name]: body for name, body in files.items() if name not in unchanged}
        _upload(system, changed)
    return len(changed)


def _upload(system: Any, files: Mapping[str, bytes]) -> None:
    """Upload contents by path, from files on disk, since storages derive the content type from a file's name."""
    with TemporaryDirectory(prefix="accelbench-") as folder:
        drafts = [Path(folder, str(place), path.rpartition("/")[2]) for place, path in enumerate(files)]
        for draft, body in zip(drafts, files.values(), strict=True):
            draft.parent.mkdir()
            draft.write_bytes(body)
        if drafts:
            system.put([str(draft) for draft in drafts], list(files))
