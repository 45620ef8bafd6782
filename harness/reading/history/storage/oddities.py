"""What is odd about a history, each oddity one sentence with counts and names, none about a single case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import pandas as pd

from harness.reading.history.storage.order import Arranged
from harness.reading.history.storage.renaming import CASE, successors
from harness.record import SCHEMA_VERSION
from harness.units import count, plural
from harness.untrusted import shown

_NAMED = 3  # of many


def remarks(
    order: Arranged, observations: pd.DataFrame, problems: Sequence[str], address: Callable[[str], str]
) -> tuple[str, ...]:
    """Return what is odd, in sentences; ``address`` says where a file or folder of the storage lies."""
    runs = order.runs
    placed = _placed(runs, observations)
    told = (
        *_unreadable(problems),
        *_repeats(order.repeats, address),
        *_gaps(order.numbers, address),
        *_folders(runs, address),
        *_clocks(runs),
        *_techniques(placed),
        *_renamed(placed),
    )
    return tuple(map(shown, told))


def formats(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return which of these runs are in files of older schema versions, or in files of pytest-benchmark alone."""
    foreign = runs[runs["foreign"]]
    older = runs[~runs["foreign"] & (runs["schema"] < SCHEMA_VERSION)]
    versions = ", ".join(map(str, sorted(older["schema"].unique())))
    told = (
        (foreign, "of pytest-benchmark alone, times without effects"),
        (older, f"written in older schema versions ({versions}; now {SCHEMA_VERSION})"),
    )
    return tuple(shown(f"{plural(len(found), 'run')} {how}: {some(found['run'])}") for found, how in told if len(found))


def some(names: Iterable[str]) -> str:
    """Return the first few names of many, and how many more there are."""
    listed = list(names)
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {count(more)} more" if more > 0 else "")


def _unreadable(problems: Sequence[str]) -> Iterator[str]:
    if len(problems) == 1:
        yield problems[0]
    elif problems:
        yield f"{plural(len(problems), 'file')} cannot be read, such as {problems[0]}"


def _repeats(repeats: pd.DataFrame, address: Callable[[str], str]) -> Iterator[str]:
    if len(repeats):
        pairs = [f"{address(file)} as {address(of)}" for file, of in zip(repeats["file"], repeats["of"], strict=True)]
        yield f"{plural(len(repeats), 'file')} left out, since another one holds the same run: {some(pairs)}"


def _gaps(numbers: Mapping[str, set[int]], address: Callable[[str], str]) -> Iterator[str]:
    for folder, found in numbers.items():
        missing = [(low + 1, high - 1) for low, high in pairwise(sorted(found - {0})) if high > low + 1]
        if missing:
            total = sum(last - first + 1 for first, last in missing)
            ranges = [f"{first:04}" if first == last else f"{first:04} to {last:04}" for first, last in missing]
            yield f"{address(folder)}: {plural(total, 'number')} missing: {some(ranges)}"


def _folders(runs: pd.DataFrame, address: Callable[[str], str]) -> Iterator[str]:
    for folder, found in runs[~runs["loose"]].groupby("folder"):
        place = address(str(folder))
        machines = found["machine"].value_counts(sort=False)
        if len(machines) > 1:
            each = some(f"{machine} with {plural(runs_of, 'run')}" for machine, runs_of in machines.items())
            yield f"{place}: runs of {len(machines)} machines in one folder, each a history of its own: {each}"
        twice = found[found.duplicated(["machine", "number"])]
        if len(twice):
            again = some(f"{number:04}" for number in sorted(set(twice["number"])))
            yield f"{place}: {again} number more than one run of a machine; their times decide the order"


def _clocks(runs: pd.DataFrame) -> Iterator[str]:
    for machine, found in runs[~runs["believed"]].groupby("machine", sort=False):
        yield (
            f"{machine}: the clock and the numbers disagree on when {plural(len(found), 'run')} of "
            f"{count((runs['machine'] == machine).sum())} were made, and the numbers decide: {some(found['run'])}"
        )
    timeless = runs[runs["taken"].isna()]
    if len(timeless):
        verb = "does" if len(timeless) == 1 else "do"
        yield f"{plural(len(timeless), 'run')} {verb} not say when made: {some(timeless['run'])}"


def _techniques(placed: pd.DataFrame) -> Iterator[str]:
    """Yield for each machine what was compared in its later runs only."""
    begun = placed[placed["technique"] != ""].drop_duplicates(["machine", "framework", "technique"])
    for machine, found in begun.groupby("machine", sort=False):
        later = found[found["place"] > placed.loc[placed["machine"] == machine, "place"].min()]
        added = [
            f"{some(map(' '.join, zip(rows['framework'], rows['technique'], strict=True)))} in {run}"
            for run, rows in later.groupby("run", sort=False)
        ]
        if added:
            yield f"{machine}: {plural(len(later), 'technique')} added after the first run: {some(added)}"


def _renamed(placed: pd.DataFrame) -> Iterator[str]:
    for run, found in successors(placed).groupby("run", sort=False):
        pair = found.iloc[0]
        yield (
            f"{run}: {plural(len(found), 'case')} ended before, and as many of the same workload, technique and level "
            f"began: renamed or given other parameters, they are series of their own, "
            f"such as {pair['ended']} and {pair['begun']}"
        )


def _placed(runs: pd.DataFrame, observations: pd.DataFrame) -> pd.DataFrame:
    """Return the cases of every run with the machine and the ``place`` of the run, in their order."""
    place = pd.Series(range(len(runs)), index=runs["run"])[observations["run"].cat.categories].to_numpy()
    told = observations[[*CASE]].assign(place=place[observations["run"].cat.codes])
    return told.assign(run=runs["run"].to_numpy()[told["place"]], machine=runs["machine"].to_numpy()[told["place"]])
