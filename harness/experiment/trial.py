"""A trial: one baseline arm and the candidate arms compared with it on the same problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.experiment.ladder import ADDS
from harness.experiment.technique import Technique, find_technique
from harness.experiment.workload import Setting, Workload

Levels = dict[str, str]


def named(levels: Levels) -> str:
    """Return levels in words, such as ``amp bf16, batch-size 32``."""
    return ", ".join(f"{technique.replace('_', '-')} {level}" for technique, level in levels.items())


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How hard to look. Times in seconds, ``noise`` and ``half_width`` as fractions.

    ``budget_s`` is the measuring time per arm, ``alpha`` the error rate of a trial's verdicts, ``noise`` the
    half-width of the zone of speedups that count as the same, ``half_width`` the precision at which measuring
    stops. ``builds`` says how often at least the arms are built within a worker: more often where that is cheap,
    unless it is 1. ``workers`` says in how many fresh workers the trial is repeated, ``silence_s`` how long a worker
    may give no sign of life. ``rehearse`` runs and checks every arm once and times nothing. ``keep_outputs`` brings
    the first arm's checked output back.
    ``whole_rounds`` keeps every arm in every round until the budget ends, for what is computed across arms.
    ``cold_cache`` flushes the caches before every timed block, which has one iteration then.
    """

    budget_s: float = 2.0
    alpha: float = 0.01
    noise: float = 0.01
    half_width: float = 0.02
    min_span_s: float = 0.25
    min_block_s: float = 100e-6
    builds: int = 2
    workers: int = 1
    silence_s: float = 300.0
    rehearse: bool = False
    keep_outputs: bool = False
    whole_rounds: bool = False
    cold_cache: bool = False

    def alpha_each(self, arms: int) -> float:
        """Return the error rate left to each candidate where they share a baseline (Bonferroni)."""
        return self.alpha / max(1, arms - 1)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is to be measured. ``arms`` maps toggled techniques to levels; the first arm is the baseline.

    ``workload`` is a declared workload's name or, for one defined in a user's own module, the workload itself.
    ``fixed`` are techniques held at one level in every arm; ``problem`` are options of the workload.
    ``techniques`` are those that a user declared in a module of their own, which a worker cannot import.
    """

    framework: str
    workload: str | Workload
    arms: tuple[Levels, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)
    techniques: tuple[Technique, ...] = ()
    setting: Setting = field(default_factory=Setting)
    plan: Plan = field(default_factory=Plan)

    @property
    def toggled(self) -> tuple[str, ...]:
        """Names of the techniques that are switched."""
        return tuple(self.arms[0])

    def lower(self, place: int) -> tuple[int, ...]:
        """Return the places of the rungs below an arm, the lowest first; none where it is not on a ladder."""
        levels = self.arms[place]
        for technique in self.toggled:
            rungs = {arm[technique] for arm in self.arms} - {self.arms[0][technique]}
            if levels[technique] in rungs and all(rung.startswith(ADDS) for rung in rungs):
                alike = ({**arm, technique: levels[technique]} == levels for arm in self.arms[:place])
                return tuple(below for below, here in enumerate(alike) if here)
        return ()

    def smaller(self, place: int) -> tuple[int, ...]:
        """Return the places before an arm's of those that differ only in that they take less memory, in their order."""
        levels = self.arms[place]
        growing = [name for name in self.toggled if find_technique(self.framework, name).grows]
        return tuple(
            other
            for other, arm in enumerate(self.arms[:place])
            for name in growing
            if {**arm, name: levels[name]} == levels and int(arm[name]) < int(levels[name])
        )
