"""Charts of lines, dots and text, written as SVG: axes, panels one above another, and the widths of texts.

A plotting library takes a tenth of a second for such a chart, and a page has a hundred of them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal
from xml.sax.saxutils import escape

INK, LINE, PAPER = "#24292f", "#d5dae0", "#ffffff"
PALETTE = (  # of seaborn, told apart in every common colour blindness
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")  # of lines or points on one panel
WIDTH_PT = 331.2  # narrow enough that text of this size stays legible on a telephone
TEXT_PT, TITLE_PT = 9.0, 10.0
LINE_HEIGHT = 1.25  # of text, as a multiple of its size
_PAD_PT, _EDGE_PT = 4.0, 6.0  # between a label and what it labels; around the figure
_LONGEST_TEXT = 300  # characters of a title or a label

# Widths of the characters from space to tilde in DejaVu Sans, in hundredths of their size. It is wider than most
# fonts, so what has room in it has room in others.
_WIDTHS = (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 30, 30, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 68, 61,
    68, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59,
    82, 59, 59, 52, 64, 34, 64, 84,
)  # fmt: skip
_BOLD = 1.13  # how much wider bold text is
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text_width_pt(text: str, size_pt: float = TEXT_PT, *, bold: bool = False) -> float:
    """Return about how wide a text is in the font of figures."""
    hundredths = sum(_WIDTHS[ord(each) - 32] if " " <= each <= "~" else _width_of(each) for each in text)
    return hundredths / 100 * size_pt * (_BOLD if bold else 1)


def _width_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Cf", "Me"):
        return 0
    if character == "\u00a0":
        return _WIDTHS[0]
    return 100 if unicodedata.east_asian_width(character) in "WF" else 84 if character in "×→≤▲▼" else 64


def wrap_text(text: str, width_pt: float, *, size_pt: float = TEXT_PT, bold: bool = False) -> list[str]:
    """Return the lines of a text, none wider than ``width_pt``. A space that does not break holds words together."""
    lines: list[str] = []
    for word in filter(None, re.split(r"[ \n]", clip(text, _LONGEST_TEXT))):
        if lines and text_width_pt(f"{lines[-1]} {word}", size_pt, bold=bold) <= width_pt:
            lines[-1] += f" {word}"
            continue
        pieces = -(-int(text_width_pt(word, size_pt, bold=bold)) // int(width_pt)) or 1
        length = -(-len(word) // pieces)  # a word wider than a line is cut into equal pieces
        lines += [word[start : start + length] for start in range(0, len(word), length)]
    return lines


def clip(text: str, longest: int = 70) -> str:
    """Return a text, cut to the number of characters for which there is room."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def replace_invalid_xml(text: str) -> str:
    """Return text in which a character that XML does not know is a replacement character."""
    return _NOT_IN_XML.sub("\ufffd", text)


Tick = tuple[float, Sequence[str]]  # a value, and the lines of its label


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis between two values, its label and its ticks.

    A "symlog" axis is linear from 0 to ``threshold`` and logarithmic beyond it.
    """

    low: float
    high: float
    kind: Literal["linear", "log", "symlog"] = "linear"
    label: str = ""
    ticks: Sequence[Tick] = ()
    threshold: float = 1.0

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at the lower end to 1 at the upper one; an infinite one at its end."""
        value = min(max(value, self.low), self.high)
        low, high = self._scale(self.low), self._scale(self.high)
        return (self._scale(value) - low) / (high - low)

    def _scale(self, value: float) -> float:
        if self.kind == "linear":
            return value
        if self.kind == "log":
            return math.log(value)
        size = abs(value) / self.threshold
        return math.copysign(_LINEAR_PART * size if size <= 1 else _LINEAR_PART + math.log10(size), value)


_LINEAR_PART = 0.4  # of a symlog axis, in decades


def ticks(values: Iterable[float], name: Callable[[float], str]) -> list[Tick]:
    """Return ticks at these values with their names."""
    return [(value, (name(value),)) for value in values]


