"""The part of a page on why techniques paid or not: what profiles allow beside what was measured, and the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accelbench.explained_run import (
    CHANGE_HEADINGS,
    MEANING,
    Explained,
    Predicted,
    count_predictions,
    format_bound,
    is_surpassed,
    list_change_cells,
    list_gaps,
    name_case,
    name_effect,
    state_effect,
    write_paragraph,
)
from accelbench.report.figures.drawing import RenderedFigure
from accelbench.report.figures.predictions import draw_predictions
from accelbench.report.labels import Anchors, slug
from accelbench.report.tables import Column, Table, plain_table, read_number, read_text, tabulate
from accelbench.results import Findings
from accelbench.schema.environment_difference import compare_environments, facts_of_run, possible_causes, summarize
from accelbench.schema.run_explanation import RunExplanation, list_predictions, list_reasons
from accelbench.text import cross, format_levels
from accelbench.units import finite_or_none, percent, plural, ratio

_FIRST = 6  # reasons that are listed at once; the others are folded
_COLUMNS = [
    Column(heading="workload", format=read_text("workload"), shows="trial"),
    Column(heading="technique", format=read_text("technique")),
    Column(heading="touches", format=read_text("touches")),
    Column(heading="share of the time", format=read_text("share"), number=True, order=read_number("share_number")),
    Column(heading="at most", format=read_text("most"), number=True, order=read_number("most_number")),
    Column(heading="measured", format=read_text("measured"), number=True, order=read_number("speedup")),
    Column(heading="verdict", format=read_text("verdict"), shows="verdict"),
    Column(heading="bound", format=read_text("bound")),
]


@dataclass(frozen=True, kw_only=True)
class EffectReason:
    """Why an effect came about: ``name`` says of what, ``measured`` how large it is."""

    anchor: str
    trial: str
    technique: tuple[str, str]
    verdict: str
    name: str
    measured: str
    paragraph: str
    operators: Table


@dataclass(frozen=True, kw_only=True)
class WhySection:
    """What a page says of why.

    ``predicted`` counts the predictions, ``meaning`` says how to read them. ``gaps`` are sentences about what is
    lacking, or changed since the run.
    """

    reasons: list[EffectReason]
    predicted: str
    meaning: str
    predictions: Table
    figures: list[RenderedFigure]
    gaps: list[str]

    @property
    def first(self) -> list[EffectReason]:
        """The most surprising effects."""
        return self.reasons[:_FIRST]

    @property
    def others(self) -> list[EffectReason]:
        """All other effects."""
        return self.reasons[_FIRST:]

    def reasons_of_trial(self, trial: str) -> list[EffectReason]:
        """Return the reasons of the effects of a trial."""
        return [each for each in self.reasons if each.trial == trial]

    def reasons_of_technique(self, framework: str, technique: str) -> list[EffectReason]:
        """Return the reasons of the effects of a technique, as its section names it."""
        return [each for each in self.reasons if each.technique == (framework, technique)]


def explain_effects(findings: Findings, anchors: Anchors) -> WhySection | None:
    """Return what the explanation kept beside a run says; None if there is none, or if it says nothing."""
    run, explanation = findings.run, findings.result.explanation
    if explanation is None:
        return None
    predictions, reasons = list_predictions(explanation, run), list_reasons(explanation, run)
    gaps = [*list_gaps(explanation)]
    if not predictions and not reasons and not gaps:
        return None
    figure = draw_predictions(predictions, anchors.section("predictions"))
    return WhySection(
        reasons=[_make_reason(pair, anchors, place) for place, pair in enumerate(reasons, start=1)],
        predicted=count_predictions(predictions) if predictions else "",
        meaning=MEANING,
        predictions=_tabulate(predictions),
        figures=[figure.render()] if figure else [],
        gaps=[*gaps, *_describe_changes(findings, explanation)],
    )


def _make_reason(pair: Explained, anchors: Anchors, place: int) -> EffectReason:
    explained, found = pair
    name = name_effect(found)
    return EffectReason(
        anchor=anchors.section(f"why-{place}-{slug(name)}"),
        trial=found.trial.id,
        technique=(found.trial.framework, cross(found.trial.techniques)),
        verdict=found.effect.verdict,
        name=name,
        measured=state_effect(found),
        paragraph=write_paragraph(explained, found),
        operators=plain_table(CHANGE_HEADINGS, list_change_cells(explained.operators)),
    )


def _tabulate(predictions: Sequence[Predicted]) -> Table:
    rows = []
    for predicted, found in predictions:
        trial, effect = found.trial, found.effect
        rows.append(
            {
                "trial": trial.id,
                "workload": name_case(found, trial.framework),
                "technique": format_levels(predicted.levels),
                "touches": predicted.touches,
                "share": percent(predicted.share),
                "share_number": predicted.share,
                "most": format_bound(predicted),
                "most_number": finite_or_none(predicted.at_most),
                "measured": ratio(effect.speedup, effect.low, effect.upper),
                "speedup": effect.speedup,
                "verdict": effect.verdict,
                "bound": "surpassed" if is_surpassed(predicted, found) else "",
            }
        )
    return tabulate(rows, _COLUMNS)


def _describe_changes(findings: Findings, explanation: RunExplanation) -> list[str]:
    """Return what changed between a run and its explanation, as far as it may matter."""
    before, after = (facts_of_run(each, {}) for each in (findings.run.environment, explanation.environment))
    causes = possible_causes(compare_environments([before], [after]))
    if not causes:
        return []
    return [f"Since the run, {plural(len(causes), 'thing')} changed that may matter: {summarize(causes)}."]
