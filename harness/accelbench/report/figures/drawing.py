"""What all figures share: style, the axis of speedups, marks for verdicts, common phrases, and conversion to SVG."""

from __future__ import annotations

import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from typing import Any, ClassVar, Literal
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from pandas.api.types import is_numeric_dtype

from accelbench import units
from accelbench.report.exports import format_csv
from accelbench.report.verdicts import COLOURS, GLYPHS, MARKERS
from accelbench.results import Findings
from accelbench.text import format_place

_NUMBER = re.compile(r"-?\d+\.\d{3,}")  # finer than a hundredth of a point
_REFERENCE = re.compile(r"^#|url\(#")
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What all of a figure has in common stands at its root: matplotlib's default style, and the font.
_COMMON = {"stroke-linejoin": "round", "stroke-linecap": "butt", "font-family": "'DejaVu Sans', sans-serif"}
_GRID = "fill:none;stroke:var(--line)"
_NAMED_PARTS = ("axes", "axis", "legend", "line2d")  # groups whose part in the figure is named, beside collections


def replace_invalid_xml(svg: str) -> str:
    """Return SVG in which a character that XML does not know is a replacement character."""
    return _NOT_IN_XML.sub("\ufffd", svg)


def inline_svg(svg: str, *, described: str, name: str, colours: Mapping[str, str]) -> str:
    """Return a figure's SVG as an image for a page.

    ``described`` is the text for screen readers. ``name`` is unique on the page. ``colours`` maps the colours of the
    file to those of the page. The attribute ``data-part`` names the groups that hold the axes, the legend and the data.
    """
    root = ET.fromstring(svg)
    for dropped in root.findall("{*}metadata") + root.findall("{*}defs[{*}style]"):
        root.remove(dropped)
    prefix = f"f{blake2b(name.encode(), digest_size=4).hexdigest()}-"
    _shrink(root, prefix, colours)
    root.attrib |= {"role": "img", "aria-label": replace_invalid_xml(described), "style": _style(_COMMON)}
    return ET.tostring(root, encoding="unicode")


def _shrink(element: ET.Element, prefix: str, colours: Mapping[str, str]) -> None:
    """Remove what only matplotlib needs from an element and from everything in it."""
    element.tag = element.tag.rpartition("}")[2]
    attributes = {name.rpartition("}")[2]: _NUMBER.sub(_rounded, value) for name, value in element.items()}
    own = attributes.pop("id", "")
    if own and element.tag == "g":
        attributes |= _part(own)
    elif own:
        attributes["id"] = prefix + own
    element.attrib = _shrunk(attributes, prefix, colours)
    element.tail = None
    if element.tag != "text":
        element.text = None
    for place in reversed(range(len(element))):
        child = element[place]
        _shrink(child, prefix, colours)
        if child.tag == "g" and not child.attrib:
            element[place : place + 1] = list(child)


def _shrunk(attributes: dict[str, str], prefix: str, colours: Mapping[str, str]) -> dict[str, str]:
    kept = {name: _REFERENCE.sub(rf"\g<0>{prefix}", value) for name, value in attributes.items()}
    if kept.get("transform", "").startswith("rotate(-0 "):
        del kept["transform"]
    if "d" in kept:
        kept["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", kept["d"]).strip()
    if "style" in kept:
        rules = (rule.split(": ", 1) for rule in kept["style"].split("; "))
        kept["style"] = _style({name: colours.get(rule, rule) for name, rule in rules if _COMMON.get(name) != rule})
        if _GRID in kept["style"]:
            kept.pop("clip-path", None)  # a line of the grid ends where the axes do
    return kept


def _part(own: str) -> dict[str, str]:
    """Return what a group holds, from its id: "axes" from "axes_1", "PathCollection" from "PathCollection_3"."""
    part = own.removeprefix("matplotlib.").rpartition("_")[0]
    return {"data-part": part} if part in _NAMED_PARTS or part.endswith("Collection") else {}


