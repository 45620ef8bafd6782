"""How near each workload comes to what the machine can do."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import FigureKind, FigureWithData
from accelbench.report.figures.svg import PALETTE, PAPER, Axis, Chart, Key, Panel, clip, log_places, ticks
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.arm_table import Row, rows_of

_MOST_ROWS = 40
_ROW_PT, _LONGEST_NAME = 15, 34
_LEAST, _MOST = 1e-6, 1e2  # a share beyond them is drawn at the end of the axis
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
    every = [share for name in ("share", "baseline_share") for share in rows[name].dropna().clip(_LEAST, _MOST)]
    least, most = min(every) / 1.4, 1.5 * max(1.0, *every)
    x = Axis(
        low=least,
        high=most,
        kind="log",
        label=clip(f"share of the machine's ceiling, {framework} (log)"),
        ticks=ticks(log_places(least, most, (1,)), lambda share: f"{100 * share:g} %"),
    )
    names = [(-place, (clip(workload, _LONGEST_NAME),)) for place, workload in enumerate(rows["workload"])]
    panel = Panel(x=x, y=Axis(low=0.4 - len(rows), high=0.6, ticks=names), height_pt=_ROW_PT * len(rows))
    panel.rule(1, dash="4 3")
    kinds = {kind for row in enumerate(rows_of(rows)) for kind in _draw(panel, *row)}
    note = _note(len(rows), len(shares))
    return FigureWithData(
        name=slug(f"ceilings-{framework}"),
        title=finding,
        alt=f"{finding}. {note}",
        note=note,
        data=rows[list(_HEADINGS)].rename(columns=_HEADINGS),
        figure=Chart(title=finding, panels=[panel], legend=[_key(kind) for kind in sorted(kinds)], columns=4),
    )


def _draw(panel: Panel, place: int, row: Row) -> Iterator[str]:
    """Draw a workload's baseline, hollow, and its fastest arm, looking like their kinds of ceiling; yield these."""
    fastest, baseline = row["share"], row["baseline_share"]
    if baseline is not None:
        panel.line([(baseline, -place), (fastest, -place)], width=1)
    for share, ceiling, fill, arm in (
        (baseline, row["baseline_ceiling"], PAPER, row["baseline_level"]),
        (fastest, row["ceiling"], "", row["level"]),
    ):
        if share is not None:
            kind = _kind(ceiling)
            title = f"{row['workload']}, {arm}: {units.percent(share)} of {ceiling}"
            panel.mark(share, -place, _key(kind).marker, _key(kind).colour, fill=fill, title=title)
            yield kind


def _key(kind: str) -> Key:
    marker, place = _LOOKS.get(kind, _OTHER)
    return Key(label=kind, colour=PALETTE[place], marker=marker)


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
