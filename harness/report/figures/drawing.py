"""What all figures share: their look, and how they become files."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, NullLocator
from pandas.api.types import is_numeric_dtype

from harness import units
from harness.report.figures.inline import inlined, well_formed
from harness.report.outputs.csv_text import csv_text

INK, LINE, PAPER = "#24292f", "#d5dae0", "#ffffff"
WIDTH_IN = 4.6  # narrow enough that text of this size stays legible on a telephone
_TEXT_PT, _TITLE_PT = 9, 10
_LINE_HEIGHT = 1.25  # of a title, as a multiple of its size
_MARGIN_PT = 4  # at either end of a title's lines
_LONGEST_LABEL = 70  # characters
_LONGEST_TITLE = 300
_STYLE: Any = {  # matplotlib types each key apart
    **sns.axes_style("whitegrid"),
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": _TEXT_PT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "figure.titlesize": _TITLE_PT,
    "figure.titleweight": "bold",
    "axes.facecolor": "none",
    "font.size": _TEXT_PT,
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that every machine draws the same
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "accelbench",
    "text.color": INK,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One figure, with all that a page says of it.

    ``kind`` is what it shows, such as "effects" or "batch-size", and ``name`` that of its files and of its place on
    the page, which no other there has. ``title`` states the finding in a sentence, ``alt`` carries it to who does not
    see the figure, ``note`` holds units, sample sizes and what the marks mean. ``data`` is what was drawn, its columns
    named as a reader would, with units. ``about`` is the framework and the technique to whose section it belongs;
    empty where it is about the whole run.
    """

    kind: str
    name: str
    title: str
    alt: str
    note: str
    data: pd.DataFrame
    figure: Figure
    about: tuple[str, str] = ("", "")

    @property
    def csv(self) -> str:
        """The data as CSV."""
        return csv_text(self.data)

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """The data's columns, and whether each holds numbers."""
        return [(str(name), is_numeric_dtype(kind)) for name, kind in self.data.dtypes.items()]

    @property
    def rows(self) -> list[list[str]]:
        """The data as text, numbers with four digits."""
        columns = [_written(self.data.iloc[:, place]) for place in range(self.data.shape[1])]
        return [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def svg(self) -> str:
        """The figure as SVG on white."""
        with _drawing(), BytesIO() as written:
            canvas: Any = FigureCanvasSVG(self.figure)  # savefig would draw twice
            canvas.print_svg(written, metadata={"Date": None, "Creator": None})
            return well_formed(written.getvalue().decode())

    def inline(self) -> str:
        """Return it as SVG for a page: small, in the page's colours, described by ``alt``, its ids its own."""
        colours = {INK: "currentColor", LINE: "var(--line)", PAPER: "var(--paper)"}
        return inlined(self.svg, described=self.alt, name=self.name, colours=colours)


@contextmanager
def _drawing() -> Iterator[None]:
    """Draw in the common style."""
    with mpl.rc_context(_STYLE), _whatever_the_name():
        yield


@contextmanager
def _whatever_the_name() -> Iterator[None]:
    """Let what a name does to a figure be no warning: a missing character, too little room."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from|constrained_layout not applied")
        yield


@contextmanager
def styled(rows: int = 1, *, title: str, height_in: float, sharex: bool = True) -> Iterator[tuple[Figure, list[Axes]]]:
    """Provide a figure with that many axes above each other, and draw on it in the common style.

    ``title`` is wrapped to the figure's width and stands above the axes, bold and at the left; the figure grows by
    its lines, so that ``height_in`` is the height of what is below it. When the block ends, the layout is done once
    and for all: nothing is added to the figure afterwards.
    """
    with _drawing():
        lines = wrapped(title, 72 * WIDTH_IN - 2 * _MARGIN_PT, size_pt=_TITLE_PT, bold=True)
        title_in = len(lines) * _LINE_HEIGHT * _TITLE_PT / 72
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=(WIDTH_IN, height_in + title_in), layout=layout)
        figure.suptitle("\n".join(lines), x=_MARGIN_PT / 72 / WIDTH_IN, ha="left", linespacing=_LINE_HEIGHT)
        axes = figure.subplots(rows, 1, squeeze=False, sharex=sharex)
        yield figure, list(axes[:, 0])
        layout.execute(figure)
        figure.set_layout_engine("none")


def wrapped(text: str, width_pt: float, *, size_pt: float = _TEXT_PT, bold: bool = False) -> list[str]:
    """Return the lines of a text in a figure, none wider than this by the font's own measure."""
    font = FontProperties(family="DejaVu Sans", size=size_pt, weight="bold" if bold else "normal")

    def width(line: str) -> float:
        with _whatever_the_name():
            return float(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0])

    lines: list[str] = []
    for word in filter(None, re.split(r"[ \n]", _clipped(text, _LONGEST_TITLE))):  # not at a space that holds together
        if lines and width(f"{lines[-1]} {word}") <= width_pt:
            lines[-1] += f" {word}"
            continue
        pieces = -(-int(width(word)) // int(width_pt)) or 1  # a word wider than a line is cut into equal pieces
        length = -(-len(word) // pieces)
        lines += [word[start : start + length] for start in range(0, len(word), length)]
    return lines


def _written(column: pd.Series[Any]) -> list[str]:
    """Return a column as text: numbers that are all whole as such, others with four digits, what is missing empty."""
    if not is_numeric_dtype(column):
        return ["" if pd.isna(value) else str(value) for value in column]
    numbers = column.astype(float)
    whole = bool((numbers.dropna() % 1 == 0).all())
    return [_number(value, whole=whole) for value in numbers]


def _number(value: float, *, whole: bool) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞"
    return units.count(value) if whole else units.significant(value, 4)


def write_ticks(axis: Any, written: Callable[[float], str]) -> None:
    """Label an axis by one of the functions of :mod:`harness.units`."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    axis.set_minor_locator(NullLocator())


def clipped(text: str) -> str:
    """Return a name as long as a figure has room for."""
    return _clipped(text, _LONGEST_LABEL)


def _clipped(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
