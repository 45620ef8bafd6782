"""Throughput over the numeric levels of a technique, with memory or waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    BAND,
    BLUE,
    GREEN,
    ORANGE,
    FigureKind,
    FigureWithData,
    describe_sample,
    format_subject,
)
from accelbench.report.figures.svg import Axis, Chart, Panel, round_places, ticks
from accelbench.report.labels import slug
from accelbench.results import Findings, LevelSweep
from accelbench.text import hyphenate

_FURTHEST = 2.0  # a band reaching further than this factor beyond all medians is cut at the figure's edge
_WAITED = "observed_wait_share"
_QUARTILES = {"q1": "first", "q3": "third"}
_MOST_TICKS = 8
_HEIGHT_PT = 95  # of a panel
_CROSS = " A cross: the next larger, which did not run."


@dataclass(frozen=True, kw_only=True)
class _Quantity:
    """One quantity over the levels: its column, the label of its axis, its heading, and the format of its numbers."""

    column: str
    label: str
    heading: str
    format: Callable[[float], str]
    colour: str


def sweep_figure(sweep: LevelSweep) -> FigureWithData:
    """Draw throughput over the levels with the knee and the limit, and below it waiting or memory where known."""
    panels = [_throughput(sweep)]
    waited = _WAITED in sweep.ran and sweep.ran[_WAITED].notna().any()
    if waited:
        label = "time waited for data"
        heading = f"share of {label}"
        panels.append(_Quantity(column=_WAITED, label=label, heading=heading, format=units.percent, colour=GREEN))
    elif sweep.ran["memory_bytes"].notna().any() and sweep.ran["memory_kind"].nunique() == 1:
        label = f"{sweep.ran['memory_kind'].iloc[0]} memory"
        heading = f"{label} (bytes)"
        panels.append(_Quantity(column="memory_bytes", label=label, heading=heading, format=units.size, colour=ORANGE))
    end = "; ".join(filter(None, (_waiting(sweep) if waited else "", sweep.stopped_by)))
    return _figure(sweep, panels, end, logarithmic=bool(sweep.arms["at"].min() > 0))


def _throughput(sweep: LevelSweep) -> _Quantity:
    label = f"{sweep.unit}s per second"
    return _Quantity(column="items_per_s", label=label, heading=label, format=units.short, colour=BLUE)


def _figure(sweep: LevelSweep, panels: Sequence[_Quantity], end: str, *, logarithmic: bool) -> FigureWithData:
    ran, kind = _with_quartiles(sweep.ran), hyphenate(sweep.technique)
    title = f"{format_subject(sweep.workload, sweep.held)}: {'; '.join(filter(None, (_finding(sweep), end)))}"
    x = _level_axis(sweep, logarithmic=logarithmic)
    drawn = [_panel(x, panel, ran, sweep) for panel in panels]
    drawn[-1].x = replace(x, label=kind.replace("-", " "))
    return FigureWithData(
        name=slug(f"{kind}-{sweep.workload}-{sweep.held}"),
        title=title,
        alt=f"{title}. In detail: {sweep.sentence}",
        note=f"Each point is the median of {describe_sample(ran['blocks'], 'block')}. {BAND} Dashed: the knee, the "
        f"smallest within 5 % of the best. Dotted: the limit, the largest that ran."
        f"{_CROSS if sweep.stopped_by else ''}",
        data=_table(sweep, panels, ran),
        about=(sweep.framework, kind),
        figure=Chart(title=title, panels=drawn),
    )


def _with_quartiles(ran: pd.DataFrame) -> pd.DataFrame:
    """Add between which throughputs the middle half of the blocks lay."""
    return ran.assign(q1=ran["items"] / ran["q3_s_per_iteration"], q3=ran["items"] / ran["q1_s_per_iteration"])


def _level_axis(sweep: LevelSweep, *, logarithmic: bool) -> Axis:
    """Return the axis of levels, with a tick at each while there are few of them, and room at both ends."""
    places = [float(at) for at in sweep.ran["at"]] + ([] if sweep.stopper is None else [float(sweep.stopper["at"])])
    shown = ticks(places[:: -math.ceil(len(places) / _MOST_TICKS)], units.count)
    least, most = min(places), max(places)
    if logarithmic:
        room = max(most / least, 2.0) ** 0.05
        return Axis(low=least / room, high=most * room, kind="log", ticks=shown)
    room = 0.05 * max(most - least, 1.0)
    return Axis(low=least - room, high=most + room, ticks=shown)


def _panel(x: Axis, quantity: _Quantity, ran: pd.DataFrame, sweep: LevelSweep) -> Panel:
    """Draw a quantity over the levels with the knee, and throughput with its quartiles and with what stopped it."""
    values = ran[quantity.column].astype(float)
    is_throughput = quantity.column == "items_per_s"
    most = _headroom(ran["q3"].fillna(values)) if is_throughput else _headroom(values)
    most = min(most, _FURTHEST * float(values.max())) if is_throughput else most
    places = _round_sizes(most) if quantity.format is units.size else round_places(0, most)
    y = Axis(low=0, high=most, label=quantity.label, ticks=ticks(places, quantity.format))
    panel = Panel(x=x, y=y, height_pt=_HEIGHT_PT)
    at = [float(each) for each in ran["at"]]
    if is_throughput:
        low, high = (list(zip(at, ran[name].astype(float), strict=True)) for name in ("q1", "q3"))
        panel.area(low, high, quantity.colour, 0.2)
    panel.rule(sweep.knee, dash="4 3")
    points = [point for point in zip(at, values, strict=True) if not math.isnan(point[1])]
    panel.line(points, quantity.colour, width=1.5)
    for place, value in points:
        title = f"{sweep.format_level(int(place))}: {quantity.label} {quantity.format(value)}"
        panel.mark(place, value, "o", quantity.colour, size=7, title=title)
    if is_throughput:
        _mark(panel, sweep)
    return panel


def _mark(panel: Panel, sweep: LevelSweep) -> None:
    """Name the knee and the limit, and put a cross where a larger level did not run."""
    stopper, grows = sweep.stopper, sweep.knee == sweep.limit
    name = f"knee and limit: {sweep.knee}" if grows else f"knee: {sweep.knee}"
    _name_line(panel, sweep.knee, name, row=0, at_right=sweep.knee <= sweep.ran["at"].median())
    if not grows:
        panel.rule(sweep.limit, dash="1 2")
        _name_line(panel, sweep.limit, f"limit: {sweep.limit}", row=1, at_right=False)
    if stopper is not None:
        panel.mark(stopper["at"], 0, "X", size=9)
        _name_line(panel, stopper["at"], stopper["outcome"].replace("-", " "), row=2, at_right=False)


def _finding(sweep: LevelSweep) -> str:
    """Return where throughput stops growing."""
    if not sweep.is_decided:
        what = f"number of {sweep.name}" if sweep.counts else sweep.name
        baseline = int(sweep.arms["at"][sweep.arms["baseline"]].iloc[0])
        return f"no other {what} is known to be faster or slower than {sweep.format_level(baseline)}"
    end = "" if sweep.stopped_by else ", the limit asked for"
    if sweep.has_peak:
        lower = f"{units.percent(1 - sweep.share_at_limit)} lower at {sweep.limit}"
        return f"throughput peaks at {sweep.format_level(sweep.best)} and is {lower}{end}"
    if sweep.knee == sweep.limit:
        return f"throughput still grows at {sweep.format_level(sweep.limit)}{end}"
    asked = f"; {sweep.limit} is the limit asked for" if end else ""
    return f"throughput levels off at {sweep.format_level(sweep.knee)}{asked}"


def _waiting(sweep: LevelSweep) -> str:
    """Return how the share of time waited changes from the lowest level to the highest."""
    observed = sweep.ran[sweep.ran[_WAITED].notna()]
    least, most = (f"{units.percent(observed[_WAITED].iloc[end])} at {observed['at'].iloc[end]}" for end in (0, -1))
    return f"waiting for data takes {least}" + (f", {most}" if most != least else "")


def _table(sweep: LevelSweep, panels: Sequence[_Quantity], ran: pd.DataFrame) -> pd.DataFrame:
    names = {"at": sweep.technique.replace("_", " "), **{panel.column: panel.heading for panel in panels}}
    names |= {quartile: f"{panels[0].heading}, {ordinal} quartile" for quartile, ordinal in _QUARTILES.items()}
    shown = ran if sweep.stopper is None else pd.concat([ran, sweep.arms[sweep.arms["at"] == sweep.stopper["at"]]])
    return shown[[*names, "blocks", "outcome"]].rename(columns=names).reset_index(drop=True)


def _round_sizes(most_bytes: float) -> list[float]:
    """Return three to six places from 0 on that are round in powers of two."""
    step = 2.0 ** (math.ceil(math.log2(max(most_bytes, 1))) - 2)
    return [step * place for place in range(6) if step * place <= most_bytes]


def _headroom(values: pd.Series[Any]) -> float:
    return 1.12 * float(values.max()) or 1.0  # above zero where all values are 0


def _name_line(panel: Panel, x: float, text: str, *, row: int, at_right: bool) -> None:
    place = 0.06 + 0.11 * row
    panel.text(x, place, text, dx=4 if at_right else -4, anchor="start" if at_right else "end", ground=True, by="x")


class SweepFigure(FigureKind):
    """Throughput over numeric levels, with the knee and the limit."""

    position = 30

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each sweep over numeric levels."""
        yield from map(sweep_figure, findings.level_sweeps)
