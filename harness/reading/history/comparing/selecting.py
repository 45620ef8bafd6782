"""Which runs of a history a person means: files, numbers, names, ``latest``, ``machine:NAME``, patterns."""

from __future__ import annotations

import glob
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from harness.errors import BadInput
from harness.reading.history.observations import History, describe, observe
from harness.reading.history.storage.index import history
from harness.reading.history.storage.locations import local_path
from harness.units import plural
from harness.untrusted import shown

WAYS = "a file, a number, a name, a pattern, latest, latest~2 or machine:NAME"
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")
_NUMBER = re.compile(r"\d{1,9}")
_MACHINE = "machine:"
_NAMED = 6  # of what there is, in a message of one line


def known_runs(location: Path | str, *, needed: bool) -> History:
    """Return the history at a location, or one without runs where there is no such folder and it is not needed.

    Raises:
        BadInput: it cannot be read, or holds no result.
    """
    if needed or Path(location).exists():
        return history(location)
    return History(runs=describe([]), observations=observe([]))


def select(text: str, known: History) -> tuple[History, list[str]]:
    """Return the runs that a text means, in the order in which they were made, and a history that holds them.

    The text is a list with commas between. Each part is the first of these that fits:

    - ``latest``, or ``latest~2`` for the one two before it
    - ``machine:NAME``: all runs of a machine, by its name or a part that no other machine's name has
    - a number, such as ``7`` or ``0007``, that one machine has
    - a name, such as ``quick`` (the newest of that name), ``0007_quick`` or ``MACHINE/0007_quick``
    - a result file, or a folder or a URL of them, which need not be in the history
    - a pattern, such as ``quick*``, of names; or else of files

    Raises:
        BadInput: a part means no run, or it is not clear which.
        UnreadableResult: a file cannot be read.
    """
    chosen: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        known, runs = _part(part, known)
        chosen += runs
    if not chosen:
        raise BadInput(f"{shown(text)!r} names no run; give {WAYS}")
    return known, [run for run in known.runs["run"] if run in set(chosen)]


def _part(part: str, known: History) -> tuple[History, list[str]]:
    runs = known.runs
    if len(runs):
        if latest := _LATEST.fullmatch(part):
            return known, [_latest(part, int(latest[1] or 0), runs)]
        if part.startswith(_MACHINE):
            return known, _of_machine(part.removeprefix(_MACHINE), runs)
        if _NUMBER.fullmatch(part):
            return known, [_numbered(part, runs)]
        if found := _named(part, runs):
            return known, found
    return _from_files(part, known)


def _latest(part: str, before: int, runs: pd.DataFrame) -> str:
    if before >= len(runs):
        raise BadInput(f"{part}: there are {plural(len(runs), 'run')}; the first is latest~{len(runs) - 1}")
    return str(runs["run"].iloc[-1 - before])


def _of_machine(name: str, runs: pd.DataFrame) -> list[str]:
    machines = list(dict.fromkeys(runs["machine"]))
    fitting = [name] if name in machines else [machine for machine in machines if name in machine]
    if len(fitting) != 1:
        said = f"is part of {len(fitting)} names" if fitting and name else "is no machine here"
        raise BadInput(f"{_MACHINE}{shown(name)}: {said}; there are {_some(fitting if name and fitting else machines)}")
    return runs.loc[runs["machine"] == fitting[0], "run"].tolist()


def _numbered(part: str, runs: pd.DataFrame) -> str:
    found = runs.loc[runs["number"] == int(part), "run"].tolist()
    if not found:
        numbers = runs.loc[runs["number"] > 0, "number"]
        there = (
            f"the numbers here go from {numbers.min()} to {numbers.max()}" if len(numbers) else "no run has a number"
        )
        raise BadInput(f"{part}: no run has this number; {there}")
    if len(found) > 1:
        raise BadInput(f"{part}: {len(found)} runs have this number; give one of {_some(found)}")
    return str(found[0])


def _named(part: str, runs: pd.DataFrame) -> list[str]:
    """Return the newest run of a name, or every run whose name fits a pattern."""
    last = runs["run"].str.rpartition("/")[2]
    names = (runs["run"], last, runs["name"])
    for each in names:
        found = runs.loc[each == part, "run"].tolist()
        if found:
            return found[-1:]
    if not _is_pattern(part) or _exists(part):
        return []
    fits = [any(fnmatchcase(name, part) for name in each) for each in zip(*names, strict=True)]
    return list(runs.loc[fits, "run"])


def _from_files(part: str, known: History) -> tuple[History, list[str]]:
    matches = [part]
    if _is_pattern(part) and not _exists(part):
        matches = sorted(glob.glob(part, recursive=True))  # noqa: PTH207  Path.glob takes no absolute pattern
    if not matches or not all(map(_exists, matches)):
        raise BadInput(f"{shown(part)}: no such run or file; {_there_is(known.runs)}; give {WAYS}")
    chosen: list[str] = []
    for path in matches:
        known, runs = _opened(path, known)
        chosen += runs
    return known, chosen


def _opened(path: str, known: History) -> tuple[History, list[str]]:
    """Return the runs in a file, in a folder or at a URL; those that are not known come after the last known one."""
    here = dict(zip(map(_whole, known.runs["path"]), known.runs["run"], strict=True)) if len(known.runs) else {}
    if _whole(path) in here:
        return known, [here[_whole(path)]]
    found = history(path)
    names = {}
    for run, file in zip(found.runs["run"], found.runs["path"], strict=True):
        names[run] = here.get(_whole(file)) or (file if run in here.values() else run)
    new = [run for run, name in names.items() if name not in here.values()]
    return _joined(known, found, {run: names[run] for run in new}), list(names.values())


def _joined(known: History, found: History, names: dict[str, str]) -> History:
    """Return a history with more runs, under these names."""
    frames = []
    for before, more in ((known.runs, found.runs), (known.observations, found.observations)):
        chosen = more[more["run"].isin(list(names))]
        renamed = chosen.assign(run=chosen["run"].astype(str).replace(names))
        frames.append(pd.concat([before, renamed], ignore_index=True) if len(before) else renamed)
    said = {str(error): error for error in (*known.unreadable, *found.unreadable)}
    return History(
        runs=frames[0],
        observations=frames[1],
        remarks=tuple(dict.fromkeys((*known.remarks, *found.remarks))),
        formats=tuple(dict.fromkeys((*known.formats, *found.formats))),
        unreadable=tuple(said.values()),
    )


def _there_is(runs: pd.DataFrame) -> str:
    if runs.empty:
        return "there are no runs"
    names = list(dict.fromkeys(runs["name"]))
    return f"there {'is' if len(runs) == 1 else 'are'} {plural(len(runs), 'run')}, named {_some(names)}"


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    said = ", ".join(shown(str(name)) for name in names[:_NAMED])
    return f"{said} and {more} more" if more > 0 else said


def _is_pattern(part: str) -> bool:
    return any(sign in part for sign in "*?[")


def _exists(path: str) -> bool:
    here = local_path(path)
    try:
        return here is None or here.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _whole(path: str) -> str:
    here = local_path(path)
    return path if here is None else str(here.absolute())
