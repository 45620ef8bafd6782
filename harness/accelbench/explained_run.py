"""The explanation of a run in words: predictions beside measured speedups, and why effects came about.

The command prints it and reports show it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from accelbench.schema.result import Run
from accelbench.schema.run_explanation import (
    EffectOfRun,
    ExplainedEffect,
    OperatorChange,
    PredictedEffect,
    RunExplanation,
    list_predictions,
    list_reasons,
)
from accelbench.text import format_case, format_levels, format_table, join_sentences
from accelbench.units import count, finite_or_none, minutes, percent, plural, ratio, seconds, speedup

Predicted = tuple[PredictedEffect, EffectOfRun]
Explained = tuple[ExplainedEffect, EffectOfRun]

PREDICTION_HEADINGS = ("workload", "technique", "touches", "share of the time", "at most", "measured", "")
CHANGE_HEADINGS = ("operator", "without", "with", "difference", "calls")
MEANING = (
    "A technique that touches a share of the time brings at most what Amdahl's law allows. The share is measured by a "
    "profile of the baseline alone. It bounds a gain, and does not say whether there is one."
)


def format_bound(predicted: PredictedEffect) -> str:
    """Return the most that a technique could bring, such as ``2.63×``."""
    return speedup(predicted.at_most) if math.isfinite(predicted.at_most) else "not bounded"


def is_surpassed(predicted: PredictedEffect, found: EffectOfRun) -> bool:
    """Return whether the technique surely brought more than the profile allows."""
    return found.effect.low > predicted.at_most


def list_prediction_cells(predictions: Iterable[Predicted]) -> list[tuple[str, ...]]:
    """Return the cells of a row for each prediction, under ``PREDICTION_HEADINGS``."""
    return [
        (
            name_case(found),
            format_levels(predicted.levels),
            predicted.touches,
            percent(predicted.share),
            format_bound(predicted),
            ratio(found.effect.speedup, found.effect.low, found.effect.upper),
            "surpassed" if is_surpassed(predicted, found) else "",
        )
        for predicted, found in predictions
    ]


def list_change_cells(changes: Iterable[OperatorChange]) -> list[tuple[str, ...]]:
    """Return the cells of a row for each operator, under ``CHANGE_HEADINGS``."""
    return [
        (
            each.name,
            seconds(each.before_s),
            seconds(each.after_s),
            f"{'+' if each.added_s > 0 else '−'}{seconds(abs(each.added_s))}",
            f"{count(round(each.calls_before))} → {count(round(each.calls_after))}",
        )
        for each in changes
    ]


def count_predictions(predictions: Sequence[Predicted]) -> str:
    """Return how many effects were predicted, bounded and surpassed, as a sentence."""
    bounded = [pair for pair in predictions if math.isfinite(pair[0].at_most)]
    surpassed = sum(is_surpassed(*pair) for pair in bounded)
    surpass = "surpass their bounds" if surpassed > 1 else "surpasses its bound"
    return (
        f"Profiles cover {plural(len(predictions), 'effect')} and bound {count(len(bounded))} of them; "
        f"{count(surpassed) if surpassed else 'none'} {surpass}."
    )


def name_case(found: EffectOfRun, framework: str = "") -> str:
    """Return on what an effect was measured."""
    trial = found.trial
    return format_case(
        workload=trial.workload,
        problem=trial.problem,
        fixed=trial.fixed,
        framework=framework,
        test=found.test,
    )


def name_effect(found: EffectOfRun) -> str:
    """Return what an effect is of, such as ``amp fp16 on mlp-train (torch)``."""
    return f"{format_levels(found.arm.levels)} on {name_case(found)} ({found.trial.framework})"


def state_effect(found: EffectOfRun) -> str:
    """Return what was measured, such as ``0.107× (0.101–0.112), slower``."""
    effect = found.effect
    return f"{ratio(effect.speedup, effect.low, effect.upper)}, {effect.verdict}"


def write_paragraph(explained: ExplainedEffect, found: EffectOfRun) -> str:
    """Return why an effect came about, as a paragraph."""
    return join_sentences([*explained.sentences, _compare_profiled(explained, found)])


def _compare_profiled(explained: ExplainedEffect, found: EffectOfRun) -> str:
    """Return how long iterations took where they were profiled, and whether that agrees with the run."""
    times = f"{seconds(explained.before_s)} without it and {seconds(explained.after_s)} with it"
    text = f"where it was profiled, an iteration of as many items takes {times}"
    if (found.effect.speedup < 1) != (explained.after_s > explained.before_s):
        text += ": the effect did not show there, so the profiles do not tell what it is due to"
    return text


def list_gaps(explanation: RunExplanation) -> Iterator[str]:
    """Yield in sentences what the explanation lacks."""
    if explanation.left_out:
        yield (
            f"{plural(explanation.left_out, 'effect')} more would be worth explaining; the time did not suffice: raise "
            "--budget."
        )
    if explanation.baselines_left_out:
        yield f"For {plural(explanation.baselines_left_out, 'baseline')} there was no time to predict: raise --budget."
    for sentence in explanation.not_profiled:
        yield f"Not profiled: {sentence}."


def as_text(explanation: RunExplanation, run: Run) -> str:
    """Return the explanation for a terminal."""
    return "\n".join(_write_lines(explanation, run, heading=lambda text: text))


def as_markdown(explanation: RunExplanation, run: Run) -> str:
    """Return the explanation to paste into an issue or a page."""
    return "\n".join(_write_lines(explanation, run, heading=lambda text: f"**{text}**", fence="```"))


def as_json(explanation: RunExplanation, run: Run) -> dict[str, Any]:
    """Return everything as plain data, with what was measured beside each part; unbounded ends are None."""
    written: dict[str, Any] = msgspec.to_builtins(explanation)
    return written | {
        "predictions": [
            msgspec.to_builtins(predicted) | {"at_most": finite_or_none(predicted.at_most)} | _measured_as_json(found)
            for predicted, found in list_predictions(explanation, run)
        ],
        "reasons": [
            msgspec.to_builtins(explained) | _measured_as_json(found)
            for explained, found in list_reasons(explanation, run)
        ],
    }


def _measured_as_json(found: EffectOfRun) -> dict[str, Any]:
    effect = found.effect
    measured = {name: getattr(effect, name) for name in ("speedup", "low", "high", "verdict")}
    return {"workload": found.trial.workload, "framework": found.trial.framework, "measured": measured}


def write_effect(
    explained: ExplainedEffect | str,
    found: EffectOfRun,
    heading: Callable[[str], str],
    fence: str = "",
) -> Iterator[str]:
    """Yield the lines about one effect: what it is, why, and its operators; or a text why it is not explained."""
    yield heading(f"{name_effect(found)}: {state_effect(found)}")
    if isinstance(explained, str):
        yield from ("", f"Not profiled: {explained}.", "")
        return
    yield from ("", write_paragraph(explained, found), "")
    yield from _fence(format_table(list_change_cells(explained.operators), CHANGE_HEADINGS), fence)


def _fence(table: str, fence: str) -> Iterator[str]:
    yield from (f"{fence}text", table, fence, "") if fence else (table, "")


def _write_lines(
    explanation: RunExplanation, run: Run, heading: Callable[[str], str], fence: str = ""
) -> Iterator[str]:
    for explained, found in list_reasons(explanation, run):
        yield from write_effect(explained, found, heading, fence)
    if predictions := list_predictions(explanation, run):
        yield heading("What profiles of the baselines allow, beside what was measured")
        yield from ("", f"{count_predictions(predictions)} {MEANING}", "")
        yield from _fence(format_table(list_prediction_cells(predictions), PREDICTION_HEADINGS), fence)
    yield from list_gaps(explanation)
    parts = plural(len(explanation.reasons), "effect")
    yield f"{parts} explained in {minutes(explanation.spent_s)}."
