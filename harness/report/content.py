"""What stands on the page of a run, gathered before anything is rendered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from harness import units
from harness.reading import Bottleneck, Result, bottlenecks, choosable, effects, load
from harness.record import Run
from harness.report.anchors import Anchors
from harness.report.answer.lost import NOT_BELIEVED, Group, doubted, without_speed
from harness.report.answer.statements import Findings, findings
from harness.report.answer.thresholds import Threshold, thresholds
from harness.report.answer.undecided import circumstances
from harness.report.certificate import Certified
from harness.report.disturbance import disturbance_in_words
from harness.report.figures import draw
from harness.report.figures.drawing import Drawn
from harness.report.history.section import OverTime
from harness.report.labels import caches_in_words, taken_in_words
from harness.report.machine import (
    ceilings_in_words,
    configuration_in_words,
    machine_in_words,
    software_in_words,
    time_in_words,
)
from harness.report.matrix import Matrix, matrices
from harness.report.sections import TechniqueSection, WorkloadSection, technique_sections, workload_sections
from harness.report.side_by_side import Beside
from harness.report.tables import Table, compared, overview
from harness.report.trials.sections import TrialSection, trial_sections
from harness.report.verdicts import counted


@dataclass(frozen=True, kw_only=True)
class RunPart:
    """One run's part of a page: everything that the templates show of it."""

    name: str
    taken: str
    anchors: Anchors
    machine: str
    certified: Certified
    software: str
    disturbance: list[str]
    time: str
    configuration: list[tuple[str, list[tuple[str, str]]]]
    interrupted: bool
    counted: str
    noise: str
    findings: list[Findings]
    bottlenecks: list[Bottleneck]
    wrong: list[Group]
    doubtful: list[Group]
    missing: list[Group]
    matrices: list[Matrix]
    figures: list[Drawn]
    thresholds: list[Threshold]
    techniques: list[TechniqueSection]
    workloads: list[WorkloadSection]
    effects: Table
    arms: Table
    trials: list[TrialSection]

    @property
    def general_figures(self) -> list[Drawn]:
        """The figures that are about the whole run."""
        told = self._told
        return [figure for figure in self.figures if figure.about not in told]

    @property
    def general_thresholds(self) -> list[str]:
        """The thresholds of techniques that have no section, since nothing was compared."""
        told = self._told
        return [threshold.said for threshold in self.thresholds if threshold.about not in told]

    @property
    def _told(self) -> set[tuple[str, str]]:
        return {(technique.framework, technique.technique) for technique in self.techniques}


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page about one run, or about several, which then stand side by side first.

    ``over_time`` is what the runs before it show together with it.
    """

    title: str
    runs: list[RunPart]
    beside: Beside | None = None
    over_time: OverTime | None = None


def part_of(result: Result, proof: Certified, prefix: str = "") -> RunPart:
    """Gather what a page shows of a run, with what a certificate says of the measuring."""
    anchors, run, arms = Anchors(prefix=prefix), result.run, load([result])
    found, around = effects(arms), circumstances(run)
    held_back, lost = bottlenecks(run), without_speed(arms)
    chosen = choosable(found, held_back)
    figures = [replace(figure, name=f"{prefix}{figure.name}") for figure in draw(arms, found, around.noise)]
    told, limits = findings(chosen, around), list(thresholds(arms, found))
    return RunPart(
        name=result.name,
        taken=taken_in_words(result),
        anchors=anchors,
        machine=machine_in_words(run.environment.identity),
        certified=proof,
        software=software_in_words(run.environment),
        disturbance=list(disturbance_in_words(run)),
        time=time_in_words(run),
        configuration=[*configuration_in_words(run), *ceilings_in_words(run)],
        interrupted=run.interrupted,
        counted=_counted(run, found),
        noise=f"±{units.percent(around.noise)}",
        findings=told,
        bottlenecks=held_back,
        wrong=[each for each in lost if each.outcome in NOT_BELIEVED],
        doubtful=doubted(arms),
        missing=[each for each in lost if each.outcome not in NOT_BELIEVED],
        matrices=matrices(arms, chosen, anchors),
        figures=figures,
        thresholds=limits,
        techniques=technique_sections(found, figures, anchors, findings=told, thresholds=limits, around=around),
        workloads=workload_sections(chosen, run.trials, anchors, around),
        effects=compared(found),
        arms=overview(arms),
        trials=trial_sections(run, arms, anchors, around.noise),
    )


def _counted(run: Run, found: pd.DataFrame) -> str:
    arms = sum(len(trial.arms) for trial in run.trials)
    parts = ((len(run.trials), "trial"), (arms, "arm"), (len(found), "comparison"))
    said = ", ".join(units.plural(count, noun) for count, noun in parts) + caches_in_words(run)
    return f"{said}: {counted(found['verdict'])}" if len(found) else said
