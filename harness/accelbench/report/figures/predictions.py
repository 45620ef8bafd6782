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
_DENSE = 6  # the span of an axis, as a factor, below which it has more ticks


def draw_predictions(predictions: Sequence[Predicted], name: str) -> FigureWithData | None:
    """Draw what was measured over what the profile allows, where it bounds an effect; None if it bounds none."""
    bounded = [pair for pair in predictions if math.isfinite(pair[0].at_most)]
    if not bounded:
        return None
    title = _state_finding(bounded)
    panel = _make_panel(bounded)
    for predicted, found in bounded:
        effect = found.effect
        row = {"speedup": effect.speedup, "low": effect.low, "high": effect.upper, "verdict": effect.verdict}
        shown = f"{describe_effect(name_effect(found), row)}; the profile allows {format_bound(predicted)}"
        draw_interval(panel, predicted.at_most, effect.low, effect.upper, effect.verdict, upright=True)
        draw_point(panel, predicted.at_most, effect.speedup, effect.verdict, shown)
    verdicts = {found.effect.verdict for _, found in bounded}
    legend = [Key(label=each, colour=COLOURS[each], marker=MARKERS[each]) for each in MARKERS if each in verdicts]
    return FigureWithData(
        name=name,
        title=title,
        alt=f"{title}. {'; '.join(_describe(*pair) for pair in bounded)}.",
        note=_note(len(bounded), len(predictions) - len(bounded)),
        data=pd.DataFrame([_tabulate(*pair) for pair in bounded]),
        figure=Chart(title=title, panels=[panel], legend=legend, columns=2),
    )


def _make_panel(bounded: Sequence[Predicted]) -> Panel:
    """Return the axes, with the line on which a technique brings all that the profile allows."""
    bounds = [predicted.at_most for predicted, _ in bounded]
    low, high = min(1.0, *bounds) / _ROOM, max(bounds) * _ROOM
    places = log_places(low, high, (1, 2, 5) if high / low > _DENSE else (1, 1.2, 1.5, 2, 3, 5, 7))
    x = Axis(
        low=low,
        high=high,
        kind="log",
        label="the most that the profile allows (log)",
        ticks=ticks(places, lambda value: f"{value:g}×"),
    )
    intervals = [(found.effect.speedup, found.effect.low, found.effect.upper) for _, found in bounded]
    panel = Panel(x=x, y=speedup_axis(intervals, "measured speedup (log)"), height_pt=_HEIGHT_PT)
    start, end = max(low, panel.y.low), min(high, panel.y.high)
    panel.line([(start, start), (end, end)], INK, dash="4 3")
    panel.rule(1, LINE, along="y", width=1.2)
    return panel


def _note(bounded: int, unbounded: int) -> str:
    others = f" Of {units.count(unbounded)} more, the profile allows anything; the table has them." if unbounded else ""
    return (
        f"{units.plural(bounded, 'comparison')}; lines are the intervals of the measured speedups. On the dashed line, "
        f"a technique brings all that the profile allows.{others} {MEANING}"
    )


def _state_finding(bounded: Sequence[Predicted]) -> str:
    surpassed = sum(is_surpassed(*pair) for pair in bounded)
    count = f"{units.count(surpassed) if surpassed else 'None'} of {units.plural(len(bounded), 'bounded effect')}"
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
