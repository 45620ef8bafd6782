"""What changed in the environment where a series steps, in words."""

from __future__ import annotations

import pandas as pd

from harness.reading.history.environments.differences import causes, differences, in_words, named, what_would_separate

_NEAR = 2  # runs by which a step may be dated wrongly


def what_changed(runs: pd.DataFrame, at: int, framework: str) -> str:
    """Return what changed at the run of that place among the runs of a series; one field is named, several are not.

    Where nothing did, but something did at a single run close by, that is told with its run: a step among scattered
    values is dated to a run or two.
    """
    if told := _at(runs, at, framework):
        return f"{told} at that run"
    found = [(place, told) for place in _close_by(runs, at) if (told := _at(runs, place, framework))]
    if len(found) != 1:
        return "nothing known changed at that run"
    ((place, told),) = found
    return f"nothing known changed at that run, but close by, at run {runs.index[place].rpartition('/')[2]}: {told}"


def did_change(runs: pd.DataFrame, at: int, framework: str) -> bool:
    """Say whether anything that may have changed the numbers did so at that run, or close by."""
    return any(_at(runs, place, framework) for place in (at, *_close_by(runs, at)))


def _close_by(runs: pd.DataFrame, at: int) -> list[int]:
    return [place for place in range(at - _NEAR, at + _NEAR + 1) if 0 < place < len(runs) and place != at]


def _at(runs: pd.DataFrame, place: int, framework: str) -> str:
    """Return what changed from the run before, "" where nothing did that may have changed the numbers."""
    before, after = runs.iloc[[place - 1]], runs.iloc[[place]]
    found = differences(before, after, framework)
    blamed = causes(found)
    if len(blamed) < 2:
        return in_words(found) if blamed else ""
    separating = what_would_separate(before, after, framework)
    return f"{named(found)} ({in_words(found)}){f', told apart by {separating},' if separating else ''}"
