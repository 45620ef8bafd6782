"""A trial: one baseline arm and the candidate arms compared with it on the same problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from accelbench.core.technique import Technique, find_technique, is_technique
from accelbench.core.workload import Setting, Workload
from accelbench.schema.reasons import Reason
from accelbench.schema.result import ADDS, AS_IS, Outcome

Levels = dict[str, str]
OnProgress = Callable[[str], None]  # receives a line on what is being done
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much to measure. Times are in seconds, ``noise`` and ``half_width`` are fractions.

    ``budget_s`` is the measuring time per arm, ``alpha`` the error rate of a verdict, or of all verdicts of a trial
    that is measured in one process, ``noise`` the half-width of the zone of speedups that count as the same,
    ``half_width`` the precision at which measuring stops. Blocks last at least ``min_block_s``: shorter ones would
    be timed in the caches that the other arm left. ``builds`` is the number of builds of the arms within a worker,
    or ``max_builds`` if these are cheap and ``builds`` is not 1. ``visits`` is the number of fresh workers in which
    the trial is measured, each with its share of the budget, ``visit`` the number of this one: only the first
    measures what is no time. ``silence_s`` is the longest time without a message from a worker. ``rehearse`` runs
    and checks every arm once and times nothing. ``keep_outputs`` returns the first arm's checked output.
    ``whole_rounds`` keeps every arm in every round until the budget ends, for statistics across arms. ``prices``
    says whether memory, energy, utilisation and kernels are measured too, in passes of their own, and ``utilisation``
    whether that one is. ``cold_cache`` flushes the caches before every timed block, which then has one iteration.
    """

    budget_s: float = 2.0
    alpha: float = 0.01
    noise: float = 0.01
    half_width: float = 0.02
    min_span_s: float = 0.25
    min_block_s: float = 4e-3
    builds: int = 2
    max_builds: int = 8
    visits: int = 1
    visit: int = 0
    silence_s: float = 300.0
    rehearse: bool = False
    keep_outputs: bool = False
    whole_rounds: bool = False
    prices: bool = True
    utilisation: bool = True
    cold_cache: bool = False

    def alpha_each(self, contrasts: int) -> float:
        """Return the error rate left to each of the contrasts that one process compares (Bonferroni)."""
        return self.alpha / max(1, contrasts)

    def of_visit(self, number: int) -> Plan:
        """Return the plan of one visit, counted from 0: its share of the budget and of the builds."""
        share = replace(self, budget_s=self.budget_s / self.visits, min_span_s=self.min_span_s / self.visits)
        if self.visits > 1 or self.whole_rounds:
            builds = math.ceil(self.max_builds / self.visits) if self.whole_rounds else 1
            share = replace(share, builds=builds, max_builds=builds)
        return replace(share, visit=number)


class Contrast(NamedTuple):
    """Two arms of a trial, by their places: the verdict is on ``arm`` ``against`` the other one."""

    arm: int
    against: int


def against_baseline(arms: int) -> list[Contrast]:
    """Return the contrasts of every candidate with the first arm."""
    return [Contrast(place, 0) for place in range(1, arms)]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is measured. Each of ``arms`` maps toggled techniques to levels; the first is the baseline.

    ``workload`` is a declared workload's name or, if a user's own module defines it, the workload itself. ``fixed``
    techniques have one level in every arm; ``problem`` holds options of the workload. ``techniques`` are those of a
    user's own modules, which a worker cannot import. From earlier visits are known, by the place of an arm,
    ``failures``, the outcomes of arms that are not tried again, ``spreads``, how far an arm's output is from its own
    earlier one, and ``iterations``, how many an arm's blocks had. ``settled`` contrasts need no
    more pairs.
    """

    framework: str
    workload: str | Workload
    arms: tuple[Levels, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)
    techniques: tuple[Technique, ...] = ()
    setting: Setting = field(default_factory=Setting)
    plan: Plan = field(default_factory=Plan)
    failures: Mapping[int, tuple[Outcome, Reason | None]] = field(default_factory=dict)
    spreads: Mapping[int, float] = field(default_factory=dict)
    iterations: Mapping[int, int] = field(default_factory=dict)
    settled: frozenset[Contrast] = frozenset()

    @property
    def settled_places(self) -> frozenset[int]:
        """The places of the candidates that are in no contrast but settled ones: they are not measured again."""
        if not self.settled:
            return frozenset()
        tried = [place for place in range(len(self.arms)) if place not in self.failures]
        open_places = {tried[index] for contrast in self.open_contrasts(tried) for index in contrast}
        return frozenset(place for place in tried[1:] if place not in open_places)

    @property
    def technique_names(self) -> tuple[str, ...]:
        """The names of the techniques that are switched."""
        return tuple(self.arms[0])

    def of_arms(self, *places: int) -> Trial:
        """Return the trial of the arms at these places alone, all of which are tried."""
        return replace(
            self,
            arms=tuple(self.arms[place] for place in places),
            failures={},
            spreads=_renumber(self.spreads, places),
            iterations=_renumber(self.iterations, places),
            settled=frozenset(),
        )

    def device_of(self, levels: Levels) -> str | None:
        """Return the device on which techniques put an arm at these levels; None if none of them is of that kind."""
        for name, level in {**self.fixed, **levels}.items():
            if is_technique(self.framework, name) and find_technique(self.framework, name).kind == "device":
                return None if level == AS_IS else level
        return None

    def contrasts(self, places: Sequence[int]) -> list[Contrast]:
        """Return the contrasts of the arms at these places, the first of which is the baseline.

        Every candidate is compared with the baseline, and a rung of a ladder with the nearest rung below it.
        """
        chosen = against_baseline(len(places))
        for index, place in enumerate(places):
            below = next((rung for rung in reversed(self.rungs_below(place)) if rung in places[1:]), None)
            if below is not None:
                chosen.append(Contrast(index, places.index(below)))
        return chosen

    def open_contrasts(self, places: Sequence[int]) -> list[Contrast]:
        """Return the contrasts of the arms at these places, by index among them, without those that are settled."""
        return [
            contrast
            for contrast in self.contrasts(places)
            if Contrast(places[contrast.arm], places[contrast.against]) not in self.settled
        ]

    def rungs_below(self, place: int) -> tuple[int, ...]:
        """Return the places of the rungs below an arm, the lowest first; none if it is not on a ladder."""
        levels = self.arms[place]
        for technique in self.technique_names:
            rungs = {arm[technique] for arm in self.arms} - {self.arms[0][technique]}
            if levels[technique] in rungs and all(rung.startswith(ADDS) for rung in rungs):
                alike = ({**arm, technique: levels[technique]} == levels for arm in self.arms[:place])
                return tuple(below for below, here in enumerate(alike) if here)
        return ()

    def smaller(self, place: int) -> tuple[int, ...]:
        """Return the places of earlier arms that differ from an arm only by taking less memory."""
        levels = self.arms[place]
        growing = [name for name in self.technique_names if find_technique(self.framework, name).memory_grows]
        return tuple(
            other
            for other, arm in enumerate(self.arms[:place])
            for name in growing
            if AS_IS not in (arm[name], levels[name])
            and {**arm, name: levels[name]} == levels
            and int(arm[name]) < int(levels[name])
        )


def _renumber(known: Mapping[int, Number], places: Sequence[int]) -> dict[int, Number]:
    """Return what is known of the arms at these places, by their new numbers."""
    return {number: known[place] for number, place in enumerate(places) if place in known}
