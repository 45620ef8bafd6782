"""How near each workload comes to what its machine can do."""

from __future__ import annotations

import pandas as pd

_OF_BASELINE = ("trial", "level", "share", "ceiling")


def ceiling_shares(arms: pd.DataFrame) -> list[pd.DataFrame]:
    """Return for each framework one row per workload: its fastest arm's share of a ceiling, the largest share first.

    Takes the arms of one run. An arm's ceiling is the one of which it reaches the largest share. A workload that was
    measured in several trials stands here with the one whose fastest arm comes nearest. ``baseline_level``,
    ``baseline_share`` and ``baseline_ceiling`` are of that trial's baseline.
    """
    if arms.empty:
        return []
    known = arms[(arms["outcome"] == "measured") & arms["share"].gt(0) & arms["items_per_s"].notna()]
    fastest = known.loc[known.groupby("trial", sort=False)["items_per_s"].idxmax()]
    before = known.loc[known["baseline"], [*_OF_BASELINE]].rename(columns=lambda name: f"baseline_{name}")
    once = before.drop_duplicates("baseline_trial")
    told = fastest.merge(once, left_on="trial", right_on="baseline_trial", how="left", validate="one_to_one")
    ordered = told.sort_values("share", ascending=False, kind="stable").drop_duplicates(["framework", "workload"])
    return [shares.reset_index(drop=True) for _, shares in ordered.groupby("framework", sort=False)]
