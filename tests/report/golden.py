"""What a figure shows, read back from the SVG that stands on the page: its marks and lines as numbers again.

A test compares them with the table under the figure:

    shown = marks(drawn)
    assert sorted(shown["x"]) == close(drawn.data["speedup (×)"])
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from accelbench.report.figures.drawing import FigureWithData

_DRAWING_PRECISION = 1e-3  # places stand in the file to a hundredth of a point
_AROUND = ("axis", "legend", "FillBetweenPolyCollection")  # the parts of axes in which no marks or lines stand


def marks(drawn: FigureWithData, place: int = 0) -> pd.DataFrame:
    """Return the markers in one of a figure's axes as ``x`` and ``y`` in the axes' own units, as they were drawn."""
    points = [point for part in _parts(drawn, place) for point in _markers(part)]
    return pd.DataFrame(_numbers(drawn, place, points), columns=["x", "y"])


def lines(drawn: FigureWithData, place: int = 0) -> list[np.ndarray]:
    """Return the lines in one of a figure's axes, shape ``(points, 2)`` each, with such that mark a place."""
    paths = [path.get("d", "") for part in _parts(drawn, place) for path in part if path.tag == "path"]
    return [_numbers(drawn, place, _places(path)) for path in paths if path and not path.endswith("z")]


def close(numbers: Iterable[float]) -> Any:
    """Return numbers in ascending order, for a comparison to the precision of a drawing."""
    ordered = sorted(numbers)
    return pytest.approx(ordered, rel=_DRAWING_PRECISION, abs=_DRAWING_PRECISION * (ordered[-1] - ordered[0]))


def _parts(drawn: FigureWithData, place: int) -> Iterator[ET.Element]:
    """Yield the groups in which drawn data stands."""
    every = [group for group in ET.fromstring(drawn.inline()).iter("g") if group.get("data-part") == "axes"]
    for group in every[place]:
        if group.get("data-part") and group.get("data-part") not in _AROUND:
            yield group


def _markers(part: ET.Element) -> Iterator[tuple[float, float]]:
    for each in part.iter("use"):
        yield float(each.get("x", "nan")), float(each.get("y", "nan"))
    if part.get("data-part") == "PathCollection":
        for path in part.findall("path"):
            corners = np.array(_places(path.get("d", "")))
            yield tuple((corners.min(axis=0) + corners.max(axis=0)) / 2)


def _places(path: str) -> list[tuple[float, float]]:
    found = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path)]
    return list(zip(found[::2], found[1::2], strict=True))


def _numbers(drawn: FigureWithData, place: int, points: Iterable[tuple[float, float]]) -> np.ndarray:
    """Turn places in the file, in points from the upper left, back into what they stand for."""
    figure, down = drawn.figure, np.array(list(points)).reshape(-1, 2)
    up = np.column_stack([down[:, 0], 72 * figure.get_figheight() - down[:, 1]])
    return np.asarray(figure.axes[place].transData.inverted().transform(up * figure.dpi / 72))
