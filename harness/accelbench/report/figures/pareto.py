"""Speed against numeric error and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator

from accelbench import units
from accelbench.report.figures.drawing import (
    INK,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    clip,
    describe_sample,
    draw_intervals,
    new_figure,
    scale_speedups,
    write_ticks,
)
from accelbench.report.labels import slug
from accelbench.report.verdicts import COLOURS, MARKERS
from accelbench.results import Findings
from accelbench.results.tradeoffs import PRICES, has_price, is_paying, on_front, select_gaining, tradeoffs
from accelbench.text import format_case

_MOST_POINTS = 200
_MOST_ERROR = 1e6  # a larger one is beyond the axis
_MOST_NAMED = 6  # points of a panel that carry their name
_NAME_HEIGHT, _LETTER_WIDTH = 0.07, 0.017  # of a panel, roughly: what a name takes
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
class _Panel:
    """One price over speed: its column, its label, the format of its values and the scale of its axis."""

    price: str
    label: str
    format: Callable[[float], str]
    scale: Callable[[Axes, pd.Series[Any]], None]


def _scale_errors(axes: Axes, errors: pd.Series[Any]) -> None:
    """Scale errors by their logarithm, and those of mere rounding evenly down to 0."""
    least, most = units.ROUNDING_ERROR, 3 * min(max(errors.max(), units.ROUNDING_ERROR), _MOST_ERROR)
    axes.set_yscale("symlog", linthresh=least, linscale=0.4)
    axes.set_ylim(-0.3 * least, most)
    decades = range(round(math.log10(least)), math.floor(math.log10(most)) + 1)
    axes.yaxis.set_major_locator(FixedLocator([0.0, *(10.0**decade for decade in decades)]))


def _scale_memory(axes: Axes, ratios: pd.Series[Any]) -> None:
    least, most = min(ratios.min(), 1.0), max(ratios.max(), 1.0)
    axes.set_yscale("log")
    axes.set_ylim(least / 1.15, most * 1.15)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if most / least > 3 else (1, 1.2, 1.5, 2, 3, 5, 7, 8, 9)))


_PANELS = (
    _Panel(price="error", label="numeric error", format=lambda error: f"{100 * error:g} %", scale=_scale_errors),
    _Panel(
        price="memory_ratio", label="memory (baseline: 1×)", format=lambda ratio: f"{ratio:g}×", scale=_scale_memory
    ),
)


def pareto_figure(framework: str, technique: str, effects: pd.DataFrame) -> FigureWithData:
    """Draw what each arm of a technique gains in speed over what it pays: filled where it is on its trial's front."""
    points = _strongest(effects)
    points = points.assign(held=[_case_label(row) for _, row in points.iterrows()])
    panels = [panel for panel in _PANELS if has_price(points, panel.price)]
    finding, note = describe_tradeoff(effects), " ".join(notes(points, len(effects)))
    with new_figure(len(panels), height_in=0.6 + 2.0 * len(panels), title=finding) as (figure, rows):
        scale_speedups(rows[0], points)
        for axes, panel in zip(rows, panels, strict=True):
            _draw(axes, points[points[panel.price].notna()], panel, technique)
        rows[-1].set_xlabel(clip(f"speedup per item, {framework} (log)"))
    absent = PRICES.keys() - {panel.price for panel in panels}
    columns = [name for name in _HEADINGS if name.removesuffix("_front") not in absent]
    return FigureWithData(
        kind="pareto",
        name=slug(f"pareto-{technique}-{framework}"),
        title=finding,
        alt=f"{finding}. {note}",
        note=note,
        data=points[columns].rename(columns=_HEADINGS),
        about=(framework, technique),
        figure=figure,
    )


def _strongest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the arms that pay a price, then the others, the furthest from 1 first, as many as a figure can show."""
    strength = effects["speedup"].map(lambda ratio: abs(math.log(ratio)))
    order = pd.DataFrame({"pays": is_paying(effects), "strength": strength}).sort_values(["pays", "strength"])
    return effects.loc[order.index[-_MOST_POINTS:].sort_values()]


def _case_label(row: pd.Series[Any]) -> str:
    return format_case(problem=row["problem"], fixed=row["fixed"])


def _draw(axes: Axes, points: pd.DataFrame, panel: _Panel, technique: str) -> None:
    panel.scale(axes, points[panel.price])
    write_ticks(axes.yaxis, panel.format)
    axes.set_ylabel(panel.label)
    bounded = points[(points["low"] > 0) & np.isfinite(points["high"])]
    draw_intervals(axes, bounded, panel.price, linewidth=1, alpha=0.4)
    for _, trial in points[points[f"{panel.price}_front"]].sort_values("speedup").groupby("trial"):
        axes.plot(trial["speedup"], trial[panel.price], color=INK, linewidth=0.6, alpha=0.6)
    axes.plot(1, PRICES[panel.price], marker="+", color=INK, markersize=10, zorder=4)
    for (verdict, front), chosen in points.groupby(["verdict", f"{panel.price}_front"]):
        colour = COLOURS[str(verdict)]
        look: Any = {"marker": MARKERS[str(verdict)], "facecolors": colour if front else "none", "edgecolors": colour}
        axes.scatter(chosen["speedup"], chosen[panel.price], s=38, zorder=3, **look)
    _name(axes, points, panel.price, technique)


def _name(axes: Axes, points: pd.DataFrame, price: str, technique: str) -> None:
    """Write the names of the strongest decided points of a front beside them, as far as there is room."""
    front = points[points[f"{price}_front"] & (points["verdict"] != "undecided")]
    strength = front["speedup"].map(lambda ratio: -abs(math.log(ratio)))
    place = axes.transScale + axes.transLimits  # from data to shares of the panel
    taken = [(x - 0.01, x + 0.01, y) for x, y in place.transform(points[["speedup", price]])]
    baseline = place.transform((1, PRICES[price]))[0]
    for index in strength.sort_values(kind="stable").index[:_MOST_NAMED]:
        row = front.loc[index]
        name = clip(f"{row['level'].removeprefix(f'{technique} ')} · {row['workload']}")
        x, y = place.transform((row["speedup"], row[price]))
        width = _LETTER_WIDTH * len(name)
        for side, start in (("left", x + 0.015), ("right", x - 0.015 - width)):
            end = start + width
            free = not any(abs(y - height) < _NAME_HEIGHT and start <= b and a <= end for a, b, height in taken)
            if free and start >= 0 and end <= 1 and not start < baseline < end:
                taken.append((start, end, y))
                offset: Any = {"xytext": (6 if side == "left" else -6, 0), "textcoords": "offset points"}
                axes.annotate(name, (row["speedup"], row[price]), ha=side, va="center", fontsize=8, **offset)
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
    return "; ".join([said, *_dominated(points)])


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


def _dominated(points: pd.DataFrame) -> Iterator[str]:
    """Yield which levels are decided and dominated in every trial."""
    hopeless = ~on_front(points) & (points["verdict"] != "undecided")
    everywhere = hopeless.groupby(points["level"], sort=False).all()
    levels = everywhere.index[everywhere].tolist()
    if 0 < len(levels) <= 2:
        yield f"{' and '.join(levels)} {'is' if len(levels) == 1 else 'are'} dominated everywhere"
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
