"""The two sides of a comparison: their runs, and the runs that tell how much their machine's runs spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness.errors import BadInput
from harness.untrusted import shown

_ENOUGH = 3  # runs of a side, from which their own spread is all that counts
_LEAST = 4  # runs, two or more of an environment, from which the spread of a short side counts as known
_MOST = 60  # other runs that are asked; more would hardly tell more


@dataclass(frozen=True, kw_only=True)
class Side:
    """Runs of one machine and one size. ``alike`` are groups of runs, each group of one environment."""

    runs: tuple[str, ...]
    machine: str
    alike: tuple[tuple[str, ...], ...]

    @property
    def is_short(self) -> bool:
        """Whether its own runs are too few to show how much they spread."""
        return len(self.runs) < _ENOUGH

    @property
    def tells_spread(self) -> bool:
        """Whether there are runs enough to say how much runs of this machine spread."""
        return not self.is_short or sum(len(group) for group in self.alike if len(group) > 1) >= _LEAST


def two_sides(runs: pd.DataFrame, before: Sequence[str], after: Sequence[str]) -> tuple[Side, Side]:
    """Return both sides of a comparison.

    The spread between runs is that around the mean of each side, and where a side has few runs also that around the
    mean of other runs of its machine, identity and size, each group of them of one configuration. Two sides on one
    machine share theirs.

    Raises:
        BadInput: a run stands on both sides, a side mixes machines, or the sizes differ.
    """
    if both := [run for run in before if run in set(after)]:
        raise BadInput(f"{shown(both[0])} stands on both sides; compare it with another run")
    facts = runs.set_index("run")
    sizes = list(dict.fromkeys(facts.loc[[*before, *after], "size"]))
    if len(sizes) > 1:
        named = " and ".join(shown(size) or "unknown" for size in sizes)
        raise BadInput(f"the runs were made at sizes {named}; compare runs of one size")
    places = [_place(facts, side) for side in (before, after)]
    if places[0] == places[1]:
        alike = [_alike(facts, places[0], sizes[0], (before, after))] * 2
    else:
        alike = [_alike(facts, place, sizes[0], (side,)) for place, side in zip(places, (before, after), strict=True)]
    return (
        Side(runs=tuple(before), machine=places[0][0], alike=alike[0]),
        Side(runs=tuple(after), machine=places[1][0], alike=alike[1]),
    )


def every_run(before: Side, after: Side) -> list[str]:
    """Return the runs of both sides, and those that tell their spread."""
    return list(dict.fromkeys(run for side in (before, after) for group in side.alike for run in group))


def _place(facts: pd.DataFrame, side: Sequence[str]) -> tuple[str, str]:
    """Return a side's machine, by name and identity."""
    places = list(dict.fromkeys(zip(facts.loc[list(side), "machine"], facts.loc[list(side), "identity"], strict=True)))
    if len(places) > 1:
        named = ", ".join(shown(machine) for machine, _ in places[:3])
        raise BadInput(f"one side holds runs of {len(places)} machines ({named}); give runs of one machine a side")
    return places[0]


def _alike(
    facts: pd.DataFrame, place: tuple[str, str], size: str, sides: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Return the sides on a machine, and if one of them is short the machine's newest other runs, by configuration."""
    own = [tuple(side) for side in sides]
    if all(len(side) >= _ENOUGH for side in sides):
        return tuple(own)
    here = (facts["machine"] == place[0]) & (facts["identity"] == place[1]) & (facts["size"] == size)
    others = facts[here & ~facts.index.isin([run for side in sides for run in side])].tail(_MOST)
    groups = others.groupby("configuration", sort=False, observed=True)
    return (*own, *(tuple(group.index) for _, group in groups))
