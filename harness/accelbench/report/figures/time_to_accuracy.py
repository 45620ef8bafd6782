"""Throughput and time to an accuracy, side by side over the levels of a technique such as the batch size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from accelbench import units
from accelbench.report.figures.drawing import (
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    describe_sample,
    format_subject,
)
from accelbench.report.figures.svg import PALETTE, Axis, Chart, Key, Panel, clip, round_places, ticks
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.arm_table import Row, rows_of
from accelbench.results.time_to_accuracy import TimeToAccuracy, name_once

_MARKERS = ("o", "s", "^", "D", "v", "P")
_MOST_RULES = len(_MARKERS)
_HEADROOM = 1.15
_HEIGHT_PT = 120  # of a panel
_DRAWN = {  # beside the level
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
    """Draw how many images a second each level learns from and, below, after how long it is accurate."""
    title = f"{format_subject(found.workload, found.held)}: {found.sentence}"
    labels = name_once(found.rules)
    rules = [found.arms[found.arms["rule"] == rule] for rule in found.rules[:_MOST_RULES]]
    keys = [
        Key(label=clip(labels[place]), colour=PALETTE[place], marker=_MARKERS[place], line=True)
        for place in range(len(rules))
    ]
    x = _sizes_axis(sorted({float(size) for size in found.arms["at"]}))
    most = _HEADROOM * float(found.throughputs.max())
    images = Axis(low=0, high=most, label="images per second", ticks=ticks(round_places(0, most), units.short))
    longest_s = _HEADROOM * float(found.reached["s_per_item"].max())
    times = Axis(
        low=0, high=longest_s, label="time to accuracy", ticks=ticks(round_places(0, longest_s), units.seconds)
    )
    above = Panel(x=x, y=images, height_pt=_HEIGHT_PT)
    above.line(zip(found.throughputs.index.tolist(), found.throughputs.tolist(), strict=True), width=0.8)
    below = Panel(x=replace(x, label=f"{found.name} (log)"), y=times, height_pt=_HEIGHT_PT)
    for arms, key in zip(rules, keys, strict=True):
        _draw(above, below, rows_of(arms), key, found.name)
    columns = {"at": found.name} | {name: heading for name, heading in _DRAWN.items() if name in found.arms}
    return FigureWithData(
        name=slug(f"time-to-accuracy-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. In detail: {'; '.join(_detail(row, found.name) for row in rows_of(found.arms))}.",
        note=_note(found),
        data=found.arms[[*columns]].rename(columns=columns),
        about=(found.framework, found.arms["switched"].iloc[0]),
        figure=Chart(title=title, panels=[above, below], legend=keys if any(found.rules) else [], columns=3),
    )


def _sizes_axis(sizes: Sequence[float]) -> Axis:
    room = max(sizes[-1] / sizes[0], 2.0) ** 0.05
    return Axis(low=sizes[0] / room, high=sizes[-1] * room, kind="log", ticks=ticks(sizes, units.count))


def _draw(above: Panel, below: Panel, arms: Sequence[Row], look: Key, name: str) -> None:
    """Draw the rate and the time of each level, and a cross on top where the accuracy was missed."""
    times = [(row["at"], row["s_per_item"]) for row in arms if row["s_per_item"] is not None]
    below.line(times, look.colour)
    for row in arms:
        if row["images_per_s"] is not None:
            above.mark(row["at"], row["images_per_s"], look.marker, look.colour, size=6, title=_detail(row, name))
        if row["s_per_item"] is not None:
            below.mark(row["at"], row["s_per_item"], look.marker, look.colour, size=6, title=_detail(row, name))
        if row["missed"]:
            below.mark(row["at"], below.y.high, "X", look.colour, size=9, title=_detail(row, name))


def _note(found: TimeToAccuracy) -> str:
    """Return what the points rest on."""
    trainings = found.reached.get("observed_trainings")
    several = f" of {describe_sample(trainings, 'training')} each from its own seed" if trainings is not None else ""
    missed = " A cross: the accuracy was not reached." if found.arms["missed"].any() else ""
    return (
        f"Times are medians of {describe_sample(found.reached['blocks'], 'block')}{several}, tests included. "
        "Throughput is that of training steps alone, the median over epochs; the line joins the levels’ medians."
        f"{missed}"
    )


def _detail(row: Row, name: str) -> str:
    arm = ", ".join(filter(None, (f"{name} {row['at']}", row["rule"])))
    if row["missed"]:
        return f"{arm}: not reached"
    rate, time = units.rate(row["images_per_s"], "image"), units.seconds(row["s_per_item"])
    return f"{arm}: {rate}, {time} in {units.significant(row['observed_epochs'], 2)} epochs"


class TimeToAccuracyFigure(FigureKind):
    """Throughput and time to an accuracy over the levels of a technique."""

    position = 35

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each training to an accuracy."""
        yield from map(time_to_accuracy_figure, findings.times_to_accuracy)
