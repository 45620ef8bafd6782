"""Throughput and memory by batch size, throughput by workers, time by size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from harness import units
from harness.reading import LevelSweep, SizeSweep
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, Drawn, clipped, styled, write_ticks
from harness.report.thresholds import crossover_in_words, knee_in_words

_PALETTE = [*map(str, sns.color_palette("colorblind").as_hex())]
_BLUE, _ORANGE, _GREEN = _PALETTE[0], _PALETTE[1], _PALETTE[2]
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def by_batch(sweep: LevelSweep) -> Drawn:
    """Draw throughput and memory over the batch size, with the knee."""
    ran = sweep.ran
    panels: list[_Panel] = [("items_per_s", f"{sweep.unit}s per second", units.short, _BLUE)]
    if ran["memory_bytes"].notna().any():
        panels.append(("memory_bytes", f"{ran['memory_kind'].iloc[0]} memory", units.size, _ORANGE))
    return _level_figure(sweep, "batch-size", panels, logarithmic=True)


def by_workers(sweep: LevelSweep) -> Drawn:
    """Draw throughput over the number of workers, with the share of time waited where it was observed."""
    panels: list[_Panel] = [("items_per_s", f"{sweep.unit}s per second", units.short, _BLUE)]
    if "observed_wait_share" in sweep.ran and sweep.ran["observed_wait_share"].notna().any():
        panels.append(("observed_wait_share", "time waited for data", units.percent, _GREEN))
    return _level_figure(sweep, "workers", panels, logarithmic=False)


_Panel = tuple[str, str, Callable[[float], str], str]  # column, label, how its values are written, colour


def _level_figure(sweep: LevelSweep, kind: str, panels: Sequence[_Panel], *, logarithmic: bool) -> Drawn:
    ran, name = sweep.ran, kind.replace("-", " ")
    with styled(len(panels), height_in=0.9 + 1.5 * len(panels)) as (figure, rows):
        for axes, (column, label, written, colour) in zip(rows, panels, strict=True):
            sns.lineplot(ran, x="at", y=column, marker="o", markersize=7, color=colour, ax=axes)
            axes.axvline(sweep.knee, color=INK, linewidth=0.8, linestyle="dashed")
            axes.set(xlabel="", ylabel=label)
            axes.set_ylim(0, _headroom(ran[column]))
            write_ticks(axes.yaxis, written)
            if written is units.size:
                axes.yaxis.set_major_locator(FixedLocator(_round_sizes(ran[column].max())))
        if logarithmic:
            rows[-1].set_xscale("log", base=2)
        rows[-1].xaxis.set_major_locator(FixedLocator(ran["at"].tolist()))
        write_ticks(rows[-1].xaxis, units.count)
        rows[-1].set_xlabel(name)
        rows[0].set_title(_title(sweep.workload, sweep.held))
        _name_line(rows[0], sweep.knee, f"knee: {sweep.knee}", at_right=sweep.knee <= ran["at"].median())
    return Drawn(
        kind=kind,
        name=slug(f"{kind}-{sweep.workload}-{sweep.held}"),
        title=_title(sweep.workload, sweep.held),
        alt=knee_in_words(sweep),
        note=knee_in_words(sweep),
        data=ran[["at", "items_per_s", "memory_bytes"]],
        about=(sweep.framework, kind),
        figure=figure,
    )


def by_size(sweeps: Sequence[SizeSweep]) -> Drawn:
    """Draw the time of one iteration over the size, for a baseline and its candidates, with each crossover."""
    first = sweeps[0]
    baseline = pd.concat([sweep.arms for sweep in sweeps]).drop_duplicates("size").sort_values("size")
    against = {sweep.against for sweep in sweeps}
    lines = [(first.against if len(against) == 1 else "baseline", baseline, "baseline_s_per_iteration")]
    lines += [(sweep.level, sweep.arms, "s_per_iteration") for sweep in sweeps]
    with styled(height_in=2.9) as (figure, (axes,)):
        axes.set(xscale="log", yscale="log")
        for place, (label, arms, column) in enumerate(lines):
            look: dict[str, Any] = {"color": _colour(place), "marker": _MARKERS[place % len(_MARKERS)]}
            sns.lineplot(arms, x="size", y=column, label=clipped(label), markersize=6, ax=axes, **look)
        least, most = axes.get_xlim()
        for place, sweep in enumerate(sweeps, start=1):
            if sweep.crossover is not None:
                axes.axvspan(sweep.low or least, sweep.high or most, color=_colour(place), alpha=0.12, linewidth=0)
                axes.axvline(sweep.crossover, color=_colour(place), linewidth=1, linestyle="dashed")
        axes.set_xlim(least, most)
        axes.set(xlabel=clipped(f"{first.axis}, logarithmic"), ylabel="time of one iteration")
        write_ticks(axes.xaxis, units.short)
        write_ticks(axes.yaxis, units.seconds)
        axes.set_title(_title(first.workload, first.held))
    return Drawn(
        kind="size",
        name=slug(f"size-{first.test.rpartition('::')[2].removeprefix('test_')}-{first.workload}-{first.held}"),
        title=_title(first.workload, first.held),
        alt=" ".join(crossover_in_words(sweep) for sweep in sweeps),
        note=" ".join(crossover_in_words(sweep) for sweep in sweeps),
        data=pd.concat([sweep.arms for sweep in sweeps])[["level", "size", "speedup", "low", "high", "verdict"]],
        about=(first.framework, sweeps[0].arms["switched"].iloc[0]),
        figure=figure,
    )


def _colour(place: int) -> str:
    return _PALETTE[place % len(_PALETTE)]


def _title(workload: str, held: str) -> str:
    return clipped(f"{workload} ({held})" if held else workload)


def _round_sizes(most_bytes: float) -> list[float]:
    """Return three to six places from 0 on that are round in powers of two."""
    step = 2.0 ** (math.ceil(math.log2(max(most_bytes, 1))) - 2)
    return [step * place for place in range(6)]


def _headroom(values: pd.Series[Any]) -> float:
    return 1.12 * float(values.max()) or 1.0  # above zero where all values are 0


def _name_line(axes: Axes, x: float, text: str, *, at_right: bool) -> None:
    axes.annotate(
        text, (x, 0.04), xycoords=("data", "axes fraction"), textcoords="offset points",
        xytext=(4 if at_right else -4, 0), ha="left" if at_right else "right", color=INK,
    )  # fmt: skip