def log_places(low: float, high: float, within_decade: Sequence[float]) -> list[float]:
    """Return the places between two values that are these multiples of powers of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    places = (multiple * 10.0**decade for decade in decades for multiple in within_decade)
    return [place for place in places if low <= place <= high]


def round_places(low: float, high: float) -> list[float]:
    """Return at most six evenly spaced places between two values that are round in powers of ten."""
    raw = (high - low) / 5 or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(multiple * power for multiple in (1, 2, 2.5, 5, 10) if multiple * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


@dataclass(frozen=True)
class Box:
    """Where a panel's axes lie in the figure, in points from the upper left, and what their ends stand for."""

    x_axis: Axis
    y_axis: Axis
    left: float
    top: float
    width: float
    height: float

    def x(self, value: float) -> float:
        """Return where a value lies from the left."""
        return self.left + self.width * self.x_axis.share(value)

    def y(self, value: float) -> float:
        """Return where a value lies from the top."""
        return self.top + self.height * (1 - self.y_axis.share(value))


Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
Mark = Callable[[Box], str]

_MARKERS = {  # of size 1 around 0
    "s": "M-.45-.45H.45V.45H-.45Z", "^": "M0-.5L.5.45H-.5Z", "v": "M0 .5L.5-.45H-.5Z", "D": "M0-.6L.6 0 0 .6-.6 0Z",
    "P": "M-.17-.5H.17V-.17H.5V.17H.17V.5H-.17V.17H-.5V-.17H-.17Z", "|": "M-.09-.6H.09V.6H-.09Z",
    "+": "M-.5-.05H-.05V-.5H.05V-.05H.5V.05H.05V.5H-.05V.05H-.5Z",
    "X": "M-.5-.3-.3-.5 0-.2.3-.5.5-.3.2 0 .5.3.3.5 0 .2-.3.5-.5.3-.2 0Z",
    "<": "M-.5 0L.45-.5V.5Z", ">": "M.5 0L-.45-.5V.5Z",
    "*": "M0-.6.14-.19.57-.19.22.07.35.49 0 .23-.35.49-.22.07-.57-.19-.14-.19Z",
}  # fmt: skip


