"""Each trial's section: what came out, how it was measured, what it cost to start, and how to run it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading.table import in_words, rows_of
from harness.record import Effect, Run, TrialRecord
from harness.report.anchors import Anchors
from harness.report.tables import Row, Table, details
from harness.report.trials.pays import pays_in_words
from harness.report.trials.rerun import rerun
from harness.report.trials.strips import ArmStrips, arm_strips

_BEST_FIRST = ("faster", "same", "undecided", "slower")


@dataclass(frozen=True, kw_only=True)
class TrialSection:
    """One trial's part of the page. ``verdict`` and ``best`` are those of its best candidate, empty without one."""

    anchor: str
    record: TrialRecord
    title: str
    held: str
    verdict: str
    best: str
    measured: Table
    strips: list[ArmStrips]
    paying: list[str]
    around: list[tuple[str, str]]
    command: str

    @property
    def has_courses(self) -> bool:
        """Whether anything was kept in the order in which it was measured."""
        return any(each.ratios or each.warmup for each in self.strips)


def trial_sections(run: Run, arms: pd.DataFrame, anchors: Anchors, noise: float) -> list[TrialSection]:
    """Return the sections of a run's trials, in the order in which they were measured."""
    rows: dict[str, list[Row]] = {}
    for row in rows_of(arms):
        rows.setdefault(row["trial"], []).append(row)
    return [_section(trial, rows[trial.id], run, anchors, noise) for trial in run.trials]


def _section(trial: TrialRecord, arms: list[Row], run: Run, anchors: Anchors, noise: float) -> TrialSection:
    techniques = " × ".join(name.replace("_", "-") for name in trial.techniques)
    verdict, best = _best(trial)
    return TrialSection(
        anchor=anchors.trial(trial.id),
        record=trial,
        title=f"{techniques} on {trial.workload}",
        held=", ".join(filter(None, (trial.framework, in_words(trial.fixed), in_words(trial.problem)))),
        verdict=verdict,
        best=best,
        measured=details(arms),
        strips=arm_strips(trial, noise),
        paying=list(filter(None, map(pays_in_words, arms))),
        around=[(name, said) for name, said in _around(trial, run) if said],
        command=rerun(trial, run.settings),
    )


def _best(trial: TrialRecord) -> tuple[str, str]:
    """Return the verdict on a trial's best candidate, and the candidate with its speedup."""
    found = [(arm.effect, arm) for arm in trial.arms[1:] if arm.effect and arm.outcome == "measured"]
    if not found:
        return "", ""
    effect, arm = min(found, key=lambda each: _rank(each[0]))
    return effect.verdict, f"{in_words(arm.levels)} {units.ratio(effect.speedup, effect.low, effect.upper)}"


def _rank(effect: Effect) -> tuple[int, float]:
    return _BEST_FIRST.index(effect.verdict), -effect.speedup


def _around(trial: TrialRecord, run: Run) -> Iterator[tuple[str, str]]:
    """Yield what the trial was measured with, how long that took, and what the machine did meanwhile."""
    spent = sorted(trial.spent_s.items(), key=lambda item: item[1], reverse=True)
    seen = sorted(trial.disturbance.items())
    yield "measured with", ", ".join(_software(trial.framework, run.environment.configuration))
    yield "measuring took", units.seconds(trial.span_s)
    yield "the time went to", ", ".join(f"{kind} {units.seconds(spent_s)}" for kind, spent_s in spent)
    yield "meanwhile", ", ".join(f"{units.without_unit(name)} {units.named(name, value)}" for name, value in seen)


def _software(framework: str, configuration: Mapping[str, str]) -> Iterator[str]:
    """Yield the framework's version and its threads, and Python's version."""
    if version := configuration.get(f"{framework}.version"):
        yield f"{framework} {version}"
    for key, value in configuration.items():
        group, _, name = key.partition(".")
        if group == framework and name.endswith("threads"):
            yield f"{name.replace('_', ' ')} {value}"
    if python := configuration.get("python"):
        yield python
