"""What all figures share: their look, and how they become files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

INK, LINE, PAPER = "#24292f", "#d5dae0", "#ffffff"
WIDTH_IN, WIDER_IN = 4.6, 5.6  # narrow enough that nine-point text stays legible on a telephone
_LONGEST_LABEL = 70  # characters
_STYLE: Any = {  # matplotlib types each key apart
    **sns.axes_style("whitegrid"),
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "font.size": 9,
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

    ``kind`` is what it shows, such as "effects" or "batch-size", and ``name`` that of its files. ``title`` states the
    finding in a sentence, ``alt`` carries it to who does not see the figure, ``note`` holds units, sample sizes and
    what the marks mean. ``data`` is what was drawn, its columns named as a reader would, with units. ``about`` is the
    framework and the technique to whose section it belongs; empty where it is about the whole run.
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
        return self.data.to_csv(index=False, lineterminator="\n")

    @cached_property
    def svg(self) -> str:
        """The figure as SVG on white."""
        with _drawing(), BytesIO() as written:
            self.figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
            return written.getvalue().decode()

    def save(self, folder: Path) -> None:
        """Write it as PNG and SVG."""
        (folder / f"{self.name}.svg").write_text(self.svg, encoding="utf-8")
        with _drawing():
            self.figure.savefig(folder / f"{self.name}.png", dpi=160, metadata={"Software": None})

    def inline(self) -> str:
        """Return it as SVG for a page: it takes the page's colours, and its ids are its own."""
        svg = re.sub(r"<metadata>.*?</metadata>", "", self.svg[self.svg.index("<svg") :], flags=re.DOTALL)
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{self.name}-", svg)
        svg = svg.replace(INK, "currentColor").replace(LINE, "var(--line)").replace(PAPER, "var(--paper)")
        return svg.replace("<svg ", '<svg role="img" ', 1).strip()


@contextmanager
def _drawing() -> Iterator[None]:
    """Draw in the common style. What a name does to a figure is no warning: a missing character, too little room."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from|constrained_layout not applied")
        yield


@contextmanager
def styled(rows: int = 1, *, height_in: float, width_in: float = WIDTH_IN) -> Iterator[tuple[Figure, list[Axes]]]:
    """Provide a figure with that many axes above each other, and draw on it in the common style."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        axes = figure.subplots(rows, 1, squeeze=False, sharex=True)
        yield figure, list(axes[:, 0])


def write_ticks(axis: Any, written: Callable[[float], str]) -> None:
    """Label an axis by one of the functions of :mod:`harness.units`."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    axis.set_minor_formatter(NullFormatter())


def clipped(text: str) -> str:
    """Return a name as long as a figure has room for."""
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"