@dataclass
class Panel:
    """Axes and what is drawn on them, in the order in which it is added.

    Text at the right has ``right_pt`` of room, and text above the axes ``top_pt``.
    """

    x: Axis
    y: Axis
    height_pt: float
    title: str = ""
    right_pt: float = 0.0
    top_pt: float = 0.0
    marks: list[Mark] = field(default_factory=list)

    def line(
        self, points: Iterable[Point], colour: str = INK, *, width: float = 1.2, dash: str = "", opacity: float = 1.0
    ) -> None:
        """Draw a line through points, as far as the axes reach; one that is not a number leaves a gap."""
        parts: list[list[Point]] = [[]]
        for point in points:
            if any(map(math.isnan, point)):
                parts.append([])
            else:
                parts[-1].append(point)
        look = _stroke(colour, width, dash, opacity)
        drawn = [part for part in parts if len(part) > 1]
        self.marks.append(
            lambda box: "".join(f'<path data-part="line" d="{_path(box, part)}" fill="none"{look}/>' for part in drawn)
        )

    def area(self, lower: Sequence[Point], upper: Sequence[Point], colour: str, opacity: float = 0.15) -> None:
        """Shade between two lines with the same places along the x axis; one that is not a number leaves a gap."""
        parts: list[list[tuple[Point, Point]]] = [[]]
        for low, high in zip(lower, upper, strict=True):
            if math.isnan(low[1]) or math.isnan(high[1]):
                parts.append([])
            else:
                parts[-1].append((low, high))

        def draw(box: Box) -> str:
            outlines = (
                _path(box, [*(low for low, _ in part), *(high for _, high in reversed(part))]) for part in parts if part
            )
            return "".join(f'<path d="{outline}Z" fill="{colour}" fill-opacity="{opacity:g}"/>' for outline in outlines)

        self.marks.append(draw)

    def band(self, low: float, high: float, colour: str, *, opacity: float = 0.25) -> None:
        """Shade between two values of the x axis, from the lower end of the y axis to the upper one."""

        def draw(box: Box) -> str:
            width = box.x(high) - box.x(low)
            place = f'x="{_n(box.x(low))}" y="{_n(box.top)}" width="{_n(width)}" height="{_n(box.height)}"'
            return f'<rect {place} fill="{colour}" fill-opacity="{opacity:g}"/>'

        self.marks.append(draw)

    def rule(
        self, value: float, colour: str = INK, *, along: Literal["x", "y"] = "x", width: float = 0.8, dash: str = ""
    ) -> None:
        """Draw a line across the axes at a value of one of them."""
        look = _stroke(colour, width, dash)

        def draw(box: Box) -> str:
            course = f"M{_n(box.x(value))} {_n(box.top)}v{_n(box.height)}"
            if along == "y":
                course = f"M{_n(box.left)} {_n(box.y(value))}h{_n(box.width)}"
            return f'<path data-part="line" d="{course}" fill="none"{look}/>'

        self.marks.append(draw)

    def mark(
        self, x: float, y: float, marker: str = "o", colour: str = INK, *, size: float = 6.5, hollow: bool = False,
        fill: str = "", title: str = "",
    ) -> None:  # fmt: skip
        """Draw a marker, filled unless ``hollow``; a browser shows ``title`` where the mouse rests on it."""
        inner = fill or ("none" if hollow else colour)
        outline = f' stroke="{colour}" stroke-width="1"' if hollow or fill else ""
        shown = f"<title>{_text(title)}</title>" if title else ""
        element = f'circle r="{_n(size / 2)}"' if marker == "o" else f'path d="{_scaled_marker(marker, size)}"'
        tag = element.partition(" ")[0]

        def draw(box: Box) -> str:
            place = f'transform="translate({_n(box.x(x))} {_n(box.y(y))})"'
            return f'<{element} data-part="mark" {place} fill="{inner}"{outline}>{shown}</{tag}>'

        self.marks.append(draw)

    def text(
        self, x: float, y: float, text: str, *, colour: str = INK, dx: float = 0.0, dy: float = 0.0,
        anchor: Anchor = "start", size: float = TEXT_PT, ground: bool = False,
        by: Literal["values", "x", "y"] = "values",
    ) -> None:  # fmt: skip
        """Write a text at a place, moved by ``dx`` and ``dy`` points, its middle at this height.

        ``by`` names the axes whose value is given; the other is a share of its axis, 0 at the lower end. ``ground``
        puts paper behind it.
        """

        def draw(box: Box) -> str:
            left = box.x(x) if by != "y" else box.left + box.width * x
            top = box.y(y) if by != "x" else box.top + box.height * (1 - y)
            behind = f' stroke="{PAPER}" stroke-width="3" paint-order="stroke"' if ground else ""
            return _text_element(text, left + dx, top + dy, anchor=anchor, size=size, colour=colour, more=behind)

        self.marks.append(draw)

    def hover(self, y: float, height: float, title: str) -> None:
        """Show a text where the mouse rests on a row: on that height of the y axis around a value."""

        def draw(box: Box) -> str:
            top, bottom = sorted((box.y(y - height / 2), box.y(y + height / 2)))
            place = f'x="0" y="{_n(top)}" width="{WIDTH_PT:g}" height="{_n(bottom - top)}"'
            return f'<rect {place} fill="none" pointer-events="all"><title>{_text(title)}</title></rect>'

        self.marks.append(draw)


