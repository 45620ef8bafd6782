"""Measured speedups against the highest that a profile of the baseline allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from accelbench import units
from accelbench.explained_run import MEANING, Predicted, format_bound, is_surpassed, name_effect
from accelbench.report.figures.drawing import FigureWithData, describe_effect, draw_interval, draw_point, speedup_axis
from accelbench.report.figures.svg import INK, LINE, Axis, Chart, Key, Panel, log_places, ticks
from accelbench.report.verdicts import COLOURS, MARKERS
from accelbench.schema.run_explanation import EffectOfRun, PredictedEffect

_HEIGHT_PT = 200
_ROOM = 1.15  # beside the outermost bounds, as a factor
_BEYOND = 1.6  # times the highest bound, where effects lie of which the profile allows anything


def draw_predictions(predictions: Sequence[Predicted], name: str) -> FigureWithData | None:
    """Draw what was measured over what the profile allows; None if it bounds no effect."""
    bounds = [predicted.at_most for predicted, _ in predictions if math.isfinite(predicted.at_most)]
    if not bounds:
        return None
    title = _state_finding(predictions, len(bounds))
    effects = [found.effect for _, found in predictions]
    highest = max(bounds)
    anything = _BEYOND * highest
    low, high = min(1.0, *bounds) / _ROOM, anything * _ROOM if len(bounds) < len(predictions) else highest * _ROOM
    places = [place for place in log_places(low, highest, (1, 2, 5)) if place < anything / 1.2]
    x = Axis(
        low=low,
        high=high,
        kind="log",
        label="the most that the profile allows (log)",
        ticks=[*ticks(places, lambda value: f"{value:g}×"), *([(anything, ("any",))] if high > anything else [])],
    )
    y = speedup_axis([(each.speedup, each.low, each.upper) for each in effects], "measured speedup (log)")
    panel = Panel(x=x, y=y, height_pt=_HEIGHT_PT)
    start, end = max(low, y.low), min(high if high <= highest * _ROOM else anything / _ROOM, y.high)
    panel.line([(start, start), (end, end)], INK, dash="4 3")
    panel.rule(1, LINE, along="y", width=1.2)
    for predicted, found in predictions:
        place = min(predicted.at_most, anything)
        effect = found.effect
        row = {"speedup": effect.speedup, "low": effect.low, "high": effect.upper, "verdict": effect.verdict}
        shown = f"{describe_effect(name_effect(found), row)}; the profile allows {format_bound(predicted)}"
        draw_interval(panel, place, effect.low, effect.upper, effect.verdict, upright=True)
        draw_point(panel, place, effect.speedup, effect.verdict, shown)
    verdicts = dict.fromkeys(each.verdict for each in effects)
    legend = [Key(label=each, colour=COLOURS[each], marker=MARKERS[each]) for each in MARKERS if each in verdicts]
    return FigureWithData(
        kind="predictions",
        name=name,
        title=title,
        alt=f"{title}. {'; '.join(_describe(*pair) for pair in predictions)}.",
        note=(
            f"{units.plural(len(predictions), 'effect')}; lines are the intervals of the measured speedups. On the "
            f"dashed line, a technique brings all that the profile allows. {MEANING}"
        ),
        data=pd.DataFrame([_tabulate(*pair) for pair in predictions]),
        figure=Chart(title=title, panels=[panel], legend=legend, columns=2),
    )


def _state_finding(predictions: Sequence[Predicted], bounded: int) -> str:
    surpassed = sum(is_surpassed(*pair) for pair in predictions)
    count = f"{units.count(surpassed) if surpassed else 'None'} of {units.plural(bounded, 'bounded effect')}"
    return f"{count} surely {'surpasses' if surpassed < 2 else 'surpass'} what the profile of the baseline allows"


def _describe(predicted: PredictedEffect, found: EffectOfRun) -> str:
    effect = found.effect
    return (
        f"{name_effect(found)}: at most {format_bound(predicted)}, measured "
        f"{units.ratio(effect.speedup, effect.low, effect.upper)}"
    )


def _tabulate(predicted: PredictedEffect, found: EffectOfRun) -> dict[str, object]:
    effect = found.effect
    return {
        "effect": name_effect(found),
        "touches": predicted.touches,
        "share of the time": predicted.share,
        "at most (×)": predicted.at_most,
        "speedup (×)": effect.speedup,
        "from (×)": effect.low,
        "to (×)": effect.upper,
        "verdict": effect.verdict,
    }
