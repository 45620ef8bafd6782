"""Each trial's section: how it was measured, what it cost to start, and how to run it again."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading.table import in_words
from harness.record import Run, TrialRecord
from harness.report.anchors import Anchors
from harness.report.tables import Table, details


@dataclass(frozen=True, kw_only=True)
class TrialSection:
    """One trial's part of the page."""

    anchor: str
    record: TrialRecord
    title: str
    held: str
    measured: Table
    around: list[tuple[str, str]]


def trial_sections(run: Run, arms: pd.DataFrame, anchors: Anchors) -> list[TrialSection]:
    """Return the sections of a run's trials, in the order in which they were measured."""
    return [_section(trial, arms, anchors) for trial in run.trials]


def _section(trial: TrialRecord, arms: pd.DataFrame, anchors: Anchors) -> TrialSection:
    techniques = " × ".join(name.replace("_", "-") for name in trial.techniques)
    around = [(units.without_unit(name), units.named(name, value)) for name, value in sorted(trial.disturbance.items())]
    return TrialSection(
        anchor=anchors.trial(trial.id),
        record=trial,
        title=f"{techniques} on {trial.workload}",
        held=", ".join(filter(None, (trial.framework, in_words(trial.fixed), in_words(trial.problem)))),
        measured=details(arms[arms["trial"] == trial.id]),
        around=[("measuring took", units.seconds(trial.span_s)), *around],
    )
