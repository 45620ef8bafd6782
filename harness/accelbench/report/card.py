"""What a README can show of a report: a card with what pays most, and a badge, both as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from accelbench import units
from accelbench.report.figures.drawing import (
    LABEL_PT,
    describe_effect,
    draw_interval,
    draw_point,
    rows_panel,
    speedup_axis,
    write_verdicts,
)
from accelbench.report.figures.svg import Chart, text_width_pt, wrap_text
from accelbench.report.machine import describe_machine
from accelbench.report.statements import circumstances, state_findings
from accelbench.report.verdicts import COLOURS
from accelbench.results import Findings
from accelbench.results.arm_table import Row
from accelbench.schema.result import PYTHON_LOOPS
from accelbench.schema.verdict import noise_zone

_MOST = {"faster": 8, "slower": 3}  # techniques on a card
_GAP_PT = 5  # between two rows
_BADGE_PT, _PAD_PT = 20.0, 6.0  # the height of a badge, and the room at the ends of its words
_LEFT, _RIGHT = "#444d56", "#1f6feb"


def has_card(findings: Findings) -> bool:
    """Return whether a run compared anything that a card could show."""
    return bool(_choosable(findings))


def card(findings: Findings) -> str:
    """Return a card of a run with an effect as SVG: what pays most and what slows down most, and the machine."""
    around = circumstances(findings.run)
    stated = {part.verdict: part.effects for part in state_findings(_choosable(findings), around)}
    decided = [row for verdict, most in _MOST.items() for row in stated[verdict][:most]]
    rows = decided or stated["same"] or stated["undecided"]
    rows.sort(key=lambda row: -row["speedup"])
    labels = [f"{row['level']} · {row['workload']}" for row in rows]
    axis = speedup_axis([_interval(row) for row in rows], f"speedup per item (log), {_date_of(findings)}")
    panel = rows_panel(axis, [wrap_text(label, LABEL_PT) for label in labels], gap_pt=_GAP_PT)
    panel.band(*noise_zone(findings.noise), COLOURS["same"])
    panel.rule(1)
    for place, (label, row) in enumerate(zip(labels, rows, strict=True)):
        draw_interval(panel, -place, row["low"], row["high"], row["verdict"])
        draw_point(panel, row["speedup"], -place, row["verdict"], describe_effect(label, row))
    write_verdicts(panel, [(-place, row["verdict"], row["speedup"]) for place, row in enumerate(rows)])
    return Chart(title=f"{_count_paying(_choosable(findings))} on {_machine(findings)}", panels=[panel]).svg


def badge(findings: Findings) -> str:
    """Return a badge of a run as SVG, such as ``accelbench | 31 of 44 techniques pay``."""
    words = ("accelbench", _count_paying(_choosable(findings)))
    left, right = (text_width_pt(each, 11) + 2 * _PAD_PT for each in words)
    size = f'width="{math.ceil(left + right)}" height="{_BADGE_PT:g}"'
    texts = "".join(
        f'<text x="{x:.1f}" y="14" fill="#fff" text-anchor="middle">{word}</text>'
        for x, word in zip((left / 2, left + right / 2), words, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{": ".join(words)}" '
        f'font-family="Verdana, \'DejaVu Sans\', sans-serif" font-size="11"><title>{": ".join(words)}</title>'
        f'<clipPath id="r"><rect {size} rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left:.1f}" height="{_BADGE_PT:g}" fill="{_LEFT}"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="{_BADGE_PT:g}" fill="{_RIGHT}"/></g>{texts}</svg>\n'
    )


def _choosable(findings: Findings) -> list[Row]:
    """Return the effects of techniques that a person could choose who writes no loops in Python."""
    return [row for row in findings.choosable_rows if row["group"] != PYTHON_LOOPS]


def _count_paying(rows: Sequence[Row]) -> str:
    """Return how many techniques pay somewhere, of how many that were compared."""
    compared = {(row["framework"], row["switched"]) for row in rows}
    paying = {(row["framework"], row["switched"]) for row in rows if row["verdict"] == "faster"}
    pay = "pays" if len(paying) == 1 else "pay"
    return f"{units.count(len(paying))} of {units.plural(len(compared), 'technique')} {pay}"


def _machine(findings: Findings) -> str:
    return describe_machine(findings.run.environment.identity)


def _date_of(findings: Findings) -> str:
    taken = findings.result.taken
    return f"measured on {taken:%Y-%m-%d}" if taken else "measured at an unknown time"


def _interval(row: Row) -> tuple[float, float, float]:
    return row["speedup"], row["low"], row["high"]
