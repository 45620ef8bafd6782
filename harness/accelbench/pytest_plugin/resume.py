"""The journal of a run, and how an unfinished run is continued.

Every visit of a trial is on disk before the next one starts. Each line of a journal is a checksum and a JSON object:
the header first, then the visits. A truncated or damaged line does not match its checksum and is ignored; the lines
before and after it remain valid.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import pytest

from accelbench.errors import BadInput
from accelbench.files import sync_folder
from accelbench.locations import JOURNAL
from accelbench.pytest_plugin.collection import TrialSpec
from accelbench.pytest_plugin.options import RunConfig, this_machine
from accelbench.schema.environment_difference import differing_facts
from accelbench.schema.machine_id import machine_key
from accelbench.schema.result import SCHEMA_VERSION
from accelbench.schema.result_json import to_json
from accelbench.schema.safe_json import BeyondLimit, parse, read_bytes
from accelbench.text import list_some
from accelbench.user_code import PACKAGE, is_installed

if TYPE_CHECKING:
    from accelbench.pytest_plugin.passes import JournaledVisit

# How many sessions may lose a trial with its worker. Without a limit, parts that begin with the same two hangs would
# never get any further.
MAX_RETRIES = 2
ENVIRONMENTS = {".tox", ".nox"}  # folders of code that is not the project's
MAX_DIFFERENCES = 3  # named in a refusal; the others are counted

Fact = TypeVar("Fact")


@dataclass(frozen=True, kw_only=True)
class JournalHeader:
    """What identifies a run. A run is continued only if everything but ``started`` is the same.

    ``selection`` has the levels of each trial's arms. ``code`` has a digest of accelbench, of each test's file, and of
    each other file of the project that is imported once the tests are collected.
    """

    schema_version: int
    name: str
    started: str
    machine: str
    settings: dict[str, str | int | float | bool | None]
    configuration: dict[str, str]
    selection: dict[str, list[dict[str, str]]]
    code: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PartFile:
    """A result file beside the journal that holds a part of the run, and a digest of its content."""

    file: str
    digest: str

    def in_folder(self, folder: Path) -> Path | None:
        """Return the file's path, None if the file is gone or was changed."""
        path = folder / Path(self.file).name
        try:
            same = path.suffix == ".json" and _digest(read_bytes(path)) == self.digest
        except (OSError, BeyondLimit):
            return None
        return path if same else None


class Journal:
    """The journal of a new run, or of an unfinished run that is continued.

    The file is created with the first visit. ``visits`` holds the visits of the unfinished run by trial, without those
    that must be made again. ``parts`` are the files into which that run was saved. ``failure`` says why visits are not
    on disk; they are written as soon as there is room.
    """

    def __init__(
        self,
        path: Path,
        header: JournalHeader,
        visits: dict[str, list[JournaledVisit]] | None = None,
        parts: Iterable[PartFile] = (),
    ) -> None:
        self.path = path
        self.header = header
        self.visits = visits or {}
        self.parts = tuple(parts)
        self.failure = ""
        self._pending = b""
        self._has_header = path.exists()

    @property
    def configuration(self) -> dict[str, str]:
        """What frameworks reported about themselves in the unfinished run."""
        visits = (visit for visits in self.visits.values() for visit in visits)
        return {name: text for visit in visits for name, text in visit.configuration.items()}

    def append(self, visit: JournaledVisit) -> None:
        """Write a visit to disk; if that fails, keep it for the next time."""
        self._write(to_json(visit))

    def note_parts(self, saved: Iterable[Path]) -> None:
        """Record the files into which the unfinished run was saved."""
        for path in saved:
            self._write(PartFile(file=path.name, digest=_digest(path.read_bytes())))

    def remove_parts(self) -> None:
        """Remove the files into which the unfinished run was saved, except those that were changed since."""
        for part in self.parts:
            with suppress(OSError):  # it then stays beside the whole one
                if path := part.in_folder(self.path.parent):
                    path.unlink()

    def _write(self, fact: Any) -> None:
        self._pending += _line(fact)
        header = b"" if self._has_header and self.path.exists() else _line(self.header)
        try:
            with self.path.open("ab") as file:
                # A line that a full disk or a power cut truncated becomes a line of its own, which readers ignore.
                file.write(b"\n" + header + self._pending)
                file.flush()
                os.fsync(file.fileno())
            if header:
                sync_folder(self.path.parent)
        except OSError as error:
            self.failure = error.strerror or str(error)
        else:
            self._pending, self._has_header, self.failure = b"", True, ""

    def remove(self) -> None:
        """Remove the journal of a run whose file is safely on disk."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def read_journal(path: Path) -> Journal | None:
    """Return the journal in a file, None if not even its header can be read."""
    try:
        lines = read_bytes(path).split(b"\n")
    except (OSError, BeyondLimit):
        return None
    bodies = list(_valid_bodies(lines))
    header = next(_facts(bodies[:1], JournalHeader), None)
    if header is None:
        return None
    from accelbench.pytest_plugin.passes import JournaledVisit  # here, since most pytest sessions measure nothing

    visits = _without_lost(list(_facts(bodies[1:], JournaledVisit)))
    return Journal(path, header, visits, _facts(bodies[1:], PartFile))


def unfinished_runs(folder: Path) -> list[Journal]:
    """Return the journals in a folder, newest first."""
    journals = [journal for path in folder.glob(f"*{JOURNAL}") if (journal := read_journal(path)) is not None]
    return sorted(journals, key=lambda journal: journal.header.started, reverse=True)


def journal_header(
    name: str, config: RunConfig, trials: Iterable[TrialSpec], items: Iterable[pytest.Item]
) -> JournalHeader:
    """Return the header of this session's run."""
    from accelbench.schema import environment

    return JournalHeader(
        schema_version=SCHEMA_VERSION,
        name=name,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine_key(this_machine()),
        settings=config.settings,
        configuration=environment.configuration(),
        selection={trial.id: list(trial.arms) for trial in trials},
        code=_code(items),
    )


