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
from harness.record import Run
from harness.report.anchors import Anchors
from harness.report.answer import Statement, statements
from harness.report.certificate import Certified
from harness.report.figures import draw
from harness.report.figures.drawing import Drawn
from harness.report.machine import ceilings_in_words, configuration_in_words, machine_in_words
from harness.report.matrix import Matrix
from harness.report.sections import TechniqueSection, technique_sections
from harness.report.tables import Table, compared, overview
from harness.report.thresholds import thresholds_in_words
from harness.report.trials import TrialSection, trial_sections
from harness.report.verdicts import GLYPHS

_NOISE = 0.01  # the noise zone of a run whose settings do not tell it
_NOT_BELIEVED = {  # outcomes that a speed was taken for, and why it is none
    "wrong-output": "with wrong output",
    "wrong-work": "with wrong work",
    "misplaced": "misplaced",
    "impossible": "impossible",
}
_NAMED = 6  # arms of one reason; all of them stand in the table of arms
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
class RunPart:
    """One run's part of a page: everything that the templates show of it."""

    name: str
    taken: str
    anchors: Anchors
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
    matrices: list[Matrix]
    figures: list[Drawn]
    techniques: list[TechniqueSection]
    effects: Table
    arms: Table
    trials: list[TrialSection]

    @property
    def general_figures(self) -> list[Drawn]:
        """The figures that are about the whole run."""
        told = {technique.anchor for technique in self.techniques}
        return [figure for figure in self.figures if self.anchors.technique(*figure.about) not in told]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page about one run, or about several."""

    title: str
    runs: list[RunPart]


def part_of(result: Result, proof: Certified, prefix: str = "") -> RunPart:
    """Gather what a page shows of a run, with what a certificate says of the measuring."""
    anchors = Anchors(prefix=prefix)
    run, arms = result.run, load([result])
    found, noise = effects(arms), _noise(run)
    trials = {trial.id: trial for trial in run.trials}
    lost, held_back = _missing(arms), bottlenecks(run)
    # What takes a burden off explains; it is no technique that a person could choose.
    chosen = found[~found["trial"].isin([each.trial for each in held_back])] if held_back else found
    figures = draw(arms, found, noise)
    return RunPart(
        name=result.name,
        taken=f"{result.taken.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if result.taken else "at an unknown time",
        anchors=anchors,
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
        matrices=[],
        figures=figures,
        techniques=technique_sections(found, figures, anchors),
        effects=compared(found),
        arms=overview(arms),
        trials=trial_sections(run, arms, anchors),
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
