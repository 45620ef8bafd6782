"""The figure of a bundle that a factorial design takes apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from accelbench import units
from accelbench.attribution import FactorialEffect
from accelbench.report.figures.drawing import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    WIDTH_IN,
    FigureKind,
    FigureWithData,
    clip,
    format_subject,
    label_rows,
    new_figure,
    rows_height_in,
    scale_speedups,
    wrap_text,
)
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.combinations import AttributedBundle
from accelbench.text import cross


class _Mark(NamedTuple):
    colour: str
    marker: str
    size: float
    offset: float = 0.0  # from the middle of its row


_MARKS = {  # by the kind of effect
    "alone": _Mark(BLUE, "o", 5.5, -0.22),
    "on average": _Mark(ORANGE, "D", 5),
    "on top of the others": _Mark(GREEN, "s", 5, 0.22),
    "interaction": _Mark(INK, "^", 6),
    "all together": _Mark(INK, "*", 9),
}
_LABEL_PT = 0.4 * 72 * WIDTH_IN  # the width at which a label wraps
_GAP_IN, _AXIS_IN = 0.16, 1.2  # between two rows; axis and legend


def attribution_figure(found: AttributedBundle) -> FigureWithData:
    """Draw each effect of a bundle as an interval on a logarithmic axis, the techniques first, the bundle last."""
    rows = pd.DataFrame(_rows(found))
    rows = rows.assign(y=pd.factorize(rows["what"])[0] + rows["kind"].map(lambda kind: _MARKS[kind].offset))
    title = f"{format_subject(found.workload, found.held)}: {found.effects.sentence}"
    lines = [wrap_text(clip(label), _LABEL_PT) for label in rows["what"].unique()]
    with new_figure(height_in=rows_height_in(lines, _GAP_IN) + _AXIS_IN, title=title) as (figure, (axes,)):
        scale_speedups(axes, rows)
        for kind, effects in rows.groupby("kind", sort=False):
            _draw(axes, effects, str(kind))
        label_rows(axes, lines)
        axes.set_xlabel(f"ratio of times per item, {clip(found.framework)} (log)")
        _write(axes, rows)
        figure.legend(loc="outside lower left", ncols=2)
    return FigureWithData(
        kind="attribution",
        name=slug(f"attribution-{found.switched}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. {_in_full(rows)}.",
        note=_note(found),
        data=_table(rows),
        about=(found.framework, found.switched),
        figure=figure,
    )


def _rows(found: AttributedBundle) -> Iterator[dict[str, object]]:
    effects = found.effects
    for name, label in effects.labels.items():
        yield _row(label, "alone", effects.alone[name])
        yield _row(label, "on average", effects.average[name])
        yield _row(label, "on top of the others", effects.on_top[name])
    for names, effect in effects.interactions.items():
        yield _row(cross(names), "interaction", effect)
    yield _row("all together", "all together", effects.bundle)


def _row(what: str, kind: str, effect: FactorialEffect) -> dict[str, object]:
    return {
        "what": what, "kind": kind, "speedup": effect.ratio, "low": effect.low, "high": effect.high,
        "verdict": effect.verdict,
    }  # fmt: skip


def _draw(axes: Axes, rows: pd.DataFrame, kind: str) -> None:
    """Draw the effects of one kind with their intervals."""
    mark = _MARKS[kind]
    least, most = axes.get_xlim()
    axes.hlines(rows["y"], rows["low"].clip(lower=least), rows["high"].clip(upper=most), color=mark.colour, linewidth=2)
    points: Any = {"marker": mark.marker, "markersize": mark.size, "color": mark.colour}
    axes.plot(rows["speedup"], rows["y"], linestyle="", markeredgewidth=0, zorder=3, label=kind, **points)


def _write(axes: Axes, rows: pd.DataFrame) -> None:
    """Write the first ratio of each row at its right."""
    for y, (_, row) in enumerate(rows.drop_duplicates("what").iterrows()):
        place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(units.speedup(row["speedup"]), (1, y), xytext=(6, 0), color=INK, **place)


def _in_full(rows: pd.DataFrame) -> str:
    return "; ".join(
        f"{what}{'' if kind == 'all together' else f' {kind}'} {units.ratio(*ratio)}"
        for what, kind, *ratio in rows[["what", "kind", "speedup", "low", "high"]].itertuples(index=False)
    )


def _note(found: AttributedBundle) -> str:
    pairs = units.plural(found.effects.rounds, "pair")
    sentences = [
        f"Points: ratios against {found.against}, lines: their intervals, {pairs} each, in the same rounds.",
        "Alone: the others are off. On average: over both levels of the others. On top: the others are on.",
        "The ratios at the right, of each alone and of the interactions, multiply to the bundle.",
        "An interaction of 1× would mean that the techniques multiply.",
        *([f"Not switched on here: {', '.join(found.missing)}."] if found.missing else []),
    ]
    return " ".join(sentences)


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    named = {"what": "effect", "kind": "kind", "speedup": "ratio (×)", "low": "from (×)", "high": "to (×)"}
    return rows[[*named, "verdict"]].rename(columns=named)


class AttributionFigure(FigureKind):
    """What each technique of a bundle contributes."""

    position = 60

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each bundle that is a factorial design."""
        yield from map(attribution_figure, findings.attributions)
