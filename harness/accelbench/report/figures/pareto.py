"""Speed against numeric error and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    describe_effect,
    describe_sample,
    draw_interval,
    intervals_of,
    speedup_axis,
)
from accelbench.report.figures.svg import Anchor, Axis, Chart, Panel, clip, log_places, text_width_pt, ticks
from accelbench.report.labels import slug
from accelbench.report.verdicts import COLOURS, MARKERS
from accelbench.results import Findings
from accelbench.results.arm_table import Row, label_case, rows_of
from accelbench.results.tradeoffs import PRICES, has_price, is_paying, on_front, select_gaining, tradeoffs
from accelbench.text import join_names

_MOST_POINTS = 200
_MOST_ERROR = 1e6  # a larger one is beyond the axis
_ROOM_PT = 290  # the width of a figure without what stands beside its tick labels
_MOST_NAMED = 6  # points of a panel that carry their name
_HEIGHT_PT, _NAME_PT = 130, 8  # of a panel, and of a name in it
_HEADINGS = {
    "level": "level",
    "workload": "workload",
    "held": "case",
    "verdict": "verdict",
    **SPEEDUP_HEADINGS,
    "pairs": "pairs",
    "error": "numeric error (relative)",
    "error_front": "on the front of speed and error",
    "memory_ratio": "memory (relative to the baseline's)",
    "memory_ratio_front": "on the front of speed and memory",
}


@dataclass(frozen=True, kw_only=True)
class _Price:
    """One price over speed: its column, the label of its axis, and the axis for its values."""

    price: str
    label: str
    axis: Callable[[str, Sequence[float]], Axis]


def _error_axis(label: str, errors: Sequence[float]) -> Axis:
    """Return an axis of errors by their logarithm, on which those of mere rounding lie evenly down to 0."""
    least, most = units.ROUNDING_ERROR, 3 * min(max(*errors, units.ROUNDING_ERROR), _MOST_ERROR)
    decades = range(round(math.log10(least)), math.floor(math.log10(most)) + 1)
    places = ticks([0.0, *(10.0**decade for decade in decades)], lambda error: f"{100 * error:g} %")
    return Axis(low=-0.3 * least, high=most, kind="symlog", threshold=least, label=label, ticks=places)


def _memory_axis(label: str, ratios: Sequence[float]) -> Axis:
    least, most = min(*ratios, 1.0), max(*ratios, 1.0)
    within_decade = (1, 2, 5) if most / least > 3 else (1, 1.2, 1.5, 2, 3, 5, 7, 8, 9)
    low, high = least / 1.15, most * 1.15
    places = ticks(log_places(low, high, within_decade), lambda ratio: f"{ratio:g}×")
    return Axis(low=low, high=high, kind="log", label=label, ticks=places)


_PANELS = (
    _Price(price="error", label="numeric error", axis=_error_axis),
    _Price(price="memory_ratio", label="memory (baseline: 1×)", axis=_memory_axis),
)


def pareto_figure(framework: str, technique: str, effects: pd.DataFrame) -> FigureWithData:
    """Draw what each arm of a technique gains in speed over what it pays: filled where it is on its trial's front."""
    points = _strongest(effects)
    points = points.assign(held=[label_case(row) for _, row in points.iterrows()])
    prices = [each for each in _PANELS if has_price(points, each.price)]
    finding, note = describe_tradeoff(effects), " ".join(notes(points, len(effects)))
    x = speedup_axis(intervals_of(points))
    panels = [_panel(x, points[points[each.price].notna()], each, technique) for each in prices]
    panels[-1].x = replace(x, label=clip(f"speedup per item, {framework} (log)"))
    absent = PRICES.keys() - {each.price for each in prices}
    columns = [name for name in _HEADINGS if name.removesuffix("_front") not in absent]
    return FigureWithData(
        name=slug(f"pareto-{technique}-{framework}"),
        title=finding,
        alt=f"{finding}. {note}",
        note=note,
        data=points[columns].rename(columns=_HEADINGS),
        about=(framework, technique),
        figure=Chart(title=finding, panels=panels),
    )


