"""Unfinished runs: which there are, and whether this session may continue one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.errors import BadInput
from harness.hosting.collecting import Collected
from harness.hosting.conditions import Conditions
from harness.hosting.journal import SUFFIX, Heading, Journal, read_journal
from harness.hosting.machine import this_machine
from harness.identity import machine_key
from harness.record import SCHEMA_VERSION

PACKAGE = Path(__file__).parent.parent
NAMED = 3  # so many differences are named in a refusal, and the others counted


def heading(name: str, conditions: Conditions, trials: Iterable[Collected], items: Iterable[pytest.Item]) -> Heading:
    """Return what this session's run is."""
    from harness import environment

    return Heading(
        schema_version=SCHEMA_VERSION,
        name=name,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine_key(this_machine()),
        settings=conditions.settings,
        configuration=environment.configuration(),
        selection={trial.id: list(trial.arms) for trial in trials},
        code=_code(items),
    )


def unfinished(folder: Path) -> list[Journal]:
    """Return the journals in a folder, newest first."""
    journals = [journal for path in folder.glob(f"*{SUFFIX}") if (journal := read_journal(path)) is not None]
    return sorted(journals, key=lambda journal: journal.heading.started, reverse=True)


def resumed(journals: Iterable[Journal], now: Heading, folder: Path) -> Journal:
    """Return the newest journal of this name, to be continued.

    Raises:
        BadInput: there is none, or it is of other conditions; the message says which.
    """
    named = [journal for journal in journals if journal.heading.name == now.name]
    own = [journal for journal in named if journal.heading.machine == now.machine] or named
    if not own:
        raise BadInput(f"--resume: no unfinished run {now.name!r} lies in {folder}; leave --resume out to begin one")
    require_same(own[0], list(differences(own[0].heading, now)))
    return own[0]


def continued(journals: Iterable[Journal], now: Heading) -> Journal | None:
    """Return the newest journal of this very run, None where there is none."""
    return next(
        (each for each in journals if each.heading.name == now.name and not any(differences(each.heading, now))), None
    )


def require_same(journal: Journal, differing: list[str]) -> None:
    """Refuse to continue a run under other conditions.

    Raises:
        BadInput: there are differences.
    """
    if differing:
        more = f" and {len(differing) - NAMED} more" if len(differing) > NAMED else ""
        raise BadInput(
            f"--resume: {journal.path} cannot be continued: {', '.join(differing[:NAMED])}{more}; "
            "go back to what it was, or leave --resume out to begin anew"
        )


def differences(then: Heading, now: Heading) -> Iterator[str]:
    """Yield in what this session's run is another one than that of a journal."""
    if then.schema_version != now.schema_version:
        yield f"schema version was {then.schema_version}, is {now.schema_version}"
    if then.machine != now.machine:
        yield f"machine was {then.machine}, is {now.machine}"
    yield from changed(then.settings, now.settings)
    yield from changed(then.configuration, now.configuration)
    yield from (f"{name} was edited" for name in sorted(dict(then.code.items() ^ now.code.items())))
    missing, added = then.selection.keys() - now.selection.keys(), now.selection.keys() - then.selection.keys()
    yield from (f"{trial} is not selected" for trial in sorted(missing))
    yield from (f"{trial} was not selected" for trial in sorted(added))
    both = sorted(then.selection.keys() & now.selection.keys())
    yield from (f"{trial} has other arms" for trial in both if then.selection[trial] != now.selection[trial])


def changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield which facts were others, and what they are."""
    for name in sorted(then.keys() | now.keys()):
        before, after = then.get(name, "not set"), now.get(name, "not set")
        if before != after:
            yield f"{name} was {before}, is {after}"


def _code(items: Iterable[pytest.Item]) -> dict[str, str]:
    tests = {item.nodeid.partition("::")[0]: [item.path] for item in items}
    return {name: _digest(paths) for name, paths in {**tests, "accelbench": sorted(PACKAGE.rglob("*.py"))}.items()}


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