def _style(rules: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{rule}" for name, rule in rules.items())


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


INK, LINE, PAPER = "#24292f", "#d5dae0", "#ffffff"
PALETTE = tuple(map(str, sns.color_palette("colorblind").as_hex()))
BLUE, ORANGE, GREEN = PALETTE[:3]
SPEEDUP_HEADINGS = {"speedup": "speedup (×)", "low": "from (×)", "high": "to (×)"}  # of data
WIDTH_IN = 4.6  # narrow enough that text of this size stays legible on a telephone
_TEXT_PT, _TITLE_PT = 9, 10
_LINE_HEIGHT = 1.25  # of a title, as a multiple of its size
_MARGIN_PT = 4  # at either end of a title's lines
_LONGEST_LABEL = 70  # characters
_LONGEST_TITLE = 300
_LABEL_LINE_IN = 0.16  # the height of a line of a row's label
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
class FigureWithData:
    """One figure with its caption, its alternative text and its data.

    ``kind`` is what it shows, such as "effects" or "batch-size", and ``name`` that of its files and of its place on
    the page, which no other there has. ``title`` states the finding in a sentence, ``alt`` is the text for
    screen readers, ``note`` holds units, sample sizes and what the marks mean. ``data`` is what was drawn, with columns
    named as a reader would name them, with units. ``about`` names the framework and the technique of its section;
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
        return format_csv(self.data)

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """The data's columns, and whether each holds numbers."""
        return [(str(name), is_numeric_dtype(kind)) for name, kind in self.data.dtypes.items()]

    @property
    def rows(self) -> list[list[str]]:
        """The data as text, numbers with four digits."""
        columns = [_format_column(self.data.iloc[:, place]) for place in range(self.data.shape[1])]
        return [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def svg(self) -> str:
        """The figure as SVG on white."""
        with _drawing(), BytesIO() as written:
            canvas: Any = FigureCanvasSVG(self.figure)  # savefig would draw twice
            canvas.print_svg(written, metadata={"Date": None, "Creator": None})
            return replace_invalid_xml(written.getvalue().decode())

    def inline(self) -> str:
        """Return it as SVG for a page: small, in the page's colours, described by ``alt``, its ids its own."""
        colours = {INK: "currentColor", LINE: "var(--line)", PAPER: "var(--paper)"}
        return inline_svg(self.svg, described=self.alt, name=self.name, colours=colours)


class FigureKind(ABC):
    """One kind of figure: how it finds what it shows among the findings of a run, and draws it.

    Subclass it in a module of this package, and a run's page shows the new kind. ``position`` orders the kinds on a
    page, the lowest first.
    """

    position: ClassVar[int]

    @abstractmethod
    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield the figures of this kind, each with its caption and its data; none where there is nothing to show."""


@contextmanager
def _drawing() -> Iterator[None]:
    """Draw in the common style."""
    with mpl.rc_context(_STYLE), _without_name_warnings():
        yield


@contextmanager
def _without_name_warnings() -> Iterator[None]:
    """Ignore the warnings that a long or unusual name causes: a missing character, too little room."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from|constrained_layout not applied")
        yield


@contextmanager
def new_figure(
    rows: int = 1, *, title: str, height_in: float, sharex: bool = True
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Provide a figure with that many axes above each other, and draw on it in the common style.

    ``title`` is wrapped to the figure's width and stands above the axes, bold and at the left; the figure grows by
    its lines, so that ``height_in`` is the height of everything below it. The layout is computed once, when the block
    ends: add nothing to the figure afterwards.
    """
    with _drawing():
        lines = wrap_text(title, 72 * WIDTH_IN - 2 * _MARGIN_PT, size_pt=_TITLE_PT, bold=True)
        title_in = len(lines) * _LINE_HEIGHT * _TITLE_PT / 72
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=(WIDTH_IN, height_in + title_in), layout=layout)
        figure.suptitle("\n".join(lines), x=_MARGIN_PT / 72 / WIDTH_IN, ha="left", linespacing=_LINE_HEIGHT)
        axes = figure.subplots(rows, 1, squeeze=False, sharex=sharex)
        yield figure, list(axes[:, 0])
        layout.execute(figure)
        figure.set_layout_engine("none")


def wrap_text(text: str, width_pt: float, *, size_pt: float = _TEXT_PT, bold: bool = False) -> list[str]:
    """Return the lines of a text, none wider than ``width_pt`` by the font's own metrics."""
    font = FontProperties(family="DejaVu Sans", size=size_pt, weight="bold" if bold else "normal")

    def width(line: str) -> float:
        with _without_name_warnings():
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


def _format_column(column: pd.Series[Any]) -> list[str]:
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


def write_ticks(axis: Any, format_tick: Callable[[float], str]) -> None:
    """Label an axis by one of the functions of :mod:`accelbench.units`."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
    axis.set_minor_locator(NullLocator())


def clip(text: str) -> str:
    """Return a name, cut to the length for which a figure has room."""
    return _clipped(text, _LONGEST_LABEL)


def _clipped(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def first_line(name: str, width_pt: float) -> str:
    """Return as much of a name as fits into a line of this width."""
    first, *more = wrap_text(name, width_pt) or ["unnamed"]
    return f"{first}…" if more else first


def write_row_name(axes: Axes, name: str, y: float, width_pt: float) -> None:
    """Write a name at the left end of a row, in front of the grid."""
    behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}
    place: Any = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
    axes.annotate(first_line(name, width_pt), (0, y), bbox=behind, **place)


def write_verdicts(axes: Axes, rows: pd.DataFrame) -> None:
    """Write the glyph of the verdict and the speedup at the right of each row, at the height ``y``."""
    place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for y, verdict, speedup in zip(rows["y"], rows["verdict"], rows["speedup"], strict=True):
        if verdict in GLYPHS:
            axes.annotate(GLYPHS[verdict], (1, y), xytext=(6, 0), color=COLOURS[verdict], **place)
        axes.annotate(units.speedup(speedup), (1, y), xytext=(18, 0), color=INK, **place)


def label_rows(axes: Axes, labels: Sequence[Sequence[str]]) -> None:
    """Make each row one label high, the first on top, with its wrapped label at the left."""
    axes.set_yticks(range(len(labels)), ["\n".join(lines) for lines in labels])
    axes.set(ylim=(len(labels) - 0.4, -0.6), ylabel="")


def rows_height_in(labels: Sequence[Sequence[str]], gap_in: float) -> float:
    """Return the height of rows with these wrapped labels, and with a gap between two rows."""
    return (gap_in + _LABEL_LINE_IN * max(map(len, labels))) * len(labels)


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


_FURTHEST = 4.0  # an interval reaching further than this factor beyond all speedups is cut at the figure's edge
# Ticks within a decade, by the factor that the axis spans at least: dense enough to read, too few to touch.
_TICKS = {
    200.0: (1,), 25.0: (1, 3), 6.0: (1, 2, 5), 1.8: (1, 1.5, 2, 3, 5, 8), 1.4: (1, 1.2, 1.5, 8), 0.0: (1, 1.1, 1.2, 9),
}  # fmt: skip


def scale_speedups(axes: Axes, effects: pd.DataFrame, *, upright: bool = False) -> None:
    """Make the x axis one of speedups, or the y axis where it is ``upright``.

    It spans 1, all speedups, and the ends of their intervals that are finite and near.
    """
    speedup = effects["speedup"]
    low = effects["low"].where(effects["low"] > 0, speedup).clip(lower=speedup.min() / _FURTHEST)
    high = effects["high"].where(np.isfinite(effects["high"]), speedup).clip(upper=speedup.max() * _FURTHEST)
    least, most = min(low.min(), speedup.min(), 0.95), max(high.max(), speedup.max(), 1.05)
    room = (most / least) ** 0.04  # for half a marker
    least, most = least / room, most * room
    along: Literal["x", "y"] = "y" if upright else "x"
    axes.set(**{f"{along}scale": "log", f"{along}lim": (least, most)})
    axis, mark = (axes.yaxis, axes.axhline) if upright else (axes.xaxis, axes.axvline)
    axis.set_major_locator(LogLocator(subs=next(ticks for span, ticks in _TICKS.items() if most / least > span)))
    write_ticks(axis, lambda value: f"{value:g}×")
    axes.tick_params(axis=along, which="minor", length=0)
    mark(1, color=INK, linewidth=0.8)


def draw_intervals(
    axes: Axes, effects: pd.DataFrame, at: str, *, upright: bool = False, linewidth: float = 2, alpha: float = 1
) -> None:
    """Draw intervals in the colours of their verdicts, at the place in the column ``at``, within the axis.

    They are horizontal, or vertical where ``upright``.
    """
    least, most = axes.get_ylim() if upright else axes.get_xlim()
    for verdict, colour in COLOURS.items():
        chosen = effects[effects["verdict"] == verdict]
        ends = chosen[at], chosen["low"].clip(lower=least), chosen["high"].clip(upper=most)
        look: Any = {"color": colour, "linewidth": linewidth, "alpha": alpha}
        look["linestyles"] = "dotted" if verdict == "undecided" else "solid"
        (axes.vlines if upright else axes.hlines)(*ends, **look)


def draw_points(axes: Axes, effects: pd.DataFrame, *, x: str = "speedup", y: str = "y") -> None:
    """Draw a point for each effect, with the marker and the colour of its verdict."""
    for verdict, chosen in effects.groupby("verdict"):
        look: Any = {"marker": MARKERS[str(verdict)], "color": COLOURS[str(verdict)], "linestyle": ""}
        axes.plot(chosen[x], chosen[y], markersize=6.5, markeredgewidth=0, zorder=3, **look)
