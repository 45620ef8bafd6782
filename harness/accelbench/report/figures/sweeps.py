"""Throughput over the numeric levels of a technique, with memory or waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from accelbench import units
from accelbench.report.figures.drawing import (
    BAND,
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PAPER,
    FigureKind,
    FigureWithData,
    describe_sample,
    format_subject,
    new_figure,
    write_ticks,
)
from accelbench.report.labels import slug
from accelbench.results import Findings, LevelSweep
from accelbench.text import hyphenate

_FURTHEST = 2.0  # a band reaching further than this factor beyond all medians is cut at the figure's edge
_WAITED = "observed_wait_share"
_QUARTILES = {"q1": "first", "q3": "third"}
_MOST_TICKS = 8
_CROSS = " A cross: the next larger, which did not run."


@dataclass(frozen=True, kw_only=True)
class _Panel:
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
        panels.append(_Panel(column=_WAITED, label=label, heading=heading, format=units.percent, colour=GREEN))
    elif sweep.ran["memory_bytes"].notna().any() and sweep.ran["memory_kind"].nunique() == 1:
        label = f"{sweep.ran['memory_kind'].iloc[0]} memory"
        heading = f"{label} (bytes)"
        panels.append(_Panel(column="memory_bytes", label=label, heading=heading, format=units.size, colour=ORANGE))
    end = "; ".join(filter(None, (_waiting(sweep) if waited else "", sweep.stopped_by)))
    return _figure(sweep, panels, end, logarithmic=bool(sweep.arms["at"].min() > 0))


def _throughput(sweep: LevelSweep) -> _Panel:
    label = f"{sweep.unit}s per second"
    return _Panel(column="items_per_s", label=label, heading=label, format=units.short, colour=BLUE)


def _figure(sweep: LevelSweep, panels: Sequence[_Panel], end: str, *, logarithmic: bool) -> FigureWithData:
    ran, kind = _with_quartiles(sweep.ran), hyphenate(sweep.technique)
    title = f"{format_subject(sweep.workload, sweep.held)}: {'; '.join(filter(None, (_finding(sweep), end)))}"
    with new_figure(len(panels), height_in=0.6 + 1.5 * len(panels), title=title) as (figure, rows):
        for axes, panel in zip(rows, panels, strict=True):
            _draw(axes, panel, ran)
            axes.axvline(sweep.knee, color=INK, linewidth=0.8, linestyle="dashed")
        rows[0].fill_between(ran["at"], ran["q1"], ran["q3"], color=BLUE, alpha=0.2, linewidth=0)
        rows[0].set_ylim(0, min(_headroom(ran["q3"].fillna(ran["items_per_s"])), _FURTHEST * ran["items_per_s"].max()))
        if logarithmic:
            rows[-1].set_xscale("log", base=2)
        _mark(rows[0], sweep)
        write_ticks(rows[-1].xaxis, units.count)
        rows[-1].set_xlabel(kind.replace("-", " "))
    return FigureWithData(
        kind=kind,
        name=slug(f"{kind}-{sweep.workload}-{sweep.held}"),
        title=title,
        alt=f"{title}. In detail: {sweep.sentence}",
        note=f"Each point is the median of {describe_sample(ran['blocks'], 'block')}. {BAND} Dashed: the knee, the "
        f"smallest within 5 % of the best. Dotted: the limit, the largest that ran."
        f"{_CROSS if sweep.stopped_by else ''}",
        data=_table(sweep, panels, ran),
        about=(sweep.framework, kind),
        figure=figure,
    )


def _with_quartiles(ran: pd.DataFrame) -> pd.DataFrame:
    """Add between which throughputs the middle half of the blocks lay."""
    return ran.assign(q1=ran["items"] / ran["q3_s_per_iteration"], q3=ran["items"] / ran["q1_s_per_iteration"])


def _draw(axes: Axes, panel: _Panel, ran: pd.DataFrame) -> None:
    sns.lineplot(ran, x="at", y=panel.column, marker="o", markersize=7, color=panel.colour, ax=axes)
    axes.set(xlabel="", ylabel=panel.label)
    axes.set_ylim(0, _headroom(ran[panel.column]))
    write_ticks(axes.yaxis, panel.format)
    if panel.format is units.size:
        axes.yaxis.set_major_locator(FixedLocator(_round_sizes(ran[panel.column].max())))


def _mark(axes: Axes, sweep: LevelSweep) -> None:
    """Name the knee and the limit, and put a cross where a larger level did not run."""
    places, stopper = sweep.ran["at"].tolist(), sweep.stopper
    grows = sweep.knee == sweep.limit
    name = f"knee and limit: {sweep.knee}" if grows else f"knee: {sweep.knee}"
    _name_line(axes, sweep.knee, name, row=0, at_right=sweep.knee <= sweep.ran["at"].median())
    if not grows:
        axes.axvline(sweep.limit, color=INK, linewidth=0.8, linestyle="dotted")
        _name_line(axes, sweep.limit, f"limit: {sweep.limit}", row=1, at_right=False)
    if stopper is not None:
        places.append(stopper["at"])
        axes.plot(stopper["at"], 0, marker="X", markersize=9, color=INK, clip_on=False, zorder=4)
        _name_line(axes, stopper["at"], stopper["outcome"].replace("-", " "), row=2, at_right=False)
    axes.xaxis.set_major_locator(FixedLocator(places[:: -math.ceil(len(places) / _MOST_TICKS)]))


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


def _table(sweep: LevelSweep, panels: Sequence[_Panel], ran: pd.DataFrame) -> pd.DataFrame:
    names = {"at": sweep.technique.replace("_", " "), **{panel.column: panel.heading for panel in panels}}
    names |= {quartile: f"{panels[0].heading}, {ordinal} quartile" for quartile, ordinal in _QUARTILES.items()}
    shown = ran if sweep.stopper is None else pd.concat([ran, sweep.arms[sweep.arms["at"] == sweep.stopper["at"]]])
    return shown[[*names, "blocks", "outcome"]].rename(columns=names).reset_index(drop=True)


def _round_sizes(most_bytes: float) -> list[float]:
    """Return three to six places from 0 on that are round in powers of two."""
    step = 2.0 ** (math.ceil(math.log2(max(most_bytes, 1))) - 2)
    return [step * place for place in range(6)]


def _headroom(values: pd.Series[Any]) -> float:
    return 1.12 * float(values.max()) or 1.0  # above zero where all values are 0


def _name_line(axes: Axes, x: float, text: str, *, row: int, at_right: bool) -> None:
    axes.annotate(
        text, (x, 0.04 + 0.11 * row), xycoords=("data", "axes fraction"), textcoords="offset points",
        xytext=(4 if at_right else -4, 0), ha="left" if at_right else "right", color=INK,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1},
    )  # fmt: skip


class SweepFigure(FigureKind):
    """Throughput over numeric levels, with the knee and the limit."""

    position = 30

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each sweep over numeric levels."""
        yield from map(sweep_figure, findings.level_sweeps)
