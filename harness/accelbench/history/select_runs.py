"""Which runs of a history a person means: files, numbers, names, ``latest``, ``machine:NAME``, patterns."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from accelbench.errors import BadInput
from accelbench.history.index import load_history
from accelbench.history.observations import History, describe_runs, observe
from accelbench.locations import is_present, local_path, number_of
from accelbench.results.load import Result
from accelbench.schema.safe_json import printable
from accelbench.text import list_some
from accelbench.units import plural

WAYS = "a file, a number, a name, a pattern, latest, latest~2 or machine:NAME"
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")
_NUMBER = re.compile(r"\d{1,9}")
_MACHINE = "machine:"
_MAX_NAMED = 6  # runs or machines that an error message lists


def load_known_runs(location: Path | str, *, required: bool) -> History:
    """Return the history at a location, or an empty one where there is none and it is not ``required``.

    Raises:
        BadInput: the location cannot be read, or holds no result.
    """
    try:
        return load_history(location)
    except BadInput:
        if required:
            raise
        return empty_history()


def empty_history() -> History:
    """Return a history without runs."""
    return History(runs=describe_runs([]), observations=observe([]))


def select_runs(text: str, known: History, joined: History | None = None) -> tuple[History, list[str]]:
    """Return the runs that a text means, in the order in which they were made, and a history that contains them.

    Files that are not among the ``known`` runs join these, or the history ``joined`` that files have joined before.
    Everything but a file names known runs alone. The text is a list separated by commas. Each part is the first of
    these that fits:

    - ``latest``, or ``latest~2`` for the one two before it
    - ``machine:NAME``: all runs of a machine, by its name or a part that no other machine's name has
    - a number, such as ``7`` or ``0007``, that one run has
    - a name, such as ``quick`` (the newest of that name), ``0007_quick`` or ``MACHINE/0007_quick``
    - a result file, or a folder or a URL of them, which need not be in the history
    - a pattern, such as ``quick*``, of names; or else of files

    Raises:
        BadInput: a part means no run, or it is not clear which.
        UnreadableResult: a file cannot be read.
    """
    history, chosen = joined or known, []
    for part in filter(None, (part.strip() for part in text.split(","))):
        runs = _select_known(part, known)
        if not runs:
            history, runs = _select_files(part, known, history)
        chosen += runs
    if not chosen:
        raise BadInput(f"{printable(text)!r} names no run; give {WAYS}")
    return history, [run for run in history.runs["run"] if run in set(chosen)]


def _select_known(part: str, known: History) -> list[str]:
    """Return the known runs that a part names; none where it may be a file."""
    runs = known.runs
    if runs.empty:
        return []
    if latest := _LATEST.fullmatch(part):
        return [_select_latest(part, int(latest[1] or 0), runs)]
    if part.startswith(_MACHINE):
        return _select_machine(part.removeprefix(_MACHINE), runs)
    if _NUMBER.fullmatch(part):
        return [_select_number(part, known)]
    found = _select_name(part, runs)
    if not found:
        _refuse_unreadable(part, known)
    return found


def _select_latest(part: str, before: int, runs: pd.DataFrame) -> str:
    if before >= len(runs):
        raise BadInput(f"{part}: {_count(runs)}; the first is latest~{len(runs) - 1}")
    return str(runs["run"].iloc[-1 - before])


def _select_machine(name: str, runs: pd.DataFrame) -> list[str]:
    machines = list(dict.fromkeys(runs["machine"]))
    fitting = [name] if name in machines else [machine for machine in machines if name in machine]
    if len(fitting) != 1:
        problem = f"is part of {len(fitting)} names" if fitting and name else "no machine here has this name"
        known = fitting if name and fitting else machines
        are = "is" if len(known) == 1 else "are"
        raise BadInput(f"{_MACHINE}{printable(name)}: {problem}; there {are} {_list_names(known)}")
    return runs.loc[runs["machine"] == fitting[0], "run"].tolist()


def _select_number(part: str, history: History) -> str:
    runs = history.runs
    found = runs.loc[runs["number"] == int(part), "run"].tolist()
    if not found:
        _refuse_unreadable(part, history)
        numbers = runs.loc[runs["number"] > 0, "number"]
        raise BadInput(f"{part}: no run has this number; {_describe_numbers(numbers)}")
    if len(found) > 1:
        raise BadInput(f"{part}: {len(found)} runs have this number; give one of {_list_names(found)}")
    return str(found[0])


def _refuse_unreadable(part: str, history: History) -> None:
    """Raise why the run of a number or a name cannot be read, if its file is there."""
    number = int(part) if _NUMBER.fullmatch(part) else 0
    for address, error in history.unreadable.items():
        if f"/{address}".endswith(f"/{part}.json") or number_of(address) == number > 0:
            raise BadInput(f"{printable(part)}: its file cannot be used: {error}")


def _describe_numbers(numbers: pd.Series) -> str:
    if numbers.empty:
        return "no run has a number"
    first, last = numbers.min(), numbers.max()
    return f"the only number here is {first}" if first == last else f"the numbers here go from {first} to {last}"


def _select_name(part: str, runs: pd.DataFrame) -> list[str]:
    """Return the newest run of a name, or every run whose name fits a pattern."""
    last = runs["run"].str.rpartition("/")[2]
    names = (runs["run"], last, runs["name"])
    for each in names:
        found = runs.loc[each == part, "run"].tolist()
        if found:
            return found[-1:]
    if not _is_pattern(part) or is_present(part):
        return []
    fits = [any(fnmatchcase(name, part) for name in each) for each in zip(*names, strict=True)]
    return list(runs.loc[fits, "run"])


def _select_files(part: str, known: History, history: History) -> tuple[History, list[str]]:
    matches = [part]
    if _is_pattern(part) and not is_present(part):
        matches = sorted(glob.glob(part, recursive=True))  # noqa: PTH207  Path.glob takes no absolute pattern
    if not matches or not all(map(is_present, matches)):
        raise BadInput(f"{printable(part)}: no such run or file; {_describe_known(known.runs)}; give {WAYS}")
    chosen: list[str] = []
    for path in matches:
        history, runs = _add_file(path, history)
        chosen += runs
    return history, chosen


def _add_file(path: str, history: History) -> tuple[History, list[str]]:
    """Return the runs in a file, in a folder or at a URL, and the history with unknown ones after the last known."""
    known = _runs_by_path(history).get(_absolute(path))
    return (history, [known]) if known else _add_runs(history, load_history(path))


def add_results(history: History, results: Iterable[Result]) -> tuple[History, list[str]]:
    """Return a history that contains these results, unknown ones after the last known, and their names in it."""
    chosen: list[str] = []
    for result in results:
        found = History(runs=describe_runs([result]), observations=observe([result]))
        history, names = _add_runs(history, found)
        chosen += names
    return history, chosen


def _add_runs(history: History, found: History) -> tuple[History, list[str]]:
    here = _runs_by_path(history)
    names = {}
    for run, file in zip(found.runs["run"], found.runs["path"], strict=True):
        names[run] = here.get(_absolute(file)) or (file if run in here.values() else run)
    new = [run for run, name in names.items() if name not in here.values()]
    return _join(history, found, {run: names[run] for run in new}), list(names.values())


def _runs_by_path(history: History) -> dict[str, str]:
    runs = history.runs
    return dict(zip(map(_absolute, runs["path"]), runs["run"], strict=True)) if len(runs) else {}


def _join(history: History, found: History, names: dict[str, str]) -> History:
    """Return a history with more runs, under these names."""
    frames = []
    for before, more in (
        (history.runs, found.runs),
        (history.observations, found.observations),
        (history.unmeasured, found.unmeasured),
    ):
        chosen = more[more["run"].isin(list(names))]
        renamed = chosen.assign(run=chosen["run"].astype(str).replace(names))
        frames.append(pd.concat([before, renamed], ignore_index=True) if len(before) else renamed)
    return History(
        runs=frames[0],
        observations=frames[1],
        unmeasured=frames[2],
        remarks=tuple(dict.fromkeys((*history.remarks, *found.remarks))),
        unreadable={**history.unreadable, **found.unreadable},
    )


def _describe_known(runs: pd.DataFrame) -> str:
    if runs.empty:
        return "there are no runs"
    names = list(dict.fromkeys(runs["name"]))
    return f"{_count(runs)}, named {_list_names(names)}"


def _count(runs: pd.DataFrame) -> str:
    return f"there {'is' if len(runs) == 1 else 'are'} {plural(len(runs), 'run')}"


def _list_names(names: Iterable[str]) -> str:
    return list_some((printable(str(name)) for name in names), _MAX_NAMED)


def _is_pattern(part: str) -> bool:
    return any(sign in part for sign in "*?[")


def _absolute(path: str) -> str:
    here = local_path(path)
    return path if here is None else str(here.absolute())
