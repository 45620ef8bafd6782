"""Format a comparison of two sets of runs as text, Markdown, JSON, or a page of its own."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import pandas as pd

from accelbench import units
from accelbench.history.compare_runs import FACTOR, MIN_RUNS, RunComparison, Side
from accelbench.history.epochs import differences_between
from accelbench.history.observations import History
from accelbench.history.run_statistics import MAX_RUNS
from accelbench.report.figures.drawing import RenderedFigure
from accelbench.report.figures.shifts import DECIDED, draw_shifts, format_speedups
from accelbench.report.render import render_template
from accelbench.report.tables import Column, Table, read_number, read_text, tabulate
from accelbench.report.verdicts import format_verdict_counts
from accelbench.results.arm_table import Row, rows_of
from accelbench.schema.environment_difference import (
    Difference,
    Group,
    group_by_kind,
    name_cause,
    possible_causes,
    runs_to_separate,
)
from accelbench.schema.safe_json import printable
from accelbench.schema.verdict import ratio_of
from accelbench.text import format_case, format_table, name_some

_WIDTH = 120  # characters of a line of text
_MAX_LOG = math.log(1e6)  # an interval that reaches beyond a million-fold is shown as unbounded
_HASH_DIGITS = 8  # of a commit, as many as name it
_MAX_NAMED = 4  # runs of a side, or its commits, that are named
_MAX_ONE_SIDED = 10  # arms of one side that text and Markdown list
_NOTHING_CHANGED = "Nothing known changed in the environment."
STANDINGS = {  # how an effect after relates to that before, and the verb for several
    "flips": "flip",
    "grows": "grow",
    "shrinks": "shrink",
    "carries over": "carry over",
    "unclear": "unclear",
}
_LOGARITHMS = {
    "shift": "ratio", "low": "low", "high": "high", "before": "effect_before", "after": "effect_after",
    "baseline_shift": "baseline_ratio", "own_shift": "own_ratio",
}  # fmt: skip
_TEXTS = (
    "case", "trial", "module", "framework", "workload", "problem", "fixed", "technique", "level", "against", "verdict",
    "standing", "side", "outcome", "reason",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ComparisonText:
    """What text, Markdown and the page show of a comparison.

    ``sides``, ``environment`` and ``answers`` are names with sentences; ``tables`` are those with rows, by heading.
    """

    title: str
    sides: list[tuple[str, str]]
    environment: dict[Group, list[str]]
    cause: str
    answers: list[tuple[str, str]]
    notes: list[str]
    tables: dict[str, Table]
    figure: RenderedFigure | None


def format_comparison(kind: str, comparison: RunComparison, history: History, *, every: bool = False) -> str:
    """Return a comparison as ``text``, ``markdown``, ``json`` or ``html``.

    Text and Markdown list the rows in which something is faster or slower and a few arms that have a speed on one side
    only, or with ``every`` all of them; the page and JSON always list all.
    """
    differences = differences_between(_runs_of(comparison.before, history), _runs_of(comparison.after, history))
    if kind == "json":
        return json.dumps(_document(comparison, history, differences), indent=2) + "\n"
    sides = {"before": comparison.before, "after": comparison.after}
    cause = "" if comparison.are_two_machines else _describe_cause(differences, _describe_commits(comparison, history))
    figure = draw_shifts(comparison, _title(comparison)) if kind == "html" else None
    is_brief = kind != "html" and not every
    one_sided = rows_of(comparison.one_sided)
    most = _MAX_ONE_SIDED if is_brief else len(one_sided)
    text = ComparisonText(
        title="What changed: the machine, a workload or a technique?",
        sides=[(name, _describe_side(side, _runs_of(side, history))) for name, side in sides.items()],
        environment=group_by_kind(differences),
        cause=cause,
        answers=list(_answers(comparison)),
        notes=[
            *_count_unlisted(len(one_sided) - most),
            *explain_comparison(comparison),
            *(f"{remark}." for remark in comparison.remarks),
        ],
        tables=_tabulate_shifts(comparison, decided_only=is_brief) | _tabulate_one_sided(one_sided[:most]),
        figure=figure.render() if figure else None,
    )
    if kind == "text":
        return "\n".join(_lines(text)) + "\n"
    return render_template("compared.html.j2" if kind == "html" else "compared.md.j2", text)


def _lines(text: ComparisonText) -> Iterator[str]:
    width = max(len(name) for name, _ in (*text.sides, *text.answers))
    yield from (f"{name:<{width}}  {sentence}" for name, sentence in text.sides)
    yield ""
    for group, differences in text.environment.items():
        yield from (f"{group}: {each}" for each in differences)
    if text.cause:
        yield text.cause
    if text.cause or text.environment:
        yield ""
    yield from (f"{name:<{width}}  {sentence}" for name, sentence in text.answers)
    if not text.answers:
        yield "Nothing was measured on both sides."
    for table in text.tables.values():
        yield f"\n{format_table(table.rows, [column.heading for column in table.columns])}"
    yield ""
    yield from (fill(note, _WIDTH) for note in text.notes)


def _document(comparison: RunComparison, history: History, differences: Sequence[Difference]) -> dict[str, Any]:
    return {
        "before": _side_for_json(comparison.before, history),
        "after": _side_for_json(comparison.after, history),
        "environment": {
            "differences": group_by_kind(differences),
            "cause": name_cause(differences),
            "would_separate": runs_to_separate(differences),
        },
        "false_discovery_rate": comparison.thresholds.false_discovery_rate,
        "margin": comparison.thresholds.margin,
        "spread_known": comparison.is_spread_known,
        "machine": next(map(_shift_for_json, rows_of(comparison.machine)), None),
        "workloads": [_shift_for_json(row) for row in rows_of(comparison.workloads.reset_index())],
        "techniques": [_shift_for_json(row, effects=True) for row in rows_of(comparison.techniques)],
        "one_sided": [{name: row[name] for name in _TEXTS if name in row} for row in rows_of(comparison.one_sided)],
        "remarks": list(comparison.remarks),
    }


def _side_for_json(side: Side, history: History) -> dict[str, Any]:
    return {"machine": side.machine, "runs": list(side.runs), "commits": _commits_of(_runs_of(side, history))}


def _shift_for_json(row: Row, *, effects: bool = False) -> dict[str, Any]:
    """Return a shift as ratios, above 1 where it is faster after; null where there is none."""
    ratios = {
        name: None if row[column] is None else units.finite_or_none(ratio_of(row[column]))
        for column, name in _LOGARITHMS.items()
        if column in row and (effects or column not in ("before", "after"))
    }
    texts = {name: row[name] for name in _TEXTS if name in row}
    return {**texts, **ratios, "p": row["p"], "runs_to_decide": units.finite_or_none(row["runs"])}


def _runs_of(side: Side, history: History) -> pd.DataFrame:
    return history.runs[history.runs["run"].isin(side.runs)]


def _describe_side(side: Side, runs: pd.DataFrame) -> str:
    names = [printable(str(run)).removeprefix(f"{side.machine}/") for run in side.runs]
    many = len(names) > _MAX_NAMED
    listed = f"{units.plural(len(names), 'run')}, {names[0]} to {names[-1]}," if many else ", ".join(names)
    days = sorted({f"{taken:%Y-%m-%d}" for taken in runs["taken"].dropna()})
    when = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    return f"{listed} on {side.machine}{when}"


def _describe_cause(differences: Sequence[Difference], commits: str) -> str:
    """Return what may be the cause, with the change of the ``commits``, "" for none."""
    causes, separating = possible_causes(differences), runs_to_separate(differences)
    noun, _, change = commits.partition(" ")
    if not differences:
        return f"Nothing known changed but the {noun}: {change}." if commits else _NOTHING_CHANGED
    too = f" The {noun} changed, too: {change}." if commits else ""
    if not causes:
        return f"None of these differences is known to change a number.{too}"
    if len(causes) == 1:
        (only,) = causes
        return f"{'The likely' if only.kind == 'changed' and not commits else 'A possible'} cause: {only}.{too}"
    cause = name_cause(differences)
    apart = f" To tell them apart, add {separating}." if separating else ""
    return f"{cause[0].upper()}{cause[1:]}.{apart}{too}"


def _describe_commits(comparison: RunComparison, history: History) -> str:
    """Return how the commits of the sides differ, such as ``commit 1a2b3c4d → 5e6f7a8b``.

    It is "" if the sides share their commits, or a run names none.
    """
    sides = [_commits_of(_runs_of(side, history)) for side in (comparison.before, comparison.after)]
    if not all(sides) or set(sides[0]) == set(sides[1]):
        return ""
    noun = "commit" if len(sides[0]) == len(sides[1]) == 1 else "commits"
    before, after = (name_some(side, _MAX_NAMED) for side in sides)
    return f"{noun} {before} → {after}"


def _commits_of(runs: pd.DataFrame) -> list[str]:
    """Return the distinct commits of runs, in short; none if a run names none."""
    return [*dict.fromkeys(runs["commit"].str[:_HASH_DIGITS])] if all(runs["commit"]) else []


def _answers(comparison: RunComparison) -> Iterator[tuple[str, str]]:
    for row in rows_of(comparison.machine):
        yield "machine", f"{_format_shift(row)}, {row['verdict']}{_to_decide(row, '; {} would decide')}"
    if len(comparison.workloads):
        yield "workloads", _count_verdicts(comparison.workloads)
    if len(comparison.techniques):
        yield "techniques", _count_verdicts(comparison.techniques)
    if comparison.are_two_machines and len(comparison.techniques):
        yield "effects", _count_standings(comparison)


def summarize_comparison(comparison: RunComparison) -> str:
    """Return what became of the machine and of the techniques, and which technique shifted furthest, as a clause.

    Where nothing is known of the machine, the workloads stand in its place.
    """
    found = filter(None, (_summarize_times(comparison), _summarize_techniques(comparison)))
    return "; ".join(found) or "nothing was measured on both sides"


def _summarize_times(comparison: RunComparison) -> str:
    if not comparison.machine.empty:
        (row,) = rows_of(comparison.machine)
        return f"the machine is {_format_shift(row)} as fast{', undecided' if row['verdict'] == 'undecided' else ''}"
    if comparison.workloads.empty:
        return ""
    counts = format_verdict_counts(comparison.workloads["verdict"])
    return f"of {units.plural(len(comparison.workloads), 'workload')}, {counts}"


def _summarize_techniques(comparison: RunComparison) -> str:
    if comparison.techniques.empty:
        return ""
    verdicts = comparison.techniques["verdict"]
    counts = _count_standings(comparison) if comparison.are_two_machines else format_verdict_counts(verdicts)
    first = next(iter(rows_of(comparison.techniques)))
    named = f"; furthest, {first['level']} on {first['workload']}: {format_speedups(first)}"
    furthest = named if first["verdict"] in DECIDED else ""
    return f"of {units.plural(len(comparison.techniques), 'effect')}, {counts}{furthest}"


def _title(comparison: RunComparison) -> str:
    """Return the title of the figure."""
    summary = summarize_comparison(comparison)
    if comparison.are_two_machines:
        return f"{comparison.before.machine} → {comparison.after.machine}: {summary}"
    return summary[0].upper() + summary[1:]


def _count_standings(comparison: RunComparison) -> str:
    counts = Counter(comparison.techniques["standing"])
    return ", ".join(
        f"{counts[one]} {one if counts[one] == 1 else several}" for one, several in STANDINGS.items() if counts[one]
    )


def _count_verdicts(shifts: pd.DataFrame) -> str:
    """Return the number of each verdict, and what would decide half of the undecided ones."""
    needed = shifts["runs"].dropna()
    half = needed.quantile(0.5, interpolation="higher")
    decided = "it" if len(needed) == 1 else "half of them"
    return format_verdict_counts(shifts["verdict"]) + _to_decide(
        {"runs": None if needed.empty else half}, f"; {{}} would decide {decided}"
    )


def explain_comparison(comparison: RunComparison) -> Iterator[str]:
    """Yield what the numbers of a comparison mean, and what is not known."""
    rate = comparison.thresholds.false_discovery_rate
    yield (
        f"A shift above 1× is faster after. {_explain_shifts(comparison)} Each interval holds with "
        f"{units.percent(1 - rate)} confidence. Of the shifts that are called faster or slower, at most "
        f"{units.percent(rate)} are expected to be wrong. What lies within "
        f"{units.percent(comparison.thresholds.margin)} is the same."
    )
    if comparison.are_two_machines and len(comparison.techniques):
        yield (
            "An effect grows where its speedup is larger after, shrinks where it is smaller, carries over where it is "
            "the same, and flips where the technique is faster on one machine and slower on the other."
        )
    if not comparison.is_spread_known:
        yield (
            "It is not known how much unchanged runs differ here, so only shifts beyond a factor of "
            f"{units.significant(FACTOR, 2)} are decided, and intervals hold for these very runs alone. Give "
            f"{MIN_RUNS} runs or more a side, or a storage with four other runs of the same environment."
        )


def _explain_shifts(comparison: RunComparison) -> str:
    if comparison.machine.empty:
        return (
            "A workload's shift is common to its baseline and candidates, and a technique's is that of its speedup; "
            "beside it are the shifts of both arms' speeds."
        )
    return (
        "The machine's shift is common to all, a workload's is common to its baseline and candidates beyond that, and "
        "a technique's is that of its speedup; beside it are the shifts of both arms' speeds beyond the machine's."
    )


def _tabulate_shifts(comparison: RunComparison, *, decided_only: bool) -> dict[str, Table]:
    """Return the tables that have rows, by heading; between two machines, effects show how they carry over."""
    workloads = rows_of(comparison.workloads.reset_index())
    workloads.sort(key=lambda row: abs(row["shift"]) if row["verdict"] in DECIDED else -1, reverse=True)
    found = _CARRIES_OVER if comparison.are_two_machines else _VERDICT
    shown = {
        "Techniques": (rows_of(comparison.techniques), [*_EFFECT, _SHIFT, found, *_SPEEDS, _TO_DECIDE]),
        "Workloads": (workloads, [*_WORKLOAD, _SHIFT, _VERDICT, _TO_DECIDE]),
    }
    tables = {
        heading: tabulate([row for row in rows if row["verdict"] in DECIDED or not decided_only], columns, _facets)
        for heading, (rows, columns) in shown.items()
    }
    return {heading: table for heading, table in tables.items() if table.rows}


def _tabulate_one_sided(one_sided: Sequence[Row]) -> dict[str, Table]:
    return {"Speed on one side only": tabulate(one_sided, _ONE_SIDED)} if one_sided else {}


def _count_unlisted(more: int) -> list[str]:
    arms = units.plural(more, "more arm")
    return [f"And {arms} with a speed on one side only; --all lists them."] if more > 0 else []


def _facets(row: Row) -> dict[str, str]:
    return {"verdict": row["verdict"]}


def _format_shift(row: Row) -> str:
    """Return a shift as a ratio with its interval."""
    low = 0.0 if row["low"] < -_MAX_LOG else math.exp(row["low"])
    high = math.inf if row["high"] > _MAX_LOG else math.exp(row["high"])
    return units.ratio(math.exp(row["shift"]), low, high)


def _format_verdict(row: Row) -> str:
    return f"{row['verdict']}{', flips' if row.get('standing') == 'flips' else ''}"


def _speed_column(heading: str, name: str) -> Column:
    def format_speed(row: Row) -> str:
        return "" if row[name] is None else units.speedup(math.exp(row[name]))

    return Column(heading=heading, format=format_speed, number=True, order=read_number(name))


def _sortable_runs(row: Row) -> float:
    return min(row["runs"] or 0, MAX_RUNS + 1)


def _to_decide(row: Row, sentence: str = "{}") -> str:
    """Return about how many runs a side would decide; "" where it is decided."""
    if row["runs"] is None:
        return ""
    number = f"over {MAX_RUNS}" if math.isinf(row["runs"]) else f"about {units.count(row['runs'])}"
    return sentence.format(f"{number} runs a side")


def _where(row: Row) -> str:
    return format_case(problem=row["problem"], fixed=row["fixed"], framework=row["framework"], test=row["test"])


_SHIFT = Column(heading="shift", format=_format_shift, number=True, order=read_number("shift"))
_VERDICT = Column(heading="verdict", format=_format_verdict, shows="verdict")
_CARRIES_OVER = Column(heading="effect", format=read_text("standing"), shows="verdict")
_TO_DECIDE = Column(heading="to decide", format=_to_decide, number=True, order=_sortable_runs)
_SPEEDS = [_speed_column("baseline's speed", "baseline_shift"), _speed_column("its own speed", "own_shift")]
_WORKLOAD = [Column(heading=name, format=read_text(name)) for name in ("workload", "framework")]
_PLACE = [Column(heading="workload", format=read_text("workload")), Column(heading="on", format=_where)]
_ONE_SIDED = [
    Column(heading="arm", format=read_text("level")),
    Column(heading="against", format=lambda row: row["against"] if row["technique"] else ""),
    *_PLACE,
    Column(heading="speed", format=lambda row: f"only {row['side']}"),
    Column(heading="other side", format=lambda row: (row["outcome"] or "no counterpart").replace("-", " ")),
    Column(heading="reason", format=read_text("reason")),
]
_EFFECT = [
    Column(heading="technique", format=read_text("level")),
    Column(heading="against", format=read_text("against")),
    *_PLACE,
    _speed_column("before", "before"),
    _speed_column("after", "after"),
]
