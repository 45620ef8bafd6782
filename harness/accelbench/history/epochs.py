"""The epochs of a history: from which run on was the machine another one, or set up differently?

A changed identity (processor, GPUs, memory) opens a new machine epoch. A changed configuration (driver, versions,
settings of the system) opens a new configuration epoch within it. A configuration that comes back belongs to its old
epoch: driver 570, 580 and 570 again make two epochs. Two runs belong to one configuration where nothing that both
record contradicts it, so a run without PyTorch, or from before a field was recorded, opens no epoch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

import pandas as pd

from accelbench.results.arm_table import rows_of
from accelbench.schema.environment_difference import (
    Difference,
    Facts,
    compare_environments,
    configuration_of,
    describe_field,
    facts_of_row,
    identity_of,
    is_same_configuration,
    summarize,
)
from accelbench.schema.safe_json import printable

Kind = Literal["machine", "configuration"]
Epoch = tuple[int, int]  # machine epoch and configuration epoch of a run


@dataclass(frozen=True, kw_only=True)
class EpochChange:
    """The first run of another epoch, the last run before it, and what differs between the two epochs.

    ``returns`` says that this epoch was there before.
    """

    kind: Kind
    before: str
    run: str
    label: str
    differences: tuple[Difference, ...]
    returns: bool

    def __str__(self) -> str:
        """Return the change as one sentence without its full stop."""
        back = " (as once before)" if self.returns else ""
        machine = "another machine: " if self.kind == "machine" else ""
        return f"{self.label}: {machine}{summarize(self.differences)}{back}"


def differences_between(before: pd.DataFrame, after: pd.DataFrame, framework: str = "") -> tuple[Difference, ...]:
    """Return the environment differences between two sets of runs, given as rows of a history's runs."""
    facts_before, facts_after = ([facts_of_row(row) for row in rows_of(side)] for side in (before, after))
    return compare_environments(facts_before, facts_after, framework)


def assign_epochs(runs: pd.DataFrame, framework: str = "") -> pd.DataFrame:
    """Return ``machine_epoch`` and ``configuration_epoch`` of every run, counted from 0 in order of first occurrence.

    Configuration epochs are counted within their machine epoch. With a framework, only what concerns its arms counts.
    ``runs`` are in the order in which they were made; the result has their index.
    """
    machines: dict[tuple[str, str], int] = {}
    known: dict[int, list[Facts]] = {}
    latest: dict[int, int] = {}
    epochs = []
    for run in rows_of(runs):
        identity = json.dumps(identity_of(run), sort_keys=True)
        machine = machines.setdefault((run["machine"], identity), len(machines))
        facts = {key: value for key, value in configuration_of(run).items() if describe_field(key).concerns(framework)}
        latest[machine] = _configuration_epoch(known.setdefault(machine, []), facts, latest.get(machine, 0))
        epochs.append((machine, latest[machine]))
    return pd.DataFrame(epochs, index=runs.index, columns=["machine_epoch", "configuration_epoch"], dtype=int)


def find_epoch_changes(runs: pd.DataFrame, framework: str = "") -> list[EpochChange]:
    """Return every change of epoch in the order in which they come.

    Where runs of several machines alternate, each machine is followed separately; that there is another machine is
    reported once, where it first occurs. With a framework, only what concerns its arms counts.
    """
    runs = runs.reset_index(drop=True)
    epochs: list[Epoch] = list(assign_epochs(runs, framework).itertuples(index=False, name=None))
    return [
        EpochChange(
            kind=kind,
            before=runs["run"][before],
            run=runs["run"][after],
            label=_label(rows_of(runs.iloc[[after]])[0]),
            differences=differences_between(
                runs.loc[_stretch(epochs, range(before, -1, -1))],
                runs.loc[_stretch(epochs, range(after, len(epochs)))],
                framework,
            ),
            returns=epochs[after] in epochs[:after],
        )
        for before, after, kind in _places_of_changes(epochs)
    ]


def _places_of_changes(epochs: list[Epoch]) -> Iterator[tuple[int, int, Kind]]:
    """Yield the positions of the last run before and the first run after each change, and its kind."""
    latest: dict[int, int] = {}
    for position, (machine, configuration) in enumerate(epochs):
        if machine in latest and epochs[latest[machine]][1] != configuration:
            yield latest[machine], position, "configuration"
        elif machine not in latest and position:
            yield position - 1, position, "machine"
        latest[machine] = position


def _stretch(epochs: list[Epoch], positions: range) -> list[int]:
    """Return the positions of the runs of an epoch from the first position up to where its machine changes epoch."""
    epoch = epochs[positions[0]]
    own = (position for position in positions if epochs[position][0] == epoch[0])
    return list(takewhile(lambda position: epochs[position] == epoch, own))


def _configuration_epoch(known: list[Facts], facts: Facts, latest: int) -> int:
    """Return the epoch to which a configuration belongs, the latest if possible, and record what it adds to it."""
    order = [latest, *range(len(known) - 1, -1, -1)] if known else []
    fitting = (place for place in order if not (known[place] and facts) or is_same_configuration(known[place], facts))
    epoch = next(fitting, len(known))
    if epoch == len(known):
        known.append({})
    known[epoch] |= facts
    return epoch


def _label(run: dict[str, Any]) -> str:
    return f"run {run['number']:04}" if run["number"] else f"run {printable(run['name'])}"
