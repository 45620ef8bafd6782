"""A bundle of techniques, taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from harness import units
from harness.attribution.shares import Share
from harness.attribution.words import crossed
from harness.reading.attributions import Attributed
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, WIDTH_IN, Drawn, clipped, styled, wrapped
from harness.report.figures.speedups import scale_speedups
from harness.report.figures.words import subject

_BLUE, _ORANGE, _GREEN = map(str, sns.color_palette("colorblind").as_hex()[:3])


class _Look(NamedTuple):
    colour: str
    marker: str
    size: float
    place: float = 0.0  # within its row


_LOOKS = {  # by what is told
    "alone": _Look(_BLUE, "o", 5.5, -0.22),
    "on average": _Look(_ORANGE, "D", 5),
    "on top of the others": _Look(_GREEN, "s", 5, 0.22),
    "interaction": _Look(INK, "^", 6),
    "all together": _Look(INK, "*", 9),
}
_LABEL_PT = 0.4 * 72 * WIDTH_IN  # the widest line of a label
_LINE_IN, _GAP_IN, _AXIS_IN = 0.16, 0.16, 1.2  # a line of a label, what parts two rows, axis and legend


def apart(found: Attributed) -> Drawn:
    """Draw each share of a bundle as an interval on a logarithmic axis, the techniques first, the bundle last."""
    rows = pd.DataFrame(_rows(found))
    rows = rows.assign(y=pd.factorize(rows["what"])[0] + rows["told"].map(lambda told: _LOOKS[told].place))
    title = f"{subject(found.workload, found.held)}: {found.shares.sentence}"
    lines = [wrapped(clipped(label), _LABEL_PT) for label in rows["what"].unique()]
    height_in = (_GAP_IN + _LINE_IN * max(map(len, lines))) * len(lines) + _AXIS_IN
    with styled(height_in=height_in, title=title) as (figure, (axes,)):
        scale_speedups(axes, rows)
        for told, alike in rows.groupby("told", sort=False):
            _draw(axes, alike, str(told))
        axes.set_yticks(range(len(lines)), ["\n".join(each) for each in lines])
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set(xlabel=f"ratio of times per item, {clipped(found.framework)} (log)", ylabel="")
        _write(axes, rows)
        figure.legend(loc="outside lower left", ncols=2)
    return Drawn(
        kind="attribution",
        name=slug(f"attribution-{found.switched}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. {_in_full(rows)}.",
        note=_note(found),
        data=_table(rows),
        about=(found.framework, found.switched),
        figure=figure,
    )


def _rows(found: Attributed) -> Iterator[dict[str, object]]:
    shares = found.shares
    for name, label in shares.labels.items():
        for told, among in zip(_LOOKS, (shares.alone, shares.average, shares.on_top), strict=False):
            if name in among:
                yield _row(label, told, among[name])
    for names, share in shares.interactions.items():
        yield _row(crossed(shares, names), "interaction", share)
    yield _row("all together", "all together", shares.bundle)


def _row(what: str, told: str, share: Share) -> dict[str, object]:
    return {
        "what": what, "told": told, "speedup": share.ratio, "low": share.low, "high": share.high,
        "verdict": share.verdict,
    }  # fmt: skip


def _draw(axes: Axes, rows: pd.DataFrame, told: str) -> None:
    """Draw what is told in one way of every row, with its intervals."""
    look = _LOOKS[told]
    least, most = axes.get_xlim()
    axes.hlines(rows["y"], rows["low"].clip(lower=least), rows["high"].clip(upper=most), color=look.colour, linewidth=2)
    points: Any = {"marker": look.marker, "markersize": look.size, "color": look.colour}
    axes.plot(rows["speedup"], rows["y"], linestyle="", markeredgewidth=0, zorder=3, label=told, **points)


def _write(axes: Axes, rows: pd.DataFrame) -> None:
    """Write at the right of each row what is told first of it."""
    for y, (_, row) in enumerate(rows.drop_duplicates("what").iterrows()):
        place: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(units.speedup(row["speedup"]), (1, y), xytext=(6, 0), color=INK, **place)


def _in_full(rows: pd.DataFrame) -> str:
    return "; ".join(
        f"{what}{'' if told == 'all together' else f' {told}'} {units.ratio(*share)}"
        for what, told, *share in rows[["what", "told", "speedup", "low", "high"]].itertuples(index=False)
    )


def _note(found: Attributed) -> str:
    pairs = units.plural(found.shares.rounds, "pair")
    said = [
        f"Points: ratios against {found.against}, lines: their intervals, {pairs} each, in the same rounds.",
        "Alone: the others are off. On average: over both levels of the others. On top: the others are on. At the "
        "right: what each brings alone, and the interactions, which multiply to the bundle."
        if found.shares.alone
        else "On average: over both levels of the others, in a fraction of all combinations.",
        "An interaction of 1× would mean that the techniques multiply.",
        *([f"Not switched on here: {', '.join(found.missing)}."] if found.missing else []),
    ]
    return " ".join(said)


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    named = {"what": "share", "told": "told", "speedup": "ratio (×)", "low": "from (×)", "high": "to (×)"}
    return rows[[*named, "verdict"]].rename(columns=named)
