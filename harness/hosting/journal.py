"""The journal of a run: every finished trial is on disk before the next one starts.

Each line holds a checksum and a fact as JSON: first what the run is, then one trial after the other. A line that was
cut off or damaged does not agree with its checksum and is passed over; those before and after it hold.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness.durable import sync_folder
from harness.record import TrialRecord
from harness.stored import to_json

SUFFIX = ".journal"  # pytest-benchmark reads every *.json beside it
# So many sessions may lose a trial with its worker. Were there no end, parts that begin with the same two hangs would
# never get further.
MOST_LOSSES = 2

Fact = TypeVar("Fact")


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What a run is. It is continued only where all but ``started`` is the same again.

    ``selection`` holds the levels of each trial's arms, ``code`` a digest of each test's file and of accelbench.
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
class Finished:
    """A finished trial, and what the frameworks used so far say of themselves.

    ``samples`` stand beside the record's arms: seconds per iteration as float64, as they lie in memory.
    """

    record: TrialRecord
    samples: list[bytes]
    configuration: dict[str, str]

    @classmethod
    def of(cls, record: TrialRecord, samples_s: Sequence[Sequence[float]], configuration: dict[str, str]) -> Finished:
        """Return a trial with its samples, as it is kept."""
        samples = [array("d", each).tobytes() for each in samples_s]
        return cls(record=record, samples=samples, configuration=configuration)

    @property
    def samples_s(self) -> list[tuple[float, ...]]:
        """Seconds per iteration of each arm's blocks."""
        return [tuple(array("d", each)) for each in self.samples]

    @property
    def facts(self) -> dict[str, Any]:
        """The fields as JSON can hold them, the record as a result file does."""
        return {"record": to_json(self.record), "samples": self.samples, "configuration": self.configuration}

    @property
    def lost(self) -> bool:
        """Whether an arm was lost with its worker, perhaps for the reason that ended the run too."""
        return any(arm.outcome in ("crashed", "hung") for arm in self.record.arms)


@dataclass(frozen=True, kw_only=True)
class PartFile:
    """A file beside the journal into which an unfinished run was saved, and a digest of what was in it."""

    file: str
    digest: str

    def in_folder(self, folder: Path) -> Path | None:
        """Return the file, None where it is gone or another one."""
        path = folder / Path(self.file).name
        same = path.suffix == ".json" and path.is_file() and _digest(path.read_bytes()) == self.digest
        return path if same else None


class Journal:
    """A run's journal, begun with its first finished trial, or that of an unfinished run, to be continued.

    ``finished`` are the trials that the unfinished run leaves to this one, by id, without those that are to be measured
    again. ``parts`` are the files into which it was saved. ``failure`` says why trials are not on disk; they are
    written when there is room again.
    """

    def __init__(
        self, path: Path, heading: Heading, finished: dict[str, Finished] | None = None, parts: Iterable[PartFile] = ()
    ) -> None:
        self.path = path
        self.heading = heading
        self.finished = finished or {}
        self.parts = tuple(parts)
        self.failure = ""
        self._pending = b""
        self._headed = path.exists()

    @property
    def configuration(self) -> dict[str, str]:
        """What frameworks said of themselves in the unfinished run."""
        return {name: text for trial in self.finished.values() for name, text in trial.configuration.items()}

    def append(self, trial: Finished) -> None:
        """Bring a finished trial to disk; where that fails, keep it for the next time."""
        self._write(trial.facts)

    def note(self, saved: Iterable[Path]) -> None:
        """Remember the files into which the unfinished run was saved."""
        for path in saved:
            self._write(PartFile(file=path.name, digest=_digest(path.read_bytes())))

    def remove_parts(self) -> None:
        """Remove the files into which the unfinished run was saved, but none that was changed since."""
        for part in self.parts:
            with suppress(OSError):  # it then stays beside the whole one
                if path := part.in_folder(self.path.parent):
                    path.unlink()

    def _write(self, fact: Any) -> None:
        self._pending += _line(fact)
        heading = b"" if self._headed and self.path.exists() else _line(self.heading)
        try:
            with self.path.open("ab") as file:
                # What a full disk or a power cut left of a line becomes a line of its own, which is passed over.
                file.write(b"\n" + heading + self._pending)
                file.flush()
                os.fsync(file.fileno())
            if heading:
                sync_folder(self.path.parent)
        except OSError as error:
            self.failure = error.strerror or str(error)
        else:
            self._pending, self._headed, self.failure = b"", True, ""

    def remove(self) -> None:
        """Remove the journal of a run whose file is safely on disk."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def read_journal(path: Path) -> Journal | None:
    """Return the journal in a file, None where not even its heading can be read."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return None
    bodies = list(_sound(lines))
    heading = next(_facts(bodies[:1], Heading), None)
    if heading is None:
        return None
    return Journal(path, heading, _kept(list(_facts(bodies[1:], Finished))), _facts(bodies[1:], PartFile))


def _kept(told: Sequence[Finished]) -> dict[str, Finished]:
    """Return each trial as it was measured last, without those that are to be measured again."""
    losses = Counter(trial.record.id for trial in told if trial.lost)
    latest = {trial.record.id: trial for trial in told}
    return {name: trial for name, trial in latest.items() if not trial.lost or losses[name] >= MOST_LOSSES}


def _line(fact: Any) -> bytes:
    body = msgspec.json.encode(fact)
    return _digest(body).encode() + b" " + body + b"\n"


def _sound(lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        checksum, _, body = line.partition(b" ")
        if checksum and checksum == _digest(body).encode():
            yield body


def _facts(bodies: list[bytes], kind: type[Fact]) -> Iterator[Fact]:
    for body in bodies:
        with suppress(msgspec.DecodeError):  # of another schema
            yield msgspec.json.decode(body, type=kind)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
