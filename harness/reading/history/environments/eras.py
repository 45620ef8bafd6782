"""The eras of a history: where the machine changed, where its set-up changed, and what links the numbers.

A changed identity opens a new **era**, a changed configuration a **sub-era**. What comes back is what it was: after
driver 570, 580 and 570 again there are two sub-eras. A configuration is told apart by what two runs both tell: a run
that used no PyTorch, or one from before a field was recorded, belongs where nothing contradicts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

import pandas as pd

from harness.reading.history.environments import bridges
from harness.reading.history.environments.bridges import Bridge, bridge
from harness.reading.history.environments.differences import Difference, causes, differences, rows
from harness.reading.history.environments.differences import in_words as differences_in_words
from harness.reading.history.environments.fields import VARIABLES, Facts, configured, field, identified
from harness.reading.history.observations import History
from harness.untrusted import shown

Kind = Literal["era", "sub-era"]
Places = list[tuple[int, int]]  # era and sub-era of each run
Found = tuple[int, int, Kind]  # the positions of the first run after and of the last one before, and of what
_NEAREST = 10  # runs of either side that a bridge rests on, so that what drifted long ago does not count


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """Where one era or sub-era gives way to another: at which run, after which one, and what differs.

    ``returns`` says that it was there before. ``earlier`` and ``later`` are the runs on either side on which the
    bridges rest, ``frameworks`` those whose cases the change concerns, none of them standing for all.
    """

    kind: Kind
    before: str
    run: str
    label: str
    differences: tuple[Difference, ...]
    returns: bool
    earlier: tuple[str, ...]
    later: tuple[str, ...]
    frameworks: frozenset[str]
    observations: pd.DataFrame

    @property
    def words(self) -> str:
        """The turn as one sentence, without its full stop."""
        back = " (as once before)" if self.returns else ""
        machine = "another machine: " if self.kind == "era" else ""
        changed = differences_in_words(self.differences)
        return f"{self.label}: {machine}{changed}{back}; {bridges.in_words(self.times, self.effects)}"

    @cached_property
    def times(self) -> Bridge | None:
        """What links the times of both sides, None where they have no case in common."""
        return bridge(*self._sides, of="times")

    @cached_property
    def effects(self) -> Bridge | None:
        """What links the effects of both sides, None where they have none in common."""
        return bridge(*self._sides, of="effects")

    @cached_property
    def _sides(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self._observed(self.earlier), self._observed(self.later)

    def _observed(self, runs: tuple[str, ...]) -> pd.DataFrame:
        if self.observations.empty:
            return self.observations
        seen = self.observations[self.observations["run"].isin(runs)]
        return seen[seen["framework"].isin(self.frameworks)] if self.frameworks else seen


def sub_era(run: Mapping[str, Any], framework: str = "") -> str:
    """Return the configuration under which a run's cases of a framework were measured, as one text.

    Relevant is what concerns that framework and what concerns all of them; without a framework it is everything. Two
    texts may differ in what one of the runs does not tell; `eras` says which runs belong together.
    """
    return json.dumps(_relevant(run, framework), sort_keys=True)


def eras(runs: pd.DataFrame, framework: str = "") -> pd.DataFrame:
    """Return ``era`` and ``sub_era`` of every run, both counted from 0 in the order in which they first come.

    An era is one machine with one identity, and its sub-eras are counted within it. ``runs`` are in the order in which
    they were made, and the index is theirs.
    """
    known: dict[tuple[str, str], int] = {}
    seen: dict[int, list[Facts]] = {}
    latest: dict[int, int] = {}
    placed = []
    for run in rows(runs):
        era = known.setdefault((run["machine"], _sorted(run["identity"])), len(known))
        told = _relevant(run, framework)
        place = _place(seen.setdefault(era, []), told, latest.get(era, 0))
        latest[era] = place
        placed.append((era, place))
    return pd.DataFrame(placed, index=runs.index, columns=["era", "sub_era"], dtype=int)


def turns(history: History, framework: str = "") -> list[Turn]:
    """Return every turn of a history in the order in which they come.

    Of runs of several machines that alternate, each machine is followed on its own; that another one is there is told
    once, where it first comes. With a framework, what concerns only others makes no turn.
    """
    runs = history.runs.reset_index(drop=True)
    places: Places = list(eras(runs, framework).itertuples(index=False, name=None))
    return [_turn(history, runs, places, found, framework) for found in _found(places)]


def _found(places: Places) -> Iterator[Found]:
    latest: dict[int, int] = {}
    for position, (era, sub_era) in enumerate(places):
        if era in latest and places[latest[era]][1] != sub_era:
            yield position, latest[era], "sub-era"
        elif era not in latest and position:
            yield position, position - 1, "era"
        latest[era] = position


def _turn(history: History, runs: pd.DataFrame, places: Places, found: Found, framework: str) -> Turn:
    after, before, kind = found
    earlier = runs.loc[_stretch(places, range(before, -1, -1))]
    later = runs.loc[_stretch(places, range(after, len(places)))]
    changed = differences(earlier, later, framework)
    return Turn(
        kind=kind,
        before=runs["run"][before],
        run=runs["run"][after],
        label=_label(rows(later)[0]),
        differences=changed,
        returns=places[after] in places[:after],
        earlier=tuple(earlier["run"].iloc[:_NEAREST]),
        later=tuple(later["run"].iloc[:_NEAREST]),
        frameworks=_touched(changed, framework),
        observations=history.observations,
    )


def _stretch(places: Places, positions: range) -> list[int]:
    """Return the positions of a sub-era's runs from the first one on, up to where its era turns to another."""
    era, _ = place = places[positions[0]]
    own = (position for position in positions if places[position][0] == era)
    return list(takewhile(lambda position: places[position] == place, own))


def _touched(found: Sequence[Difference], framework: str) -> frozenset[str]:
    """Return the frameworks whose cases a change concerns; none stands for all."""
    if framework:
        return frozenset([framework])
    touched = frozenset(each.field.framework for each in causes(found))
    return frozenset() if "" in touched else touched


def _place(sub_eras: list[Facts], told: Facts, latest: int) -> int:
    """Return the sub-era to which a configuration belongs, by preference the latest, and note what it adds to it."""
    order = [latest, *range(len(sub_eras) - 1, -1, -1)] if sub_eras else []
    place = next((place for place in order if _agree(sub_eras[place], told)), len(sub_eras))
    if place == len(sub_eras):
        sub_eras.append({})
    sub_eras[place] |= told
    return place


def _agree(known: Facts, told: Facts) -> bool:
    if not (known and told):
        return True
    return _variables(known) == _variables(told) and all(known[key] == told[key] for key in known.keys() & told.keys())


def _variables(told: Facts) -> Facts:
    return {key: value for key, value in told.items() if key.startswith(VARIABLES)}


def _relevant(run: Mapping[str, Any], framework: str) -> Facts:
    return {key: value for key, value in configured(run).items() if field(key).concerns(framework)}


def _sorted(identity: str) -> str:
    """Return an identity as one text, in whatever order its file names things."""
    return json.dumps(identified({"identity": identity}), sort_keys=True)


def _label(run: Mapping[str, Any]) -> str:
    return f"run {run['number']:04}" if run["number"] else f"run {shown(run['name'])}"
