"""The figure of a bundle that a factorial design takes apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from accelbench import units
from accelbench.attribution import FactorialEffect
from accelbench.report.figures.drawing import (
    BLUE,
    GREEN,
    LABEL_PT,
    ORANGE,
    FigureKind,
    FigureWithData,
    describe_effect,
    format_subject,
    intervals_of,
    rows_panel,
    speedup_axis,
)
from accelbench.report.figures.svg import INK, Chart, Key, Panel, clip, text_width_pt, wrap_text
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.arm_table import Row, rows_of
from accelbench.results.combinations import AttributedBundle
from accelbench.text import cross


class _Mark(NamedTuple):
    colour: str
    marker: str
    size: float
    offset: float = 0.0  # below the middle of its row


_MARKS = {  # by the kind of effect
    "alone": _Mark(BLUE, "o", 5.5, -0.22),
    "on average": _Mark(ORANGE, "D", 5),
    "on top of the others": _Mark(GREEN, "s", 5, 0.22),
    "interaction": _Mark(INK, "^", 6),
    "all together": _Mark(INK, "*", 9),
}
_GAP_PT = 11  # between two rows


def attribution_figure(found: AttributedBundle) -> FigureWithData:
    """Draw each effect of a bundle as an interval on a logarithmic axis, the techniques first, the bundle last."""
    rows = pd.DataFrame(_rows(found))
    title = f"{format_subject(found.workload, found.held)}: {found.effects.clause}"
    names = list(dict.fromkeys(rows["what"]))
    lines = [wrap_text(clip(label), LABEL_PT) for label in names]
    axis = speedup_axis(intervals_of(rows), f"ratio of times per item, {clip(found.framework)} (log)")
    panel = rows_panel(axis, lines, gap_pt=_GAP_PT)
    panel.rule(1)
    for row in rows_of(rows):
        _draw(panel, row, -names.index(row["what"]))
    for place, speedup in enumerate(rows.drop_duplicates("what")["speedup"]):
        text = units.speedup(speedup)
        panel.text(1, -place, text, dx=6, by="y")  # the first ratio of each row
        panel.right_pt = max(panel.right_pt, 6 + text_width_pt(text))
    keys = [
        Key(label=kind, colour=_MARKS[kind].colour, marker=_MARKS[kind].marker) for kind in dict.fromkeys(rows["kind"])
    ]
    return FigureWithData(
        name=slug(f"attribution-{found.switched}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. {_in_full(rows)}.",
        note=_note(found),
        data=_table(rows),
        about=(found.framework, found.switched),
        figure=Chart(title=title, panels=[panel], legend=keys, columns=2),
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


def _draw(panel: Panel, row: Row, middle: float) -> None:
    """Draw one effect with its interval."""
    mark = _MARKS[row["kind"]]
    y = middle - mark.offset
    panel.line([(row["low"], y), (row["high"], y)], mark.colour, width=2)
    title = describe_effect(" ".join(dict.fromkeys((row["what"], row["kind"]))), row)
    panel.mark(row["speedup"], y, mark.marker, mark.colour, size=mark.size, title=title)


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