def find_resumable(journals: Iterable[Journal], now: JournalHeader, folder: Path) -> Journal:
    """Return the newest journal of this name, to be continued.

    Raises:
        BadInput: there is none, or it was made under other conditions, which the message names.
    """
    named = [journal for journal in journals if journal.header.name == now.name]
    own = [journal for journal in named if journal.header.machine == now.machine] or named
    if not own:
        raise BadInput(
            f"--accel-resume: no unfinished run {now.name!r} is in {folder}; leave out --accel-resume to start one"
        )
    require_same(own[0], list(differences(own[0].header, now)))
    return own[0]


def find_same(journals: Iterable[Journal], now: JournalHeader) -> Journal | None:
    """Return the newest journal of this very run, None if there is none."""
    return next(
        (each for each in journals if each.header.name == now.name and not any(differences(each.header, now))), None
    )


def require_same(journal: Journal, differing: Sequence[str]) -> None:
    """Refuse to continue a run under other conditions.

    Raises:
        BadInput: there are differences.
    """
    if differing:
        raise BadInput(
            f"--accel-resume: {journal.path} cannot be continued: {list_some(differing, MAX_DIFFERENCES)}; "
            "restore what changed, or leave out --accel-resume to start over"
        )


def differences(then: JournalHeader, now: JournalHeader) -> Iterator[str]:
    """Yield what differs between the run of a journal and this session's."""
    if then.schema_version != now.schema_version:
        yield f"schema version was {then.schema_version}, is {now.schema_version}"
    if then.machine != now.machine:
        yield f"machine was {then.machine}, is {now.machine}"
    yield from describe_changes(then.settings, now.settings)
    yield from describe_changes(then.configuration, now.configuration)
    yield from (f"{name} was edited" for name in sorted(dict(then.code.items() ^ now.code.items())))
    missing, added = then.selection.keys() - now.selection.keys(), now.selection.keys() - then.selection.keys()
    yield from (f"{trial} is not selected" for trial in sorted(missing))
    yield from (f"{trial} was not selected" for trial in sorted(added))
    both = sorted(then.selection.keys() & now.selection.keys())
    yield from (f"{trial} has other arms" for trial in both if then.selection[trial] != now.selection[trial])


def describe_changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield each fact that changed, with its old and new value."""
    for name, values in sorted(differing_facts([then, now], missing=True).items()):
        before, after = ("not set" if value is None else value for value in values)
        yield f"{name} was {before}, is {after}"


def _without_lost(visits: Sequence[JournaledVisit]) -> dict[str, list[JournaledVisit]]:
    """Return the visits by trial, without the lost ones, which are made again, but only so often."""
    losses = Counter(visit.trial for visit in visits if visit.is_lost)
    kept: dict[str, list[JournaledVisit]] = {}
    for visit in visits:
        if not visit.is_lost or losses[visit.trial] >= MAX_RETRIES:
            kept.setdefault(visit.trial, []).append(visit)
    return kept


def _line(fact: Any) -> bytes:
    body = msgspec.json.encode(fact)
    return _digest(body).encode() + b" " + body + b"\n"


def _valid_bodies(lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        checksum, _, body = line.partition(b" ")
        if checksum and checksum == _digest(body).encode():
            yield body


def _facts(bodies: list[bytes], kind: type[Fact]) -> Iterator[Fact]:
    for body in bodies:
        with suppress(msgspec.MsgspecError, ValueError, BeyondLimit):  # of another schema, or beyond a limit
            yield msgspec.convert(parse(body), kind)


def _code(items: Iterable[pytest.Item]) -> dict[str, str]:
    listed = list(items)
    files = {name: [path] for root in {item.config.rootpath for item in listed} for name, path in _imported(root)}
    files |= {item.nodeid.partition("::")[0]: [item.path] for item in listed}
    files["accelbench"] = sorted(PACKAGE.rglob("*.py"))
    return {name: _digest(b"".join(path.read_bytes() for path in paths)) for name, paths in files.items()}


def _imported(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the project's own files that are imported, by their names below its root: nothing that was installed."""
    root = root.resolve()
    environments = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)]
    apart = [PACKAGE, *(each for each in environments if each.is_relative_to(root))]
    for module in list(sys.modules.values()):
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        path = Path(file).resolve() if isinstance(file, str) else root
        if path.is_relative_to(root) and path.is_file() and not any(map(path.is_relative_to, apart)):
            inner = path.relative_to(root)
            if not is_installed(inner) and ENVIRONMENTS.isdisjoint(inner.parts):
                yield inner.as_posix(), path


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
