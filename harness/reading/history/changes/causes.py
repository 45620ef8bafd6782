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
    near = [place for place in range(at - _NEAR, at + _NEAR + 1) if 0 < place < len(runs) and place != at]
    found = [(place, told) for place in near if (told := _at(runs, place, framework))]
    if len(found) != 1:
        return "nothing known changed at that run"
    ((place, told),) = found
    return f"nothing known changed at that run, but close by, at run {runs.index[place].rpartition('/')[2]}: {told}"


def _at(runs: pd.DataFrame, place: int, framework: str) -> str:
    """Return what changed from the run before, "" where nothing did that may have changed the numbers."""
    before, after = runs.iloc[[place - 1]], runs.iloc[[place]]
    found = differences(before, after, framework)
    blamed = causes(found)
    if len(blamed) < 2:
        return in_words(found) if blamed else ""
    separating = what_would_separate(before, after, framework)
    return f"{named(found)} ({in_words(found)}){f', told apart by {separating},' if separating else ''}"
