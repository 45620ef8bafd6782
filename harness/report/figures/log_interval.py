"""What reading the loss costs, by how often it is read."""

from __future__ import annotations

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from harness import units
from harness.reading.log_intervals import LogIntervals
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, Drawn, styled, write_ticks
from harness.report.figures.words import sampled, subject
from harness.report.verdicts import COLOURS, MARKERS

_KIND = "log-interval"
_FURTHEST = 2.0  # an interval reaching further than this factor beyond all times is cut at the figure's edge
_COSTS = {
    "slower": "with the loss read {},",
    "same": "reading the loss {} costs nothing that counts:",
    "undecided": "it is undecided whether reading the loss {} costs anything:",
    "faster": "reading the loss {} costs nothing:",
}
_DRAWN = {
    "every": "steps from one reading to the next",
    "time": "time of a step over that without readings (×)",
    "time_low": "from (×)",
    "time_high": "to (×)",
    "verdict": "verdict",
    "pairs": "pairs",
}


def by_log_interval(found: LogIntervals, noise: float) -> Drawn:
    """Draw the time of a step, relative to one whose loss is never read, over the steps between two readings."""
    arms = found.arms
    title = f"{subject(found.workload, found.held)}: {_finding(arms)}"
    with styled(height_in=2.3, title=title) as (figure, (axes,)):
        axes.axhspan(1 / (1 + noise), 1 + noise, color=COLOURS["same"], alpha=0.25, linewidth=0)
        axes.axhline(1, color=INK, linewidth=0.8)
        axes.set_ylim(*_limits(arms))
        _intervals(axes, arms)
        axes.plot(arms["every"], arms["time"], color=INK, linewidth=0.8)
        sns.scatterplot(
            arms, x="every", y="time", hue="verdict", style="verdict", palette=COLOURS, markers=MARKERS,
            s=48, linewidth=0, legend=False, zorder=3, ax=axes,
        )  # fmt: skip
        axes.set(xscale="log", xlabel="steps from one reading to the next (log)", ylabel="time of a step")
        axes.xaxis.set_major_locator(FixedLocator(arms["every"].tolist()))
        write_ticks(axes.xaxis, units.count)
        write_ticks(axes.yaxis, lambda ratio: f"{ratio:g}×")
    return Drawn(
        kind=_KIND,
        name=slug(f"{_KIND}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. By steps from one reading to the next: {_each(arms)}.",
        note=f"Times are relative to never reading the loss, with their intervals, {sampled(arms['pairs'], 'pair')} "
        f"each. In the grey band, ±{units.percent(noise)}, differences count as none.",
        data=arms[[*_DRAWN]].rename(columns=_DRAWN),
        about=(found.framework, _KIND),
        figure=figure,
    )


def _finding(arms: pd.DataFrame) -> str:
    """Say what the most frequent reading costs, and how often one reads for nothing."""
    first, free = arms.iloc[0], arms[arms["verdict"] == "same"]
    time = f"{units.speedup(first['time'])} as long ({units.bounds(first['time_low'], first['time_high'])})"
    said = f"{_COSTS[first['verdict']].format(_often(first['every']))} a step takes {time}"
    if first["verdict"] != "slower" or free.empty:
        return said
    return f"{said}; {_often(free['every'].iloc[0])} costs nothing that counts"


def _often(every: float) -> str:
    return "in every step" if every == 1 else f"every {units.count(every)} steps"


def _each(arms: pd.DataFrame) -> str:
    times = zip(arms["every"], arms["time"], arms["time_low"], arms["time_high"], arms["verdict"], strict=True)
    return "; ".join(f"{units.count(every)}: {units.ratio(*time)}, {verdict}" for every, *time, verdict in times)


def _limits(arms: pd.DataFrame) -> tuple[float, float]:
    low = max(arms["time_low"].min(), arms["time"].min() / _FURTHEST)
    high = min(arms["time_high"].max(), arms["time"].max() * _FURTHEST)
    return min(low, 0.99) - 0.01, max(high, 1.01) + 0.01


def _intervals(axes: Axes, arms: pd.DataFrame) -> None:
    least, most = axes.get_ylim()
    for verdict, colour in COLOURS.items():
        chosen = arms[arms["verdict"] == verdict]
        low, high = chosen["time_low"].clip(lower=least), chosen["time_high"].clip(upper=most)
        style: Any = "dotted" if verdict == "undecided" else "solid"
        axes.vlines(chosen["every"], low, high, color=colour, linewidth=2, linestyles=style)
