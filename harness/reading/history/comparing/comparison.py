"""Two sets of runs compared: what of a change is the machine's, what a workload's and what a technique's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import quantile_test

from harness.reading.history.comparing.cases import CASE, by_case, in_both
from harness.reading.history.comparing.shifts import means_of, shifts, shifts_of_unknown_spread
from harness.reading.history.comparing.sides import Side, every_run, two_sides
from harness.reading.history.comparing.technique_shifts import technique_shifts
from harness.reading.history.gate.limits import Limits
from harness.reading.history.observations import History
from harness.reading.history.time_parts import FEWEST, TimeParts, split
from harness.units import plural


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What changed from one side to the other, as frames with the columns that `shifts` returns.

    Shifts are logarithms, above 0 where it is faster after. ``machine`` has one row, or none without times in common;
    ``workloads`` are indexed by framework and workload. ``techniques`` are one row per case, with what it is,
    ``standing`` and, beyond the machine's part, how the times of its baseline and of itself shifted: ``baseline_shift``
    and ``own_shift``. ``learnt`` says whether the spread between runs is known.
    """

    before: Side
    after: Side
    limits: Limits
    learnt: bool
    machine: pd.DataFrame
    workloads: pd.DataFrame
    techniques: pd.DataFrame
    remarks: tuple[str, ...]


def compared(history: History, before: Sequence[str], after: Sequence[str], limits: Limits | None = None) -> Compared:
    """Compare runs of a history, by their names.

    Raises:
        BadInput: a run stands on both sides, a side mixes machines, or the sizes differ.
    """
    limits = limits or Limits()
    sides = two_sides(history.runs, before, after)
    runs = every_run(*sides)
    wanted = history.observations[history.observations["run"].isin(runs)]
    every = by_case(wanted, "log_s", runs)
    times = in_both(every, before, after)
    parts = split(_with_kinds(times, wanted), fewest=1)
    learnt = all(side.tells_spread for side in sides)
    return Compared(
        before=sides[0],
        after=sides[1],
        limits=limits,
        learnt=learnt,
        machine=_machine(parts, *sides, limits, learnt),
        workloads=_workloads(parts, *sides, limits, learnt),
        techniques=technique_shifts(wanted, history.runs, times - parts.machine, *sides, limits, learnt),
        remarks=tuple(_remarks(every, parts, len(times), before, after)),
    )


def _with_kinds(times: pd.DataFrame, observations: pd.DataFrame) -> pd.DataFrame:
    """Return times by case with whether it is a baseline in the index, too."""
    kinds = observations.astype(dict.fromkeys(CASE, str)).drop_duplicates(CASE).set_index(CASE)["baseline"]
    return times.set_index(pd.Index(kinds.reindex(times.index), name="baseline"), append=True)


def _machine(parts: TimeParts, before: Side, after: Side, limits: Limits, learnt: bool) -> pd.DataFrame:
    """Return by how much the machine got faster; one number for all that it measured."""
    if parts.workloads.empty:
        return pd.DataFrame()
    speeds = -parts.machine.to_frame("machine").T
    if learnt:
        return shifts(speeds, before, after, limits.false_discovery_rate, np.log1p([limits.margin]))
    means = means_of(speeds, before, after)
    moved = means_of(speeds.iloc[0] - parts.workloads, before, after)
    each = moved["after"] - moved["before"]
    found = quantile_test(each).confidence_interval(1 - limits.false_discovery_rate)  # of the median over workloads
    low, high = np.nan_to_num([found.low], nan=-math.inf), np.nan_to_num([found.high], nan=math.inf)
    return shifts_of_unknown_spread(means, *(pd.Series(end, index=means.index) for end in (low, high)))


def _workloads(parts: TimeParts, before: Side, after: Side, limits: Limits, learnt: bool) -> pd.DataFrame:
    speeds = -_in_common(parts, before, after)
    if learnt:
        zones = [limits.margin_of(workload=workload) for _, workload in speeds.index]
        return shifts(speeds, before, after, limits.false_discovery_rate, np.log1p(zones))
    means = means_of(speeds, before, after)
    unbounded = pd.Series(math.inf, index=means.index)
    return shifts_of_unknown_spread(means, -unbounded, unbounded)


def _in_common(parts: TimeParts, before: Side, after: Side) -> pd.DataFrame:
    """Return the courses of workloads with what their baselines and their candidates shifted by in common.

    That is the smaller of both shifts, and none where they point different ways: what only one of the two did is a
    change of effects.
    """
    ends = (means_of(each, before, after) for each in (parts.workloads, parts.candidates))
    own, together = (each["after"] - each["before"] for each in ends)
    both = pd.DataFrame({"own": own, "together": together.reindex(own.index).fillna(own)})
    common = both.min(axis=1).clip(lower=0) + both.max(axis=1).clip(upper=0)
    found = parts.workloads.copy()
    found[list(after.runs)] = found[list(after.runs)].add(common - own, axis=0)
    return found


def _remarks(
    every: pd.DataFrame, parts: TimeParts, common: int, before: Sequence[str], after: Sequence[str]
) -> list[str]:
    """Say what only one side has, and what cannot be told apart."""
    said = []
    for here, there, when in ((before, after, "before"), (after, before, "after")):
        alone = every[list(here)].notna().any(axis=1) & ~every[list(there)].notna().any(axis=1)
        if alone.any():
            said.append(f"{plural(int(alone.sum()), 'arm')} only {when}")
    told = [f"{plural(common, 'arm')} on both sides{', ' if said else ''}{', '.join(said)}"]
    if 0 < len(parts.workloads) < FEWEST:
        told.append(
            f"with fewer than {FEWEST} workloads, what they have in common is perhaps theirs and not the machine's"
        )
    return told
