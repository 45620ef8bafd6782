"""The picture on top of a page: a row for each technique, its effects as points and intervals on one axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accelbench import units
from accelbench.report.labels import Anchors
from accelbench.report.sparklines import WIDTH, Scale
from accelbench.report.verdicts import GLYPHS
from accelbench.results.arm_table import Row, group_by_technique, label_case
from accelbench.schema.result import GROUPS, PYTHON_LOOPS, SEVERAL
from accelbench.text import format_place

ROW_HEIGHT = 20  # units of a row's drawing, which is stretched to the room that there is
_SMALLEST, _LARGEST = -4, 6  # powers of two at which the axis ends at the latest; what lies beyond is an arrow there
_MOST_TICKS = 6  # of the axis, besides the one at its lower end
_MOST_POINTS = 60  # of a row
_BETWEEN = 3  # the most units between two points of a row, one below the other
_LATEST = (SEVERAL, PYTHON_LOOPS)  # after the groups that a user declares


@dataclass(frozen=True, kw_only=True)
class EffectMark:
    """One effect in a row: the paths of its interval and of its point, and what a page shows where a mouse rests.

    ``kind`` is "beyond" for an arrow at the end of the axis, in place of a point.
    """

    verdict: str
    kind: str
    interval: str
    point: str
    title: str


@dataclass(frozen=True, kw_only=True)
class TechniqueRow:
    """One technique in one framework. ``value`` is its strongest decided speedup, ``why`` the reason for having none.

    ``verdict`` is the best verdict that it has anywhere, ``glyphs`` are all that it has. ``label`` describes its
    effects to screen readers.
    """

    framework: str
    technique: str
    anchor: str
    verdict: str
    glyphs: list[tuple[str, str]]
    value: str
    why: str
    label: str
    marks: list[EffectMark]


@dataclass(frozen=True, kw_only=True)
class TechniqueGroup:
    """Techniques under one heading; ``is_apart`` for baselines that nobody runs."""

    heading: str
    rows: list[TechniqueRow]
    is_apart: bool

    @property
    def counted(self) -> str:
        """How many techniques have which best verdict, such as ``6 techniques: ▲ 3 ▼ 1 – 2``."""
        counts = {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in (*GLYPHS, "")}
        each = " ".join(f"{GLYPHS.get(verdict, '–')} {count}" for verdict, count in counts.items() if count)
        return f"{units.plural(len(self.rows), 'technique')}: {each}"


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The groups in two columns of about the same height, the ticks of the common axis, and the grid at them.

    A tick is its place, as a share of the axis, and its text.
    """

    columns: list[list[TechniqueGroup]]
    ticks: list[tuple[float, str]]
    grid: str
    one: str


def overview(arms: Iterable[Row], anchors: Anchors) -> Overview | None:
    """Return every technique that a run asked for, whether it was measured or not; None where there is none.

    Techniques that only explain where time goes are nothing to choose, and are left out.
    """
    candidates = [row for row in arms if not row["baseline"] and row["switched"] and not row["ablation"]]
    if not candidates:
        return None
    effects = [row for row in candidates if row["speedup"] is not None]
    axis, ticks = _axis([row["speedup"] for row in effects if row["group"] != PYTHON_LOOPS])
    groups: dict[str, list[TechniqueRow]] = {}
    for (framework, technique), rows in group_by_technique(candidates).items():
        anchor = anchors.technique(framework, technique)
        groups.setdefault(rows[0]["group"], []).append(_row(framework, technique, anchor, rows, axis))
    found = [
        TechniqueGroup(heading=heading, rows=groups[heading], is_apart=heading == PYTHON_LOOPS)
        for heading in _in_order(groups)
    ]
    places = [axis.at(2.0**power) for power in ticks]
    return Overview(
        columns=_columns(found),
        ticks=[(place / WIDTH, _tick(power)) for place, power in zip(places, ticks, strict=True)],
        grid="".join(f"M{place} 0V{ROW_HEIGHT}" for place in places),
        one=f"M{axis.at(1.0)} 0V{ROW_HEIGHT}",
    )


