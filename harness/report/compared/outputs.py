"""A comparison as text: for a terminal, as Markdown, as a page that stands alone, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

from tabulate import tabulate

from harness.reading.history.comparing.comparison import Compared
from harness.reading.history.environments.differences import grouped
from harness.reading.history.observations import History
from harness.reading.table import rows_of
from harness.report.compared.figure import shifts_drawn
from harness.report.compared.tables import decided_of, without_empty_columns
from harness.report.compared.words import Words, environments, in_words
from harness.report.figures.drawing import Drawn
from harness.report.rendering import rendered

_WIDTH = 120
_LOGARITHMS = {
    "shift": "ratio", "low": "low", "high": "high", "before": "effect_before", "after": "effect_after",
    "baseline_shift": "baseline_ratio", "own_shift": "own_ratio",
}  # fmt: skip
_TEXTS = (
    "case", "trial", "module", "framework", "workload", "problem", "fixed", "technique", "level", "against", "verdict",
    "standing",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ComparedPage:
    """A comparison as a page: its words, and what shifted as a figure, None where nothing did."""

    words: Words
    figure: Drawn | None


def written(kind: str, found: Compared, history: History, *, every: bool = False) -> str:
    """Return a comparison as ``text``, ``markdown``, ``json`` or ``html``.

    Text and Markdown hold the rows in which something is faster or slower, or with ``every`` all of them; the page and
    JSON always hold all.
    """
    if kind == "json":
        return json.dumps(_document(found, history), indent=2) + "\n"
    words = in_words(found, history)
    shown = words.tables if every or kind == "html" else map(decided_of, words.tables)
    words = replace(words, tables=[without_empty_columns(table) for table in shown])
    if kind == "html":
        return rendered("compared.html.j2", ComparedPage(words=words, figure=shifts_drawn(found, words.finding)))
    return rendered("compared.md.j2", words) if kind == "markdown" else _text(words)


def _text(words: Words) -> str:
    return "\n".join(_lines(words)) + "\n"


def _lines(words: Words) -> Iterator[str]:
    width = max(len(name) for name, _ in (*words.sides, *words.answers))
    yield from (f"{name:<{width}}  {said}" for name, said in words.sides)
    yield ""
    for group, said in words.environment:
        yield from (f"{group}: {each}" for each in said)
    if words.cause:
        yield words.cause
    if words.cause or words.environment:
        yield ""
    yield from (f"{name:<{width}}  {said}" for name, said in words.answers)
    for table in words.tables:
        if table.lines:
            cells = [line.cells for line in table.lines]
            yield f"\n{tabulate(cells, headers=table.columns, tablefmt='simple', disable_numparse=True)}"
    yield ""
    yield from (fill(note, _WIDTH) for note in words.notes)


def _document(found: Compared, history: History) -> dict[str, Any]:
    told = environments(found, history)
    return {
        "before": {"machine": found.before.machine, "runs": list(found.before.runs)},
        "after": {"machine": found.after.machine, "runs": list(found.after.runs)},
        "environment": {
            "differences": grouped(told.differing),
            "cause": told.cause,
            "would_separate": told.would_separate,
        },
        "false_discovery_rate": found.limits.false_discovery_rate,
        "margin": found.limits.margin,
        "spread_known": found.learnt,
        "machine": next(map(_shift, rows_of(found.machine)), None),
        "workloads": [_shift(row) for row in rows_of(found.workloads.reset_index())],
        "techniques": [_shift(row, effects=True) for row in rows_of(found.techniques)],
        "remarks": list(found.remarks),
    }


def _shift(row: dict[str, Any], *, effects: bool = False) -> dict[str, Any]:
    """Return a shift for a program: ratios, above 1 where it is faster after; null where there is none."""
    ratios = {
        name: _ratio(row[column])
        for column, name in _LOGARITHMS.items()
        if column in row and (effects or column not in ("before", "after"))
    }
    texts = {name: row[name] for name in _TEXTS if name in row}
    return {**texts, **ratios, "p": row["p"], "runs_to_decide": _finite(row["runs"])}


def _ratio(logarithm: float | None) -> float | None:
    return None if logarithm is None or logarithm > math.log(1e300) else _finite(math.exp(logarithm))


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
