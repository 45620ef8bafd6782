"""Charts of distributions, drawn by seaborn and matplotlib: style, layout, and SVG that fits a page.

They take a second to load, so only a module that draws such a chart imports this one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from accelbench.report.figures.svg import (
    INK,
    LINE,
    LINE_HEIGHT,
    PAPER,
    TEXT_PT,
    TITLE_PT,
    WIDTH_PT,
    replace_invalid_xml,
    wrap_text,
)

_NUMBER = re.compile(r"-?\d+\.\d{3,}")  # finer than a hundredth of a point
_REFERENCE = re.compile(r"^#|url\(#")
# What all of a figure has in common stands at its root: matplotlib's default style, and the font.
_COMMON = {"stroke-linejoin": "round", "stroke-linecap": "butt", "font-family": "'DejaVu Sans', sans-serif"}
_GRID = "fill:none;stroke:var(--line)"
_NAMED_PARTS = ("axes", "axis", "legend", "line2d")  # groups whose part in the figure is named, beside collections
_MARGIN_PT = 4  # at either end of a title's lines
_LEFT, _BELOW_IN = 0.16, 0.48  # room for the labels at the left, as a share of the width, and below the axes

_STYLE: Any = {  # matplotlib types each key apart
    **sns.axes_style("whitegrid"),
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": TEXT_PT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "figure.titlesize": TITLE_PT,
    "figure.titleweight": "bold",
    "axes.facecolor": "none",
    "font.size": TEXT_PT,
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


@dataclass(frozen=True, eq=False)
class SeabornChart:
    """A figure of matplotlib that is drawn as SVG once."""

    figure: Figure
    name: str

    @cached_property
    def svg(self) -> str:
        """The figure as a file of its own, on white."""
        with _drawing(), BytesIO() as written:
            canvas: Any = FigureCanvasSVG(self.figure)  # savefig would draw twice
            canvas.print_svg(written, metadata={"Date": None, "Creator": None})
            return replace_invalid_xml(written.getvalue().decode())

    def inline(self, described: str, colours: Mapping[str, str]) -> str:
        """Return it as an image for a page, described to screen readers, in the colours of the page."""
        return _inline(self.svg, described=described, name=self.name, colours=colours)


@contextmanager
def new_figure(*, title: str, height_in: float) -> Iterator[tuple[Figure, Axes]]:
    """Provide a figure with axes, and draw on it in the common style.

    ``title`` is wrapped to the figure's width and stands above the axes; the figure grows by its lines, so that
    ``height_in`` is the height of everything below it.
    """
    with _drawing():
        lines = wrap_text(title, WIDTH_PT - 2 * _MARGIN_PT, size_pt=TITLE_PT, bold=True)
        title_in = len(lines) * LINE_HEIGHT * TITLE_PT / 72
        height_in += title_in
        figure = Figure(figsize=(WIDTH_PT / 72, height_in))
        place: Any = {"x": _MARGIN_PT / WIDTH_PT, "y": 1 - _MARGIN_PT / 72 / height_in, "ha": "left", "va": "top"}
        figure.suptitle("\n".join(lines), linespacing=LINE_HEIGHT, **place)
        axes = figure.add_axes(
            (_LEFT, _BELOW_IN / height_in, 0.97 - _LEFT, 1 - (_BELOW_IN + title_in + 0.15) / height_in)
        )
        yield figure, axes


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


def write_ticks(axis: Any, format_tick: Callable[[float], str]) -> None:
    """Label an axis by one of the functions of :mod:`accelbench.units`."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
    axis.set_minor_locator(NullLocator())


def _inline(svg: str, *, described: str, name: str, colours: Mapping[str, str]) -> str:
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
    attributes = {name.rpartition("}")[2]: _NUMBER.sub(_round, value) for name, value in element.items()}
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


def _round(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