def _in_order(groups: Iterable[str]) -> list[str]:
    first = [heading for heading in GROUPS if heading not in _LATEST]
    own = [heading for heading in groups if heading not in (*GROUPS, *_LATEST)]
    return [heading for heading in (*first, *own, *_LATEST) if heading in groups]


def _axis(speedups: Sequence[float]) -> tuple[Scale, list[int]]:
    """Return the axis of speedups and the powers of two of its ticks."""
    low, high = math.log2(min([1.0, *speedups])), math.log2(max([1.0, *speedups]))
    least = max(_SMALLEST, min(-1, math.floor(low)))
    most = min(_LARGEST, max(1, math.ceil(high)))
    step = math.ceil((most - least) / _MOST_TICKS)
    ticks = [power for power in range(least, most + 1) if power % step == 0]
    return Scale(low=2 ** (least - 0.3), high=2 ** (most + 0.3), length=WIDTH, logarithmic=True), ticks


def _tick(power: int) -> str:
    return f"{2**power}×" if power >= 0 else {-1: "½", -2: "¼", -3: "⅛"}.get(power, f"1/{2**-power}")


def _row(framework: str, technique: str, anchor: str, rows: Sequence[Row], axis: Scale) -> TechniqueRow:
    effects = sorted((row for row in rows if row["speedup"] is not None), key=lambda row: row["speedup"])
    verdicts = [verdict for verdict in GLYPHS if any(row["verdict"] == verdict for row in effects)]
    verdict = verdicts[0] if verdicts else ""
    decisive = [row for row in effects if row["verdict"] == verdict]
    strongest = max(decisive, key=lambda row: abs(math.log(row["speedup"])), default=None)
    counted = ", ".join(f"{sum(row['verdict'] == each for row in effects)} {each}" for each in verdicts)
    return TechniqueRow(
        framework=framework,
        technique=technique,
        anchor=anchor,
        verdict=verdict,
        glyphs=[(each, GLYPHS[each]) for each in verdicts],
        value=units.speedup(strongest["speedup"]) if strongest else "",
        why="" if effects else _why(rows),
        label=f"{units.plural(len(effects), 'comparison')}: {counted}" if effects else "",
        marks=_marks(effects, axis),
    )


def _why(rows: Sequence[Row]) -> str:
    """Return why nothing of a technique has a speed, by what most of its arms say."""
    reasons: list[str] = [row["reason"].brief if row["reason"] else row["outcome"].replace("-", " ") for row in rows]
    return max(dict.fromkeys(reasons), key=reasons.count)


def _marks(effects: Sequence[Row], axis: Scale) -> list[EffectMark]:
    """Return the effects of a row, the slowest on top, so that intervals of similar effects do not hide each other."""
    shown = effects[:: math.ceil(len(effects) / _MOST_POINTS)] if effects else []
    between = min(_BETWEEN, (ROW_HEIGHT - 8) / max(1, len(shown) - 1))
    first = (ROW_HEIGHT - between * (len(shown) - 1)) / 2
    marks = []
    for place, row in enumerate(shown):
        x, y = axis.at(row["speedup"]), round(first + place * between, 1)
        low, high = axis.at(row["low"] or axis.low), axis.at(row["high"])
        arrow = "" if axis.holds(row["speedup"]) else f"m{-7 if x else 7} -3l{7 if x else -7} 3l{-7 if x else 7} 3"
        marks.append(
            EffectMark(
                verdict=row["verdict"],
                interval=f"M{low} {y:g}H{high}",
                point=f"M{x} {y:g}{arrow or 'h0'}",
                kind="beyond" if arrow else "point",
                title=f"{row['level']} on {format_place(row['workload'], label_case(row))}: "
                f"{units.ratio(row['speedup'], row['low'], row['high'])}, {row['verdict']}",
            )
        )
    return marks


def _columns(groups: list[TechniqueGroup]) -> list[list[TechniqueGroup]]:
    """Return the groups in two columns of about the same height; a heading takes a row."""
    heights = [len(group.rows) + 1 for group in groups]
    first = min(range(1, len(groups) + 1), key=lambda count: abs(sum(heights[:count]) - sum(heights) / 2))
    return [column for column in (groups[:first], groups[first:]) if column]
