"""What stands on the page of a run, gathered before anything is rendered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import pandas as pd

from harness import units
from harness.reading import Bottleneck, Result, bottlenecks, effects, load
from harness.reading.table import in_words, rows_of
from harness.record import Run, TrialRecord
from harness.report.answer import Statement, statements
from harness.report.certified import Certified
from harness.report.charts import draw
from harness.report.drawing import Drawn, slug
from harness.report.machine import ceilings_in_words, configuration_in_words, machine_in_words
from harness.report.tables import Table, compared, details, overview
from harness.report.verdicts import GLYPHS
from harness.report.words import thresholds_in_words

_NOISE = 0.01  # the noise zone of a run whose settings do not tell it
_NOT_BELIEVED = {  # outcomes that a speed was taken for, and why it is none
    "wrong-output": "with wrong output",
    "wrong-work": "with wrong work",
    "misplaced": "misplaced",
    "impossible": "impossible",
}
_NAMED = 6  # arms of one reason; all of them stand in the table of arms
_FIGURES = {
    "effects": "Effects",
    "batch-size": "Throughput and memory by batch size",
    "workers": "Throughput by workers",
    "size": "Time by size",
}
_HEADINGS = {
    "faster": "What pays",
    "slower": "What slows down",
    "same": "What makes no difference",
    "undecided": "What is undecided, and why",
}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Arms that have no speed, or a doubtful one, for one and the same reason."""

    outcome: str
    reason: str
    arms: list[str]

    @property
    def counted(self) -> str:
        """How many they are, and what became of them."""
        became = _NOT_BELIEVED.get(self.outcome, self.outcome.replace("-", " "))
        return f"{units.plural(len(self.arms), 'arm')} {became}"

    @property
    def named(self) -> str:
        """Which they are, as far as one wants to read."""
        more = len(self.arms) - _NAMED
        return "; ".join(self.arms[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The statements of one verdict."""

    verdict: str
    heading: str
    statements: list[Statement]


@dataclass(frozen=True, kw_only=True)
class TrialSection:
    """One trial's part of the page."""

    anchor: str
    record: TrialRecord
    title: str
    held: str
    measured: Table
    around: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Content:
    """Everything that the templates show."""

    name: str
    taken: str
    machine: str
    certified: Certified
    configuration: list[tuple[str, list[tuple[str, str]]]]
    interrupted: bool
    counted: str
    noise: str
    findings: list[Findings]
    thresholds: list[str]
    bottlenecks: list[Bottleneck]
    wrong: list[Group]
    doubtful: list[Group]
    missing: list[Group]
    figures: list[Drawn]
    effects: Table
    arms: Table
    trials: list[TrialSection]

    @property
    def figure_groups(self) -> list[tuple[str, list[Drawn]]]:
        """The figures by what they show, with a heading."""
        groups = [(heading, [each for each in self.figures if each.kind == kind]) for kind, heading in _FIGURES.items()]
        return [(heading, figures) for heading, figures in groups if figures]

    @property
    def anchors(self) -> dict[str, str]:
        """The anchor of each trial, by its id."""
        return {trial.record.id: trial.anchor for trial in self.trials}


def content_of(result: Result, proof: Certified) -> Content:
    """Gather the content of a run's page, with what a certificate says of the measuring."""
    run, arms = result.run, load([result])
    found, noise = effects(arms), _noise(run)
    trials = {trial.id: trial for trial in run.trials}
    lost, held_back = _missing(arms), bottlenecks(run)
    # What takes a burden off explains; it is no technique that a person could choose.
    chosen = found[~found["trial"].isin([each.trial for each in held_back])] if held_back else found
    return Content(
        name=result.name,
        taken=f"{result.taken.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if result.taken else "at an unknown time",
        machine=machine_in_words(run.environment.identity),
        certified=proof,
        configuration=[*configuration_in_words(run), *ceilings_in_words(run)],
        interrupted=run.interrupted,
        counted=_counted(run, found),
        noise=f"±{units.percent(noise)}",
        findings=[
            Findings(verdict=verdict, heading=heading, statements=statements(chosen, verdict, trials, noise))
            for verdict, heading in _HEADINGS.items()
        ],
        thresholds=list(thresholds_in_words(arms, found)),
        bottlenecks=held_back,
        wrong=[each for each in lost if each.outcome in _NOT_BELIEVED],
        doubtful=_doubtful(arms),
        missing=[each for each in lost if each.outcome not in _NOT_BELIEVED],
        figures=draw(arms, found, noise),
        effects=compared(found),
        arms=overview(arms),
        trials=[_section(trial, place, arms) for place, trial in enumerate(run.trials, start=1)],
    )


def _noise(run: Run) -> float:
    noise = run.settings.get("noise")
    return noise if isinstance(noise, float) and 0 < noise < 1 else _NOISE


def _counted(run: Run, found: pd.DataFrame) -> str:
    arms = sum(len(trial.arms) for trial in run.trials)
    counts = Counter(found["verdict"]) if len(found) else Counter()
    parts = ((len(run.trials), "trial"), (arms, "arm"), (len(found), "comparison"))
    said = ", ".join(units.plural(count, noun) for count, noun in parts)
    each = ", ".join(f"{GLYPHS[verdict]} {counts[verdict]} {verdict}" for verdict in GLYPHS if counts[verdict])
    return f"{said}: {each}" if each else said


def _missing(arms: pd.DataFrame) -> list[Group]:
    """Return the arms that were not measured, by why."""
    return _grouped((row, row["outcome"], row["reason"]) for row in rows_of(arms) if row["outcome"] != "measured")


def _doubtful(arms: pd.DataFrame) -> list[Group]:
    """Return the arms that were measured and flagged, by why."""
    measured = (row for row in rows_of(arms) if row["outcome"] == "measured")
    return _grouped((row, "doubtful", flag) for row in measured for flag in row["flags"])


def _grouped(found: Iterable[tuple[dict[str, Any], str, str]]) -> list[Group]:
    """Group arms, each with its outcome and the reason, by both; the most frequent reason first."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row, outcome, reason in found:
        details = ", ".join(filter(None, (row["framework"], in_words(row["fixed"]), in_words(row["problem"]))))
        groups.setdefault((outcome, reason), []).append(f"{row['level']} on {row['workload']} ({details})")
    ordered = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    return [Group(outcome=outcome, reason=reason, arms=places) for (outcome, reason), places in ordered]


def _section(trial: TrialRecord, place: int, arms: pd.DataFrame) -> TrialSection:
    techniques = " × ".join(name.replace("_", "-") for name in trial.techniques)
    around = [(units.without_unit(name), units.named(name, value)) for name, value in sorted(trial.disturbance.items())]
    return TrialSection(
        anchor=f"trial-{place}-{slug(trial.id.rpartition('::')[2])}",
        record=trial,
        title=f"{techniques} on {trial.workload}",
        held=", ".join(filter(None, (trial.framework, in_words(trial.fixed), in_words(trial.problem)))),
        measured=details(arms[arms["trial"] == trial.id]),
        around=[("measuring took", units.seconds(trial.span_s)), *around],
    )
