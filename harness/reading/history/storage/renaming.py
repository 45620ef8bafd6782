"""Cases that end where others begin: renamed, or given other parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

ALIKE = ("framework", "workload", "technique", "level")  # by which a case is known under another name
CASE = ("case", "size", *ALIKE)  # the columns of the observations that are looked at


def successors(placed: pd.DataFrame) -> pd.DataFrame:
    """Return cases that have ended, and those that took their place, as ``ended``, ``begun`` and the ``run``.

    Takes every case of every run, with its ``machine``, ``run`` and the run's ``place``. One takes the place of another
    where it begins in the first run after that one's last in which there is anything alike, and is alike itself.
    """
    whose = ["machine", "size", *ALIKE]
    cases = placed.groupby([*whose, "case"], sort=False)["place"].agg(["min", "max"]).reset_index()
    several = cases[cases.duplicated(whose, keep=False)]
    occurring = placed[placed["case"].isin(several["case"])].groupby(whose, sort=False)["place"]
    there = {key: places.unique() for key, places in occurring}
    found = [
        pair
        for key, alike in several.groupby(whose, sort=False)
        if alike["max"].min() < alike["min"].max()  # otherwise all of them were there at once
        for pair in _pairs(alike, there[key])
    ]
    run_of = placed.drop_duplicates("place").set_index("place")["run"]
    pairs = pd.DataFrame(found, columns=["ended", "begun", "place"]).sort_values("place", kind="stable")
    return pairs.assign(run=[run_of[place] for place in pairs["place"]])


def _pairs(alike: pd.DataFrame, there: np.ndarray[Any, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield of cases that are alike those that follow each other, one to one, with the place of the second.

    ``there`` are the places of the runs in which any of them is, in order.
    """
    for last in sorted(alike["max"].unique()):
        if last < there[-1]:
            place = int(there[there > last][0])
            ended, begun = alike.loc[alike["max"] == last, "case"], alike.loc[alike["min"] == place, "case"]
            yield from ((before, after, place) for before, after in zip(ended, begun, strict=False))
