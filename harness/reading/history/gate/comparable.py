"""Which runs the newest one is held against: of one machine, one identity and one size, and of one configuration."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import BadInput
from harness.reading.history.environments.differences import causes, differences, in_words
from harness.reading.history.environments.eras import eras
from harness.reading.history.gate.departures import LEAST_RUNS
from harness.reading.history.observations import History
from harness.untrusted import shown

WINDOW = 30  # runs that the newest are held against: what drifted long ago does not count
_KEPT = 3 * WINDOW  # runs that are looked at, other configurations among them

Chosen = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """For the cases of one framework: which runs are new, which are the reference, and the state of each.

    ``changed`` says in words what differs between the two, empty where nothing that is known does.
    """

    new: Chosen
    reference: Chosen
    states: NDArray[Any]
    changed: str


def comparable(known: History, baseline: Collection[str] = (), newest: str = "") -> pd.DataFrame:
    """Return the runs that can be compared with the newest, in the order in which they were made, that one last.

    The newest is the last one of the history unless named.

    Raises:
        BadInput: there is no run, or the baseline is of another machine or size, or the newest run itself.
    """
    runs = known.runs
    if runs.empty:
        raise BadInput("no run to check; make some with pytest benchmarks/ --benchmark-save=NAME")
    is_newest = runs["run"] == (newest or runs["run"].iloc[-1])
    runs = pd.concat([runs[~is_newest], runs[is_newest]])
    last = runs.iloc[-1]
    alike = np.logical_and.reduce([runs[name] == last[name] for name in ("machine", "identity", "size")])
    named = runs["run"].isin(list(baseline)).to_numpy()
    if named[-1]:
        raise BadInput(f"{shown(last['run'])} is the newest run and cannot be its own baseline; name earlier runs")
    if (named & ~alike).any():
        other = shown(runs["run"][named & ~alike].iloc[0])
        raise BadInput(
            f"{other} is of another machine or size than {shown(last['run'])}; see what differs with accelbench compare"
        )
    recent = np.zeros(len(runs), dtype=bool)
    recent[np.flatnonzero(alike)[-_KEPT:]] = True
    return runs[recent | named].reset_index(drop=True)


def setup(runs: pd.DataFrame, framework: str, baseline: Collection[str] = ()) -> Setup:
    """Return what the newest of comparable runs is held against.

    That are runs of its own configuration, as far as a framework's cases are concerned. Right after a change of the
    configuration there are too few, and the sub-era before takes their place, unless that is shorter still.
    """
    states = eras(runs, framework)["sub_era"].to_numpy()
    reference = runs["run"].isin(list(baseline)).to_numpy()
    if reference.any():
        new = np.arange(len(runs)) > np.flatnonzero(reference)[-1]
        states = 2 * states + new  # what changed right after the baseline is no spread between unchanged runs
    else:
        state = _state(states)
        reference = states == state
        reference[np.flatnonzero(reference)[: -WINDOW - 1]] = False
        others = np.flatnonzero(states != states[-1])
        new = np.arange(len(runs)) > (others[-1] if len(others) else -1)
    held = reference & ~new if (reference & ~new).any() else reference
    differ = differences(runs[held], runs[new], framework) if (states[held] != states[-1]).any() else ()
    return Setup(new=new, reference=reference, states=states, changed=in_words(differ) if causes(differ) else "")


def _state(states: NDArray[Any]) -> Any:
    """Return the configuration whose runs are the reference."""
    own, counts = states[-1], {state: int((states == state).sum()) for state in states}
    earlier = [state for state in states[::-1] if state != own]
    if counts[own] > LEAST_RUNS or not earlier:
        return own
    enough = [state for state in earlier if counts[state] >= LEAST_RUNS]
    return (enough or earlier)[0] if enough or counts[earlier[0]] >= counts[own] else own
