"""Throughput and time to an accuracy, side by side over the batch size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from accelbench import units
from accelbench.report.figures.drawing import (
    INK,
    PALETTE,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    clip,
    describe_sample,
    format_subject,
    new_figure,
    write_ticks,
)
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.arm_table import Row, rows_of
from accelbench.results.time_to_accuracy import TimeToAccuracy, name_once

_KIND = "time-to-accuracy"
_MARKERS = ("o", "s", "^", "D", "v", "P")
_MOST_RULES = len(_MARKERS)
_HEADROOM = 1.15
_DRAWN = {
    "at": "batch size",
    "rule": "rule",
    "images_per_s": "images learnt from in a second",
    "s_per_item": "time of one training (s)",
    **SPEEDUP_HEADINGS,
    "verdict": "verdict",
    "observed_epochs": "epochs (mean)",
    "observed_fewest_epochs": "fewest epochs",
    "observed_most_epochs": "most epochs",
    "observed_test_accuracy": "test accuracy (mean)",
    "observed_trainings": "trainings",
    "blocks": "blocks",
    "outcome": "outcome",
}


def time_to_accuracy_figure(found: TimeToAccuracy) -> FigureWithData:
    """Draw how many images a second each batch size learns from and, below, after how long it is accurate."""
    title = f"{format_subject(found.workload, found.held)}: {found.sentence}"
    labels = name_once(found.rules)
    rules = [found.arms[found.arms["rule"] == rule] for rule in found.rules[:_MOST_RULES]]
    with new_figure(2, height_in=4.3, title=title) as (figure, (above, below)):
        for place, arms in enumerate(rules):
            look: dict[str, Any] = {"color": PALETTE[place], "marker": _MARKERS[place], "markersize": 6}
            above.plot(arms["at"], arms["images_per_s"], linestyle="", **look)
            below.plot(arms["at"], arms["s_per_item"], label=clip(labels[place]), **look)
        above.plot(found.throughputs, color=INK, linewidth=0.8, zorder=1)
        above.set(ylim=(0, _HEADROOM * found.throughputs.max()), ylabel="images per second")
        below.set(ylim=(0, _HEADROOM * found.reached["s_per_item"].max()), ylabel="time to accuracy")
        _mark_missed(below, rules)
        below.set(xscale="log", xlabel="batch size (log)")
        below.xaxis.set_major_locator(FixedLocator(sorted(set(found.arms["at"]))))
        write_ticks(below.xaxis, units.count)
        write_ticks(above.yaxis, units.short)
        write_ticks(below.yaxis, units.seconds)
        if any(found.rules):
            below.legend(loc="upper center", bbox_to_anchor=(0.5, -0.35), ncols=3)
    columns = [name for name in _DRAWN if name in found.arms]
    return FigureWithData(
        kind=_KIND,
        name=slug(f"{_KIND}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. In detail: {'; '.join(map(_detail, rows_of(found.arms)))}.",
        note=_note(found),
        data=found.arms[columns].rename(columns=_DRAWN),
        about=(found.framework, found.arms["switched"].iloc[0]),
        figure=figure,
    )


def _mark_missed(axes: Axes, rules: list[pd.DataFrame]) -> None:
    """Put a cross on top where an accuracy was missed."""
    top = axes.get_ylim()[1]
    for place, arms in enumerate(rules):
        sizes = arms["at"][arms["missed"]]
        look: Any = {"marker": "X", "markersize": 9, "color": PALETTE[place], "linestyle": "", "clip_on": False}
        axes.plot(sizes, [top] * len(sizes), **look)


def _note(found: TimeToAccuracy) -> str:
    """Return what the points rest on."""
    trainings = found.reached.get("observed_trainings")
    several = f" of {describe_sample(trainings, 'training')} each from its own seed" if trainings is not None else ""
    missed = " A cross: the accuracy was not reached." if found.arms["missed"].any() else ""
    return (
        f"Times are medians of {describe_sample(found.reached['blocks'], 'block')}{several}, tests included. "
        f"Throughput is that of training steps alone, the median over epochs; the line joins sizes’ medians.{missed}"
    )


def _detail(row: Row) -> str:
    arm = ", ".join(filter(None, (f"batch size {row['at']}", row["rule"])))
    if row["missed"]:
        return f"{arm}: not reached"
    rate, time = units.rate(row["images_per_s"], "image"), units.seconds(row["s_per_item"])
    return f"{arm}: {rate}, {time} in {units.significant(row['observed_epochs'], 2)} epochs"


class TimeToAccuracyFigure(FigureKind):
    """Throughput and time to an accuracy over the batch size."""

    position = 35

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each training to an accuracy."""
        yield from map(time_to_accuracy_figure, findings.times_to_accuracy)