@dataclass(frozen=True, kw_only=True)
class Key:
    """What a marker or a line of a legend stands for."""

    label: str
    colour: str
    marker: str = "o"
    line: bool = False
    hollow: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels one above another under a title, with a legend below them, as they are when it is first drawn."""

    title: str
    panels: Sequence[Panel]
    legend: Sequence[Key] = ()
    columns: int = 1  # of the legend

    @cached_property
    def boxes(self) -> list[Box]:
        """Where the axes of each panel lie."""
        left = max(_left_pt(panel) for panel in self.panels)
        right = max(panel.right_pt for panel in self.panels)
        boxes, top = [], self._title_pt
        for panel in self.panels:
            top += panel.top_pt + (LINE_HEIGHT * TEXT_PT + 2 if panel.title else _PAD_PT)
            width = WIDTH_PT - _EDGE_PT - left - right
            boxes.append(Box(panel.x, panel.y, left, top, width, panel.height_pt))
            top += panel.height_pt + _below_pt(panel)
        return boxes

    @cached_property
    def title_lines(self) -> list[str]:
        """The lines of the title, none wider than the chart."""
        return wrap_text(self.title, WIDTH_PT - 2 * _EDGE_PT, size_pt=TITLE_PT, bold=True)

    @cached_property
    def height_pt(self) -> float:
        """The height of the chart with its title and its legend."""
        last, panel = self.boxes[-1], self.panels[-1]
        legend_pt = -(-len(self.legend) // self.columns) * LINE_HEIGHT * TEXT_PT
        return last.top + last.height + _below_pt(panel) + legend_pt + (2 if self.legend else 1) * _EDGE_PT

    @property
    def svg(self) -> str:
        """The chart as a file of its own, on white."""
        size = f'width="{WIDTH_PT:g}pt" height="{self.height_pt:g}pt"'
        ground = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        return f"{self._open_svg(f' {size}')}{ground}{self._drawn}</svg>\n"

    def inline(self, described: str, colours: Mapping[str, str]) -> str:
        """Return it as an image for a page, described to screen readers, in the colours of the page."""
        drawn = self._open_svg(f' role="img" aria-label="{_text(described)}"') + self._drawn
        for colour, own in colours.items():
            drawn = drawn.replace(f'"{colour}"', f'"{own}"')
        return f"{drawn}</svg>"

    @property
    def _title_pt(self) -> float:
        return len(self.title_lines) * LINE_HEIGHT * TITLE_PT + _PAD_PT

    def _open_svg(self, attributes: str) -> str:
        view = f'viewBox="0 0 {WIDTH_PT:g} {_n(self.height_pt)}"'
        font = f'font-family="\'DejaVu Sans\', sans-serif" font-size="{TEXT_PT:g}" fill="{INK}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {view}{attributes} {font}>'

    @cached_property
    def _drawn(self) -> str:
        lines = [
            f'<tspan x="{_EDGE_PT:g}" dy="{_n(LINE_HEIGHT * TITLE_PT)}">{_text(line)}</tspan>'
            for line in self.title_lines
        ]
        title = f'<text y="0" font-size="{TITLE_PT:g}" font-weight="bold">{"".join(lines)}</text>'
        panels = [_panel(panel, box) for panel, box in zip(self.panels, self.boxes, strict=True)]
        return "".join([title, *panels, *self._legend()])

    def _legend(self) -> Iterator[str]:
        top = self.height_pt - _EDGE_PT - -(-len(self.legend) // self.columns) * LINE_HEIGHT * TEXT_PT
        column_pt = (WIDTH_PT - 2 * _EDGE_PT) / self.columns
        for place, key in enumerate(self.legend):
            x = _EDGE_PT + place % self.columns * column_pt
            y = top + (place // self.columns + 0.5) * LINE_HEIGHT * TEXT_PT
            if key.line:
                yield f'<path d="M{_n(x)} {_n(y)}h16" fill="none"{_stroke(key.colour, 1.2, "")}/>'
            inner, outline = ("none", f' stroke="{key.colour}"') if key.hollow else (key.colour, "")
            at = f'transform="translate({_n(x + 8)} {_n(y)})" fill="{inner}"{outline}'
            if key.marker == "o":
                yield f'<circle r="3" {at}/>'
            elif key.marker:
                yield f'<path d="{_scaled_marker(key.marker, 6.5)}" {at}/>'
            first, *more = wrap_text(key.label, column_pt - 24) or [""]
            yield _text_element(f"{first}…" if more else first, x + 20, y)


def _panel(panel: Panel, box: Box) -> str:
    """Return a panel: its grid, what is drawn on it, and its labels."""
    grid = [f"M{_n(box.x(value))} {_n(box.top)}v{_n(box.height)}" for value, _ in panel.x.ticks]
    grid += [f"M{_n(box.left)} {_n(box.y(value))}h{_n(box.width)}" for value, _ in panel.y.ticks]
    frame = f"M{_n(box.left)} {_n(box.top)}v{_n(box.height)}h{_n(box.width)}"
    parts = [f'<path d="{"".join(grid)}{frame}" fill="none"{_stroke(LINE, 0.6, "")}/>']
    parts += [mark(box) for mark in panel.marks]
    parts += _tick_labels(panel, box)
    bottom = box.top + box.height
    if panel.title:
        parts.append(_text_element(panel.title, box.left, box.top - TEXT_PT * 0.75))
    if panel.x.label:
        below = LINE_HEIGHT * TEXT_PT * (1.6 if panel.x.ticks else 0.6) + _PAD_PT
        parts.append(_text_element(panel.x.label, box.left + box.width / 2, bottom + below, anchor="middle"))
    if panel.y.label:
        x, y = TEXT_PT * 0.75, box.top + box.height / 2
        parts.append(
            _text_element(panel.y.label, x, y, anchor="middle", more=f' transform="rotate(-90 {_n(x)} {_n(y)})"')
        )
    return f'<g data-part="panel">{"".join(parts)}</g>'


def _tick_labels(panel: Panel, box: Box) -> Iterator[str]:
    """Yield the labels of ticks; along the x axis only those that do not touch the one before."""
    after = -math.inf
    for value, label in sorted(panel.x.ticks, key=lambda tick: tick[0]):
        x = box.x(value)
        half = text_width_pt(label[0] if label else "") / 2
        if x - half > after and x + half < WIDTH_PT:
            yield _text_element(label[0] if label else "", x, box.top + box.height + 0.9 * TEXT_PT, anchor="middle")
            after = x + half + _PAD_PT
    for value, label in panel.y.ticks:
        first = box.y(value) - (len(label) - 1) / 2 * LINE_HEIGHT * TEXT_PT
        for place, line in enumerate(label):
            yield _text_element(line, box.left - _PAD_PT, first + place * LINE_HEIGHT * TEXT_PT, anchor="end")


def _left_pt(panel: Panel) -> float:
    """Return the room that the labels at the left of a panel take."""
    widest = max((text_width_pt(line) for _, label in panel.y.ticks for line in label), default=0.0)
    return widest + _PAD_PT + (LINE_HEIGHT * TEXT_PT + _PAD_PT if panel.y.label else 0) + _EDGE_PT


def _below_pt(panel: Panel) -> float:
    """Return the room that the labels below a panel take."""
    lines = bool(any(any(label) for _, label in panel.x.ticks)) + bool(panel.x.label)
    return lines * LINE_HEIGHT * TEXT_PT + _PAD_PT


def _text_element(
    text: str, x: float, y: float, *, anchor: Anchor = "start", size: float = TEXT_PT, colour: str = INK, more: str = ""
) -> str:
    """Return a text whose middle is at a height."""
    look = f' text-anchor="{anchor}"' if anchor != "start" else ""
    look += f' font-size="{size:g}"' if size != TEXT_PT else ""
    look += f' fill="{colour}"' if colour != INK else ""
    return f'<text x="{_n(x)}" y="{_n(y + 0.36 * size)}"{look}{more}>{_text(text)}</text>'


def _text(text: str) -> str:
    return escape(replace_invalid_xml(text), {'"': "&quot;"})


def _stroke(colour: str, width: float, dash: str, opacity: float = 1.0) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    faint = f' stroke-opacity="{opacity:g}"' if opacity < 1 else ""
    return f' stroke="{colour}" stroke-width="{width:g}"{dashed}{faint}'


def _path(box: Box, points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_n(box.x(x))} {_n(box.y(y))}" for x, y in points)


def _scaled_marker(marker: str, size: float) -> str:
    return re.sub(r"-?\d*\.?\d+", lambda found: _format_gap(float(found[0]) * size), _MARKERS[marker])


def _format_gap(number: float) -> str:
    return f" {_n(number)}"


def _n(number: float) -> str:
    """Return a number with two digits after the point at most."""
    return f"{number:.2f}".rstrip("0").rstrip(".") if math.isfinite(number) else "0"
