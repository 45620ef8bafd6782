"""What reading the loss costs, by how often it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    FigureKind,
    FigureWithData,
    describe_sample,
    draw_interval,
    draw_point,
    format_subject,
)
from accelbench.report.figures.svg import Axis, Chart, Panel, round_places, ticks
from accelbench.report.labels import slug
from accelbench.report.verdicts import COLOURS
from accelbench.results import Findings
from accelbench.results.arm_table import rows_of
from accelbench.results.sweeps import LogIntervals
from accelbench.schema.verdict import noise_zone

_KIND = "log-interval"
_HEIGHT_PT = 120
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


def log_interval_figure(found: LogIntervals, noise: float) -> FigureWithData:
    """Draw the time of a step, relative to one whose loss is never read, over the steps between two readings."""
    arms = found.arms
    title = f"{format_subject(found.workload, found.held)}: {_finding(arms)}"
    low, high = _limits(arms)
    y = Axis(
        low=low,
        high=high,
        label="time of a step",
        ticks=ticks(round_places(low, high), lambda ratio: f"{ratio:g}×"),
    )
    panel = Panel(x=_steps_axis(arms["every"].tolist()), y=y, height_pt=_HEIGHT_PT)
    panel.band(*noise_zone(noise), COLOURS["same"], along="y")
    panel.rule(1, along="y")
    panel.line(zip(arms["every"], arms["time"], strict=True), width=0.8)
    for row in rows_of(arms):
        draw_interval(panel, row["every"], row["time_low"], row["time_high"], row["verdict"], upright=True)
        time = units.ratio(row["time"], row["time_low"], row["time_high"])
        draw_point(
            panel, row["every"], row["time"], row["verdict"], f"{_often(row['every'])}: {time}, {row['verdict']}"
        )
    return FigureWithData(
        kind=_KIND,
        name=slug(f"{_KIND}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. By steps from one reading to the next: {_each(arms)}.",
        note="Times are relative to never reading the loss, with their intervals, "
        f"{describe_sample(arms['pairs'], 'pair')} each. In the grey band, ±{units.percent(noise)}, "
        "differences count as none.",
        data=arms[[*_DRAWN]].rename(columns=_DRAWN),
        about=(found.framework, arms["switched"].iloc[0]),
        figure=Chart(title=title, panels=[panel]),
    )


def _finding(arms: pd.DataFrame) -> str:
    """Return what the most frequent reading costs, and from which interval on reading costs nothing."""
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


def _steps_axis(every: Sequence[float]) -> Axis:
    room = max(max(every) / min(every), 2.0) ** 0.06
    label = "steps from one reading to the next (log)"
    return Axis(low=min(every) / room, high=max(every) * room, kind="log", label=label, ticks=ticks(every, units.count))


def _limits(arms: pd.DataFrame) -> tuple[float, float]:
    low = max(arms["time_low"].min(), arms["time"].min() / _FURTHEST)
    high = min(arms["time_high"].max(), arms["time"].max() * _FURTHEST)
    return min(low, 0.99) - 0.01, max(high, 1.01) + 0.01


class LogIntervalFigure(FigureKind):
    """What reading the loss costs, by how often it is read."""

    position = 40

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each training loop that reads its loss at several intervals."""
        for found in findings.log_intervals:
            yield log_interval_figure(found, findings.noise)
