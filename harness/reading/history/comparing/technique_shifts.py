"""By how much the effects of techniques shifted between two sides, and how each stands to what it was."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.reading.history.comparing.cases import CASE, by_case, in_both
from harness.reading.history.comparing.shifts import Floats, means_of, shifts, shifts_of_unknown_spread
from harness.reading.history.comparing.sides import Side, every_run
from harness.reading.history.gate.limits import Limits
from harness.reading.history.gate.series import deviate_of
from harness.reading.history.time_parts import WORKLOAD

_STANDING = {"same": "carries over", "faster": "grows", "slower": "shrinks", "undecided": "unclear"}
_ABOUT = ["trial", "module", "problem", "fixed", "technique", "level"]


def technique_shifts(
    observations: pd.DataFrame, runs: pd.DataFrame, times: pd.DataFrame, before: Side, after: Side, limits: Limits,
    learnt: bool,
) -> pd.DataFrame:  # fmt: skip
    """Return one row per effect that both sides have, the largest decided shifts first.

    ``times`` are those of the cases beyond the machine's part.
    """
    names = every_run(before, after)
    effects = in_both(by_case(observations, "log_effect", names), before.runs, after.runs)
    lows, highs = (by_case(observations, name, names).reindex(effects.index) for name in ("log_low", "log_high"))
    about = _about(observations, times, before, after)
    told = effects.join(about[["technique"]]).reset_index()
    zones = np.log1p([limits.margin_of(*each) for each in zip(told["technique"], told["workload"], strict=True)])
    if learnt:
        deviates = runs.set_index("run")["settings"].loc[names].map(deviate_of)
        doubts = (highs - lows).div(2 * deviates, axis=1)
        found = shifts(effects, before, after, limits.false_discovery_rate, zones, doubts)
    else:
        low = lows[list(after.runs)].min(axis=1) - highs[list(before.runs)].max(axis=1)
        high = highs[list(after.runs)].max(axis=1) - lows[list(before.runs)].min(axis=1)
        found = shifts_of_unknown_spread(means_of(effects, before, after), low, high)
    rows = found.assign(standing=_standings(found, zones)).join(about).reset_index()
    size = rows["shift"].abs().where(rows["verdict"].isin(["faster", "slower"]), -1)
    return rows.iloc[np.argsort(-size, kind="stable")].reset_index(drop=True)


def _standings(found: pd.DataFrame, zones: Floats) -> list[str]:
    """Say how an effect of one side stands to that of the other; it flips where it helps one and harms the other."""
    ends = found["before"].abs() > zones, found["after"].abs() > zones
    opposite = found["before"] * found["after"] < 0
    flips = found["verdict"].isin(["faster", "slower"]) & ends[0] & ends[1] & opposite
    return ["flips" if flip else _STANDING[verdict] for flip, verdict in zip(flips, found["verdict"], strict=True)]


def _about(observations: pd.DataFrame, times: pd.DataFrame, before: Side, after: Side) -> pd.DataFrame:
    """Return what each case is, and how the times of its baseline and of itself shifted beyond the machine's."""
    moved = means_of(-times, before, after)
    texts = dict.fromkeys([*CASE, *_ABOUT], str)
    seen = observations.astype(texts).drop_duplicates(CASE).set_index(CASE)
    arms = seen[[*_ABOUT, "baseline"]].assign(own_shift=moved["after"] - moved["before"])
    baselines = arms[arms["baseline"].astype(bool)].groupby([*WORKLOAD, "trial"])["own_shift"].first()
    keys = pd.MultiIndex.from_frame(arms.reset_index()[[*WORKLOAD, "trial"]])
    return arms.drop(columns="baseline").assign(baseline_shift=baselines.reindex(keys).to_numpy())