def _strongest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the arms that pay a price, then the others, the furthest from 1 first, as many as a figure can show."""
    strength = effects["speedup"].map(lambda ratio: abs(math.log(ratio)))
    order = pd.DataFrame({"pays": is_paying(effects), "strength": strength}).sort_values(["pays", "strength"])
    return effects.loc[order.index[-_MOST_POINTS:].sort_values()]


def _panel(x: Axis, points: pd.DataFrame, price: _Price, technique: str) -> Panel:
    panel = Panel(x=x, y=price.axis(price.label, points[price.price].tolist()), height_pt=_HEIGHT_PT)
    rows, on_it = rows_of(points), f"{price.price}_front"
    panel.rule(1)
    for row in rows:
        if row["low"] and math.isfinite(row["high"]):
            draw_interval(panel, row[price.price], row["low"], row["high"], row["verdict"], width=1, opacity=0.4)
    for trial in dict.fromkeys(row["trial"] for row in rows if row[on_it]):
        front = sorted((row["speedup"], row[price.price]) for row in rows if row["trial"] == trial and row[on_it])
        panel.line(front, width=0.6, opacity=0.6)
    panel.mark(1, PRICES[price.price], "+", size=10, title="the baseline")
    for row in rows:
        colour, marker = COLOURS[row["verdict"]], MARKERS[row["verdict"]]
        title = describe_effect(f"{row['level']} on {row['workload']}", row)
        panel.mark(row["speedup"], row[price.price], marker, colour, hollow=not row[on_it], title=title)
    _name(panel, rows, price.price, technique)
    return panel


def _name(panel: Panel, rows: Sequence[Row], price: str, technique: str) -> None:
    """Write the names of the strongest decided points of a front beside them, as far as there is room."""
    width_pt = _ROOM_PT - max(text_width_pt(label[0]) for _, label in panel.y.ticks)
    height, near = 1.3 * _NAME_PT / _HEIGHT_PT, 6 / width_pt  # as shares of the panel
    taken = [(panel.x.share(row["speedup"]), panel.y.share(row[price])) for row in rows]
    boxes = [(x - near, x + near, y) for x, y in taken]
    baseline = panel.x.share(1.0)
    front = [row for row in rows if row[f"{price}_front"] and row["verdict"] != "undecided"]
    for row in sorted(front, key=lambda row: -abs(math.log(row["speedup"])))[:_MOST_NAMED]:
        name = clip(f"{row['level'].removeprefix(f'{technique} ')} · {row['workload']}")
        x, y = panel.x.share(row["speedup"]), panel.y.share(row[price])
        width = text_width_pt(name, _NAME_PT) / width_pt
        sides: tuple[tuple[Anchor, float], ...] = (("start", x + near), ("end", x - near - width))
        for anchor, start in sides:
            end = start + width
            free = not any(abs(y - other) < height and start < right and left < end for left, right, other in boxes)
            if free and start >= 0 and end <= 1 and not start < baseline < end:
                boxes.append((start, end, y))
                away = near * width_pt if anchor == "start" else -near * width_pt
                panel.text(row["speedup"], row[price], name, dx=away, anchor=anchor, size=_NAME_PT)
                break


def describe_tradeoff(points: pd.DataFrame) -> str:
    """Return what the strongest arm on a front gains and pays, and which levels are dominated."""
    kept = select_gaining(points)
    faster = kept[kept["verdict"] == "faster"]
    best = kept.loc[[kept["memory_ratio"].idxmin() if faster.empty else faster["speedup"].idxmax()]]
    level, workload, speedup = best[["level", "workload", "speedup"]].iloc[0]
    if faster.empty:
        said = f"{level} takes {_memory(best)} on {workload}, at {units.speedup(speedup)} the speed{_inexact(best)}"
    else:
        said = f"{level} is {units.speedup(speedup)} as fast on {workload}{_price(best)}"
    return "; ".join([said, *_describe_dominated(points)])


def notes(points: pd.DataFrame, every: int) -> Iterator[str]:
    """Yield what the marks rest on and what they mean."""
    shown = units.plural(len(points), "arm") if len(points) == every else f"The {len(points)} strongest of {every} arms"
    trials = units.plural(points["trial"].nunique(), "trial")
    yield f"{shown} in {trials}, {describe_sample(points['pairs'], 'pair')} each; the cross is the baseline."
    yield "Filled: by the estimates, no other arm of its trial is as fast for less (Pareto front); hollow: dominated."
    if has_price(points, "error"):
        yield f"An error below {units.percent(units.ROUNDING_ERROR)} is rounding."
    if has_price(points, "memory_ratio"):
        yield f"Memory: {' or '.join(sorted(set(points['memory_kind'])))}, over the baseline’s."


def _describe_dominated(points: pd.DataFrame) -> Iterator[str]:
    """Yield which levels are decided and dominated in every trial."""
    hopeless = ~on_front(points) & (points["verdict"] != "undecided")
    everywhere = hopeless.groupby(points["level"], sort=False).all()
    levels = everywhere.index[everywhere].tolist()
    if 0 < len(levels) <= 2:
        yield f"{join_names(levels)} {'is' if len(levels) == 1 else 'are'} dominated everywhere"
    elif levels:
        yield f"{len(levels)} of {len(everywhere)} levels are dominated everywhere"


def _price(row: pd.DataFrame) -> str:
    memory = _memory(row) if has_price(row, "memory_ratio") else ""
    inexact = _inexact(row)
    if not memory:
        return inexact or " at no price"
    return f"{inexact} and {memory}" if inexact else f" with {memory}"


def _inexact(row: pd.DataFrame) -> str:
    return f" with {units.error(row['error'].iloc[0])} error" if has_price(row, "error") else ""


def _memory(row: pd.DataFrame) -> str:
    ratio = row["memory_ratio"].iloc[0]
    if ratio >= 2:
        return f"{units.significant(ratio, 2)} times the memory"
    return f"{units.percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} memory"


class ParetoFigure(FigureKind):
    """Speed against numeric error and memory."""

    position = 20

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each technique that has a price and gains something."""
        for framework, technique, effects in tradeoffs(findings.effects):
            yield pareto_figure(framework, technique, effects)
