"""The order in which runs were made, and which of them are the same run twice.

Numbers in a folder ascend as runs are made, whatever the clock says; clocks tell how the runs of several folders lie
between each other. Of a folder's runs those are believed whose times ascend with the numbers, as many as possible; the
others take the time of the run before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from harness.reading.files import number_of


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """Runs in the order in which they were made, none twice and no two of a name.

    Besides their own columns they have ``folder`` and ``believed``, false where a run's time contradicts its number.
    ``repeats`` are the files that were left out, with the file that holds the same run as ``of``. ``numbers`` are, by
    folder, those of all files, readable or not.
    """

    runs: pd.DataFrame
    repeats: pd.DataFrame
    numbers: Mapping[str, set[int]]


def arranged(files: pd.DataFrame) -> Arranged:
    """Return the runs of an index's files in order."""
    numbers: dict[str, set[int]] = {}
    for file in files["file"]:
        numbers.setdefault(file.rpartition("/")[0], set()).add(number_of(PurePosixPath(file)))
    files = files[files["problem"] == ""].astype({"number": int, "schema": int, "interrupted": bool, "foreign": bool})
    files = files.assign(folder=[file.rpartition("/")[0] for file in files["file"]], loose=files["number"] == 0)
    files = files.sort_values(["loose", "file"], ignore_index=True)
    of = _first_of(files)
    runs = _in_order(files[of.isna()])
    again = runs.groupby("run").cumcount()
    names = [f"{name} ({count + 1})" if count else name for name, count in zip(runs["run"], again, strict=True)]
    return Arranged(runs=runs.assign(run=names), repeats=files[of.notna()].assign(of=of.dropna()), numbers=numbers)


def _first_of(files: pd.DataFrame) -> pd.Series[str]:
    """Return for each file the first one that holds the same run, missing where it is the first itself.

    The same are files of one content, and runs that one machine finished in the same microsecond.
    """
    first = pd.Series(pd.NA, index=files.index, dtype="str")
    for there, keys in ((files["digest"] != "", ["digest"]), (files["taken"].notna(), ["machine", "taken"])):
        rows = files[there & first.isna()]
        leads = rows.groupby(keys)["file"].transform("first")
        first.update(leads[leads != rows["file"]])
    return first


def _in_order(runs: pd.DataFrame) -> pd.DataFrame:
    taken = pd.to_datetime(runs["taken"], utc=True)
    times = pd.Series(np.where(taken.isna(), np.nan, taken.astype("datetime64[us, UTC]").astype("int64")), runs.index)
    numbered = runs["number"] > 0
    believed = pd.Series(True, index=runs.index)
    for _, series in runs[numbered].groupby(["folder", "machine"], sort=False):
        rows = series.assign(time=times[series.index]).sort_values(["number", "time"]).index
        told = rows[times[rows].notna()]
        fits = told[longest_ascending(times[told].tolist())]
        believed[told.difference(fits)] = False
        times[rows] = times[rows].where(rows.isin(fits)).ffill().bfill()
    order = pd.DataFrame({"time": times.fillna(-np.inf), "number": runs["number"], "file": runs["file"]})
    rows = order.sort_values(["time", "number", "file"]).index
    return runs.assign(believed=believed).loc[rows].reset_index(drop=True)


def longest_ascending(values: Sequence[float]) -> list[int]:
    """Return the places of a longest subsequence that does not descend.

    Fredman, "On computing the length of longest increasing subsequences", Discrete Mathematics 11 (1975).
    """
    ends: list[float] = []  # the smallest value in which a subsequence of each length ends
    places: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        length = bisect_right(ends, value)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [value]
        places[length : length + 1] = [place]
    found = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]
