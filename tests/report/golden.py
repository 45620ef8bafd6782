"""What a figure shows, read back from the SVG that stands on the page: its marks and lines as numbers again.

A test compares them with the table under the figure:

    shown = marks(drawn)
    assert sorted(shown["x"]) == close(drawn.data["speedup (×)"])
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

from accelbench.report.figures.drawing import FigureWithData
from accelbench.report.figures.svg import TEXT_PT, Axis, text_width_pt

_DRAWING_PRECISION = 1e-3  # places stand in the file to a hundredth of a point
_BEFORE_ANCHOR = {"start": 0.0, "middle": 0.5, "end": 1.0}  # share of a text's width
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def marks(drawn: FigureWithData, place: int = 0) -> pd.DataFrame:
    """Return the markers in one of a figure's panels as ``x`` and ``y`` in the axes' own units, as they were drawn."""
    points = [
        tuple(map(float, _NUMBER.findall(each.get("transform", ""))))
        for each in _panel(drawn, place).iter()
        if each.get("data-part") == "mark"
    ]
    return pd.DataFrame(_numbers(drawn, place, points), columns=["x", "y"])


def lines(drawn: FigureWithData, place: int = 0) -> list[np.ndarray]:
    """Return the lines in one of a figure's panels, shape ``(points, 2)`` each, with such that mark a place."""
    paths = [each.get("d", "") for each in _panel(drawn, place).iter() if each.get("data-part") == "line"]
    return [_numbers(drawn, place, _places(path)) for path in paths]


def texts(drawn: FigureWithData) -> list[str]:
    """Return what is written in a figure, below its title."""
    return ["".join(each.itertext()) for each in ET.fromstring(drawn.render().inline).findall(".//{*}text")][1:]


@dataclass(frozen=True)
class TextBox:
    """Where a line of text stands, in points, from capitals to descenders."""

    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: "TextBox") -> bool:
        """Return whether two lines share a place."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and min(self.bottom, other.bottom) > max(self.top, other.top)


def boxes_of_texts(drawn: FigureWithData) -> list[tuple[str, TextBox]]:
    """Return the lines of text in a figure and where they stand, without those that stand upright."""
    found = []
    for element in ET.fromstring(drawn.render().inline).findall(".//{*}text"):
        y, size = float(element.get("y", "0")), float(element.get("font-size", TEXT_PT))
        for line in list(element) or [element]:
            y += float(line.get("dy", "0"))
            said = "".join(line.itertext())
            width = text_width_pt(said, size, bold="font-weight" in element.attrib)
            left = float(line.get("x", "0")) - _BEFORE_ANCHOR[element.get("text-anchor", "start")] * width
            box = TextBox(left=left, right=left + width, top=y - 0.73 * size, bottom=y + 0.21 * size)
            if "rotate" not in element.get("transform", ""):
                found.append((said, box))
    return found


def close(numbers: Iterable[float]) -> Any:
    """Return numbers in ascending order, for a comparison to the precision of a drawing."""
    ordered = sorted(numbers)
    return pytest.approx(ordered, rel=_DRAWING_PRECISION, abs=_DRAWING_PRECISION * (ordered[-1] - ordered[0]))


def _panel(drawn: FigureWithData, place: int) -> ET.Element:
    groups = [each for each in ET.fromstring(drawn.render().inline).iter() if each.get("data-part") == "panel"]
    return groups[place]


def _places(path: str) -> list[tuple[float, float]]:
    """Return the corners of a path of absolute places, or of one with a relative line across or down."""
    found = [float(number) for number in _NUMBER.findall(path)]
    if "h" in path or "v" in path:
        x, y, far = found
        return [(x, y), (x + far, y) if "h" in path else (x, y + far)]
    return list(zip(found[::2], found[1::2], strict=True))


def _numbers(drawn: FigureWithData, place: int, points: Iterable[tuple[float, float]]) -> np.ndarray:
    """Turn places in the file back into what they stand for."""
    box = drawn.figure.boxes[place]
    values = [
        (value_at(box.x_axis, (x - box.left) / box.width), value_at(box.y_axis, 1 - (y - box.top) / box.height))
        for x, y in points
    ]
    return np.array(values).reshape(-1, 2)


def value_at(axis: Axis, share: float) -> float:
    """Return the value at a share of an axis: the inverse of `Axis.share`."""
    within = min(max(share, 0.0), 1.0)
    return float(brentq(lambda value: axis.share(value) - within, axis.low, axis.high, xtol=1e-15))
