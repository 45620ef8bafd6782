"""A section for each technique and for each workload: the finding, its figures, its effects, its trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading.table import by_technique, rows_of
from harness.record import TrialRecord
from harness.report.anchors import Anchors
from harness.report.answer.places import Places, Row
from harness.report.answer.statements import Findings, Statement, surest_of_each
from harness.report.answer.thresholds import Threshold
from harness.report.answer.undecided import Circumstances, left_open, to_decide
from harness.report.figures.drawing import Drawn
from harness.report.tables import Table, compared
from harness.report.verdicts import counted

_BEST = 3  # techniques that pay on a workload; all of its effects stand in its trials


@dataclass(frozen=True, kw_only=True)
class TechniqueSection:
    """One technique in one framework.

    ``summary`` says what it is. ``statement`` is None where it explains only; ``open_questions`` say of each undecided
    effect what would decide it.
    """

    anchor: str
    framework: str
    technique: str
    summary: str
    counted: str
    statement: Statement | None
    thresholds: list[str]
    open_questions: list[str]
    figures: list[Drawn]
    effects: Table


@dataclass(frozen=True, kw_only=True)
class Best:
    """A technique that pays on a workload."""

    what: str
    speedup: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class WorkloadSection:
    """One workload: what it is, what pays on it most surely, and its trials as anchors and titles."""

    anchor: str
    workload: str
    frameworks: str
    summary: str
    counted: str
    best: list[Best]
    trials: list[tuple[str, str]]


def technique_sections(
    effects: pd.DataFrame,
    figures: Sequence[Drawn],
    anchors: Anchors,
    *,
    findings: Sequence[Findings],
    thresholds: Sequence[Threshold],
    around: Circumstances,
) -> list[TechniqueSection]:
    """Return a section for each technique with an effect, framework by framework."""
    stated = {(each.framework, each.technique): each for part in findings for each in part.statements}
    return [
        TechniqueSection(
            anchor=anchors.technique(framework, technique),
            framework=framework,
            technique=technique,
            summary=found["about"].iloc[0],
            counted=_counted(found),
            statement=stated.get((framework, technique)),
            thresholds=[each.said for each in thresholds if each.about == (framework, technique)],
            open_questions=_open_questions(rows_of(found), around),
            figures=[figure for figure in figures if figure.about == (framework, technique)],
            effects=compared(found),
        )
        for framework, technique, found in by_technique(effects)
    ]


def workload_sections(
    effects: pd.DataFrame, trials: Sequence[TrialRecord], anchors: Anchors, around: Circumstances
) -> list[WorkloadSection]:
    """Return a section for each workload, in the order in which they were measured."""
    together: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        together.setdefault(trial.workload, []).append(trial)
    none = effects if effects.empty else effects[:0]
    found = dict(list(effects.groupby("workload"))) if len(effects) else {}
    return [
        WorkloadSection(
            anchor=anchors.workload(workload),
            workload=workload,
            frameworks=", ".join(dict.fromkeys(trial.framework for trial in alike)),
            summary=alike[0].summary,
            counted=_counted(found.get(workload, none)),
            best=_best(rows_of(found.get(workload, none)), anchors, around),
            trials=_linked(alike, anchors),
        )
        for workload, alike in together.items()
    ]


def _counted(effects: pd.DataFrame) -> str:
    said = counted(effects["verdict"]) if len(effects) else ""
    return ": ".join(filter(None, (units.plural(len(effects), "comparison"), said)))


def _open_questions(rows: Sequence[Row], around: Circumstances) -> list[str]:
    places = Places.of(rows)
    return [
        ". ".join([f"{row['level']} {left_open(row, places.name(row), around.noise)}", *to_decide(row, around)])
        for row in rows
        if row["verdict"] == "undecided"
    ]


def _best(rows: Sequence[Row], anchors: Anchors, around: Circumstances) -> list[Best]:
    """Return the surest effect of each technique that pays, the surest of them first."""
    faster = [row for row in rows if row["verdict"] == "faster"]
    return [
        Best(
            what=row["level"],
            speedup=units.ratio(row["speedup"], row["low"], row["high"]),
            anchor=anchors.technique(row["framework"], row["switched"]),
        )
        for row in surest_of_each(faster, around)[:_BEST]
    ]


def _linked(trials: Sequence[TrialRecord], anchors: Anchors) -> list[tuple[str, str]]:
    """Return anchors and names of trials; a name says what tells trials of one technique apart."""
    rows = [{"workload": _techniques(trial), "problem": trial.problem, "fixed": trial.fixed} for trial in trials]
    places = Places.of(rows)
    return [(anchors.trial(trial.id), places.name(row)) for trial, row in zip(trials, rows, strict=True)]


def _techniques(trial: TrialRecord) -> str:
    return " × ".join(name.replace("_", "-") for name in trial.techniques)
