"""What all figures share: caption and data, the axis of speedups, marks for verdicts, and common phrases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pandas as pd
from pandas.api.types import is_numeric_dtype

from accelbench import units
from accelbench.report.exports import format_csv
from accelbench.report.figures.svg import (
    INK,
    LINE,
    LINE_HEIGHT,
    PALETTE,
    PAPER,
    TEXT_PT,
    WIDTH_PT,
    Axis,
    Panel,
    clip,
    log_places,
    text_width_pt,
    ticks,
    wrap_text,
)
from accelbench.report.verdicts import COLOURS, GLYPHS, MARKERS
from accelbench.results import Findings
from accelbench.text import format_place

BLUE, ORANGE, GREEN = PALETTE[:3]
SPEEDUP_HEADINGS = {"speedup": "speedup (×)", "low": "from (×)", "high": "to (×)"}  # of data
LABEL_PT = 0.4 * WIDTH_PT  # the widest line of a row's label
_LINE_PT = LINE_HEIGHT * TEXT_PT
_PAGE_COLOURS = {INK: "currentColor", LINE: "var(--line)", PAPER: "var(--paper)"}


class Drawing(Protocol):
    """What is drawn, as a file of its own and as a part of a page."""

    @property
    def svg(self) -> str:
        """The drawing as SVG on white."""

    def inline(self, described: str, colours: Mapping[str, str]) -> str:
        """Return it as SVG for a page, described to screen readers, in the colours of the page."""


@dataclass(frozen=True, kw_only=True)
class FigureWithData:
    """One figure with its caption, its alternative text and its data.

    ``name`` is that of its files and of its place on the page, which no other there has; it begins with what the figure
    shows, such as "effects" or "batch-size". ``title`` states the finding in a sentence, ``alt`` is the text for
    screen readers, ``note`` holds units, sample sizes and what the marks mean. ``data`` is what was drawn, with columns
    named as a reader would name them, with units. ``about`` names the framework and the technique of its section;
    empty where it is about the whole run.
    """

    name: str
    title: str
    alt: str
    note: str
    data: pd.DataFrame
    figure: Drawing
    about: tuple[str, str] = ("", "")

    def render(self) -> RenderedFigure:
        """Return what a page shows of it."""
        columns = [_format_column(self.data.iloc[:, place]) for place in range(self.data.shape[1])]
        return RenderedFigure(
            name=self.name,
            title=self.title,
            note=self.note,
            about=self.about,
            headings=[(str(name), is_numeric_dtype(kind)) for name, kind in self.data.dtypes.items()],
            rows=[list(row) for row in zip(*columns, strict=True)],
            csv=format_csv(self.data),
            svg=self.figure.svg,
            inline=self.figure.inline(self.alt, _PAGE_COLOURS),
        )


@dataclass(frozen=True, kw_only=True)
class RenderedFigure:
    """A figure as texts: all that a page and its files need, which can be kept.

    ``headings`` are the columns of its data, and whether each holds numbers, ``rows`` the data as text, numbers with
    four digits. ``svg`` is the figure on white, ``inline`` in the page's colours, described to screen readers.
    """

    name: str
    title: str
    note: str
    about: tuple[str, str]
    headings: list[tuple[str, bool]]
    rows: list[list[str]]
    csv: str
    svg: str
    inline: str


class FigureKind(ABC):
    """One kind of figure: how it finds what it shows among the findings of a run, and draws it.

    Subclass it in a module of this package, and a run's page shows the new kind. ``position`` orders the kinds on a
    page, the lowest first.
    """

    position: ClassVar[int]

    @abstractmethod
    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield the figures of this kind, each with its caption and its data; none where there is nothing to show."""


