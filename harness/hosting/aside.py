"""pytest-benchmark writes a run's files aside; they get their names when they are whole and on disk."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.durable import write_whole

_NUMBERED = re.compile(r"(?P<number>\d{4,15})_.+")
DRAFTS = ".accelbench-drafts"  # readers pass hidden folders over


def storage_folder(host: Any) -> Path | None:
    """Return the folder in which pytest-benchmark's session saves its run, None where it saves none in a folder."""
    if not (host.save or host.autosave) or not isinstance(getattr(host.storage, "path", None), Path):
        return None
    return Path(host.storage.get(""))


@contextmanager
def written_aside(host: Any) -> Iterator[list[Path]]:
    """Have pytest-benchmark write its files into folders of drafts; the value is filled with where they lie at the end.

    Raises:
        OSError: a file cannot be brought to its place.
    """
    placed: list[Path] = []
    with ExitStack() as stack:
        held = stack.enter_context(pytest.MonkeyPatch.context())
        held.setattr(host.logger, "level", host.logger.QUIET)  # it would name the drafts
        folders = []
        if (folder := storage_folder(host)) is not None:
            # Files in both folders count when it chooses the next number.
            held.setattr(host.storage, "path", folder)
            held.setattr(host.storage, "default_machine_id", DRAFTS)
            folders.append(folder)
        if host.json:
            folders.append(host.json.absolute().parent)
            held.setattr(host, "json", folders[-1] / DRAFTS / host.json.name)
        for folder in folders:
            stack.callback(shutil.rmtree, folder / DRAFTS, ignore_errors=True)
            _begin(folder / DRAFTS)
        yield placed
        for folder in dict.fromkeys(folders):
            for draft in sorted((folder / DRAFTS).glob("*")):
                named = host.json is not None and draft.name == host.json.name
                place = folder / (draft.name if named else _next_name(folder, draft.name))
                write_whole(place, _compact(draft.read_bytes()))
                placed.append(place)


def _next_name(folder: Path, name: str) -> str:
    """Return a run's name with the next number, which pytest-benchmark takes for 10000 for ever after 9999."""
    numbers = [int(match["number"]) for file in folder.glob("*.json") if (match := _NUMBERED.fullmatch(file.name))]
    match = _NUMBERED.fullmatch(name)
    if match is None or int(match["number"]) > max(numbers, default=0):
        return name
    return f"{max(numbers) + 1:04}{name[match.end('number') :]}"


def _compact(draft: bytes) -> bytes:
    """Return a document without indentation, and with null for the NaN that a test may have left in its own facts."""
    document = json.loads(draft, parse_constant=lambda _: None)
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def _begin(drafts: Path) -> None:
    shutil.rmtree(drafts, ignore_errors=True)  # of a session that was killed while it saved
    with suppress(OSError):  # writing there fails in a moment, when there is a document to rescue
        drafts.mkdir(parents=True)
