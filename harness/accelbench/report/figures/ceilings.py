"""How near each workload comes to what the machine can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from accelbench import units
from accelbench.report.figures.drawing import (
    INK,
    PALETTE,
    PAPER,
    FigureKind,
    FigureWithData,
    clip,
    new_figure,
    write_ticks,
)
from accelbench.report.labels import slug
from accelbench.results import Findings

_MOST_ROWS = 40
_LEAST, _MOST = 1e-6, 1e2  # a share beyond them is drawn there
_LOOKS = {  # of a kind of ceiling: its marker, and its place in the palette
    "bf16": ("o", 0), "fp32": ("s", 1), "memory": ("^", 2), "fp16": ("D", 3), "tf32": ("v", 4), "fp64": ("P", 5),
    "disk": ("*", 6),
}  # fmt: skip
_OTHER = ("X", 7)
_FAR = 0.1  # of a ceiling: what stays below it is far from it
_HEADINGS = {
    "workload": "workload",
    "baseline_level": "baseline",
    "baseline_share": "baseline's share of its ceiling",
    "baseline_ceiling": "baseline's ceiling",
    "level": "fastest arm",
    "share": "share of its ceiling",
    "ceiling": "ceiling",
}


def ceiling_figure(shares: pd.DataFrame) -> FigureWithData:
    """Draw for each workload of a framework its baseline's and its fastest arm's share of a ceiling."""
    framework = shares["framework"].iloc[0]
    rows = shares.head(_MOST_ROWS).reset_index(drop=True)
    finding = _finding(shares)
    with new_figure(height_in=0.21 * len(rows) + 1.1, title=finding) as (figure, (axes,)):
        axes.set_xscale("log")
        shown = rows[["share", "baseline_share"]].clip(_LEAST, _MOST)
        axes.set_xlim(shown.min().min() / 1.4, 1.5 * max(1.0, shown.max().max()))
        axes.axvline(1, color=INK, linewidth=0.8, linestyle="dashed")
        axes.hlines(rows.index, shown["baseline_share"], shown["share"], color=INK, linewidth=1)
        _ends(axes, rows.assign(**shown))
        axes.set_yticks(rows.index, [clip(workload) for workload in rows["workload"]])
        axes.set(ylim=(len(rows) - 0.4, -0.6), ylabel="")
        axes.set_xlabel(clip(f"share of the machine's ceiling, {framework} (log)"))
        axes.xaxis.set_major_locator(LogLocator(subs=(1,)))
        write_ticks(axes.xaxis, lambda share: f"{100 * share:g} %")
    note = _note(len(rows), len(shares))
    return FigureWithData(
        kind="ceilings",
        name=slug(f"ceilings-{framework}"),
        title=finding,
        alt=f"{finding}. {note}",
        note=note,
        data=rows[list(_HEADINGS)].rename(columns=_HEADINGS),
        figure=figure,
    )


def _ends(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw both ends, each in the look of its kind of ceiling, the baseline's hollow."""
    before, after = rows["baseline_ceiling"].map(_kind, na_action="ignore"), rows["ceiling"].map(_kind)
    handles = []
    for kind in sorted({*before.dropna(), *after}):
        marker, place = _LOOKS.get(kind, _OTHER)
        colour = PALETTE[place]
        look: Any = {"marker": marker, "s": 38, "edgecolors": colour}
        baselines, fastest = rows.loc[before == kind, "baseline_share"], rows.loc[after == kind, "share"]
        axes.scatter(baselines, baselines.index, facecolors=PAPER, zorder=3, **look)
        axes.scatter(fastest, fastest.index, facecolors=colour, zorder=4, **look)
        handles.append(Line2D([], [], linestyle="", marker=marker, color=colour, label=kind))
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0, columnspacing=1)


def _kind(ceiling: str) -> str:
    return next((kind for kind in _LOOKS if kind in ceiling), "other")


def _finding(shares: pd.DataFrame) -> str:
    """Return which workload comes nearest, and how many stay far below."""
    best, low = shares.iloc[0], int((shares["share"] < _FAR).sum())
    said = f"{best['workload']} reaches {units.percent(best['share'])} of {best['ceiling']}"
    every = units.plural(len(shares), "workload")
    if low:
        return f"{said}; {low} of {every} stay{'s' if low == 1 else ''} below {units.percent(_FAR)}"
    return said if len(shares) == 1 else f"{said}; all {every} reach at least {units.percent(_FAR)}"


def _note(shown: int, every: int) -> str:
    some = "" if shown == every else f"The {shown} of {every} workloads that come nearest. "
    return (
        f"{some}Filled: the fastest arm of each of {units.plural(shown, 'workload')}; hollow: its baseline. Each is "
        "set against the ceiling of which it reaches the largest share; the dashed line is 100 %, the fastest seen on "
        "this machine."
    )


class CeilingsFigure(FigureKind):
    """How near each workload comes to what the machine can do."""

    position = 90

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each framework."""
        yield from map(ceiling_figure, findings.ceiling_shares)