def _format_column(column: pd.Series[Any]) -> list[str]:
    """Return a column as text: numbers that are all whole as such, others with four digits, what is missing empty."""
    if not is_numeric_dtype(column):
        return ["" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    numbers = [math.nan if missing else float(value) for value, missing in zip(column, column.isna(), strict=True)]
    whole = all(value % 1 == 0 for value in numbers if not math.isnan(value))
    return [_number(value, whole=whole) for value in numbers]


def _number(value: float, *, whole: bool) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞"
    return units.count(value) if whole else units.significant(value, 4)


BAND = "The light band holds the middle half of the blocks."


def format_subject(workload: str, held: str) -> str:
    """Return what a title is about."""
    return clip(format_place(workload, held))


def describe_sample(counts: pd.Series[Any], noun: str) -> str:
    """Return how many samples are behind each of several points, such as ``9 to 14 blocks``."""
    known = counts.dropna()
    if known.empty:
        return f"an unknown number of {noun}s"
    least, most = int(known.min()), int(known.max())
    return units.plural(most, noun) if least == most else f"{units.count(least)} to {units.plural(most, noun)}"


Interval = tuple[float, float, float]  # a speedup, and the ends of its interval
_FURTHEST = 4.0  # an interval reaching further than this factor beyond all speedups is cut at the figure's edge
# Ticks within a decade, by the factor that the axis spans at least: dense enough to read, too few to touch.
_TICKS = {
    200.0: (1,), 25.0: (1, 3), 6.0: (1, 2, 5), 1.8: (1, 1.5, 2, 3, 5, 8), 1.4: (1, 1.2, 1.5, 8), 0.0: (1, 1.1, 1.2, 9),
}  # fmt: skip


def intervals_of(effects: pd.DataFrame) -> list[Interval]:
    """Return the speedups of a table with their intervals."""
    return list(zip(*(effects[name].tolist() for name in ("speedup", "low", "high")), strict=True))


def speedup_axis(intervals: Iterable[Interval], label: str = "") -> Axis:
    """Return an axis that spans 1, all speedups, and the ends of their intervals that are finite and near."""
    known = list(intervals)
    speedups = [speedup for speedup, _, _ in known]
    lows = [max(low, min(speedups) / _FURTHEST) if low > 0 else speedup for speedup, low, _ in known]
    highs = [min(high, max(speedups) * _FURTHEST) if high < math.inf else speedup for speedup, _, high in known]
    least, most = min(*lows, *speedups, 0.95), max(*highs, *speedups, 1.05)
    room = (most / least) ** 0.04  # for half a marker
    least, most = least / room, most * room
    within_decade = next(places for span, places in _TICKS.items() if most / least > span)
    places = log_places(least, most, within_decade)
    return Axis(low=least, high=most, kind="log", label=label, ticks=ticks(places, lambda value: f"{value:,g}×"))


def rows_panel(x: Axis, labels: Sequence[Sequence[str]], *, gap_pt: float) -> Panel:
    """Return a panel of rows under each other, each as high as the tallest label and a gap; the first has y 0.

    Row ``n`` lies at ``-n``.
    """
    height_pt = (gap_pt + _LINE_PT * max(map(len, labels))) * len(labels)
    y = Axis(low=0.4 - len(labels), high=0.6, ticks=[(-place, lines) for place, lines in enumerate(labels)])
    return Panel(x=x, y=y, height_pt=height_pt)


def draw_interval(
    panel: Panel, at: float, low: float, high: float, verdict: str | None, *, upright: bool = False, width: float = 2,
    opacity: float = 1,
) -> None:  # fmt: skip
    """Draw an interval in the colour of its verdict, as far as the axis reaches: across, or up where ``upright``."""
    if verdict in COLOURS:
        points = [(at, end) if upright else (end, at) for end in (low, high)]
        dash = "2 2" if verdict == "undecided" else ""
        panel.line(points, COLOURS[verdict], width=width, dash=dash, opacity=opacity)


def draw_point(panel: Panel, x: float, y: float, verdict: str | None, title: str = "") -> None:
    """Draw a point with the marker and the colour of a verdict."""
    if verdict in COLOURS:
        panel.mark(x, y, MARKERS[verdict], COLOURS[verdict], title=title)


def write_verdicts(panel: Panel, rows: Iterable[tuple[float, str | None, float]]) -> None:
    """Write the glyph of the verdict and the speedup at the right of rows: each its height, verdict and speedup."""
    for y, verdict, speedup in rows:
        text = units.speedup(speedup)
        if verdict in GLYPHS:
            panel.text(1, y, GLYPHS[verdict], colour=COLOURS[verdict], dx=6, by="y")
        panel.text(1, y, text, dx=18, by="y")
        panel.right_pt = max(panel.right_pt, 18 + text_width_pt(text))


def describe_effect(what: str, row: Mapping[str, Any]) -> str:
    """Return what a figure shows where the mouse rests on an effect."""
    verdict = f", {row['verdict']}" if row.get("verdict") else ""
    return f"{what}: {units.ratio(row['speedup'], row['low'], row['high'])}{verdict}"


def first_line(name: str, width_pt: float) -> str:
    """Return as much of a name as fits into a line of this width."""
    first, *more = wrap_text(name, width_pt) or ["unnamed"]
    return f"{first}…" if more else first
