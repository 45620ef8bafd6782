"""Tables of text with what sorts and filters them; the page's: every arm, every effect, a trial's arms, a matrix."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from accelbench import units
from accelbench.report.labels import Anchors
from accelbench.report.statements import format_break_even
from accelbench.report.verdicts import GLYPHS
from accelbench.results.arm_table import Row, label_case
from accelbench.text import format_baseline, format_levels, join_names

# By what verdicts are sorted: from what pays to what slows down; without one comes last.
_STRENGTHS = {"faster": 3.0, "same": 2.0, "undecided": 1.0, "slower": 0.0}


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its heading, and the text of its cell for an arm. ``number`` columns are aligned at the right.

    ``order`` gives the number by which rows are sorted; without it, they are sorted by the text. ``shows``
    tells the templates what the cells are: a "verdict" has its glyph and colour, a "trial" links to its row's trial.
    """

    heading: str
    format: Callable[[Row], str]
    number: bool = False
    shows: Literal["text", "verdict", "trial"] = "text"
    order: Callable[[Row], float | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """Text in rows.

    ``order`` holds for each cell the number that it is sorted by, or "". ``keys`` names for each row the trial that it
    belongs to, ``verdicts`` its verdict or "", and ``facets`` holds what rows are chosen by, such as the workload.
    """

    columns: list[Column]
    rows: list[list[str]]
    order: list[list[str]]
    keys: list[str]
    verdicts: list[str]
    facets: list[dict[str, str]]


def plain_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of text that is about no trial, without the columns that are empty in every row."""
    columns = [Column(heading=heading, format=read_text(heading)) for heading in headings]
    return tabulate([dict(zip(headings, row, strict=True)) for row in rows], columns)


def tabulate(
    rows: Sequence[Row], columns: Iterable[Column], facets: Callable[[Row], dict[str, str]] = lambda _: {}
) -> Table:
    """Return a table of rows, without the columns that are empty in all of them.

    ``facets`` returns what a row is chosen by.
    """
    filled = [column for column in columns if any(column.format(row) for row in rows)]
    return Table(
        columns=filled,
        rows=[[column.format(row) for column in filled] for row in rows],
        order=[[_order(column, row) for column in filled] for row in rows],
        keys=[row.get("trial", "") for row in rows],
        verdicts=[row.get("verdict") or "" for row in rows],
        facets=[facets(row) for row in rows],
    )


def tabulate_overview(arms: list[Row]) -> Table:
    """Return every arm with its speed, its memory and its effect."""
    return tabulate(arms, _OVERVIEW, _facets)


def tabulate_effects(effects: Sequence[Row]) -> Table:
    """Return every effect with its price, the fastest first."""
    return tabulate(sorted(effects, key=lambda row: row["speedup"], reverse=True), _EFFECTS, _facets)


def tabulate_trial(arms: list[Row]) -> Table:
    """Return how the arms of one trial were measured."""
    return tabulate(arms, [*_DETAILS, *_observation_columns(arms[0])])


def _order(column: Column, row: Row) -> str:
    value = column.order(row) if column.order else None
    return "" if value is None or not math.isfinite(value) else f"{value:.9g}"


def _facets(row: Row) -> dict[str, str]:
    return {
        "verdict": _verdict(row),
        "technique": row["switched"],
        "workload": row["workload"],
        "framework": row["framework"],
    }


def _number(name: str, format_value: Callable[[float], str]) -> Callable[[Row], str]:
    def of(row: Row) -> str:
        value = row[name]
        return "" if value is None or not math.isfinite(value) else format_value(value)

    return of


def read_text(name: str) -> Callable[[Row], str]:
    """Return a function that reads a row's text of this name, empty where there is none."""
    return lambda row: row[name] or ""


def _case_label(row: Row) -> str:
    return label_case(row, row["framework"])


def _against(row: Row) -> str:
    return format_baseline(row["baseline_levels"], named=False)


def _rate(row: Row) -> str:
    return _number("items_per_s", lambda value: units.rate(value, row["unit"]))(row)


def _share(row: Row) -> str:
    return _number("share", lambda value: f"{units.percent(value)} of {row['ceiling']}")(row)


def _speedup(row: Row) -> str:
    return units.ratio(row["speedup"], row["low"], row["high"]) if row["speedup"] else ""


def _step(row: Row) -> str:
    if not row["step_verdict"]:
        return ""
    return f"{GLYPHS[row['step_verdict']]} {units.ratio(row['step'], row['step_low'], row['step_high'])}"


def _verdict(row: Row) -> str:
    """Return an arm's verdict, or why it has none."""
    if row["verdict"]:
        return str(row["verdict"])
    if row["outcome"] != "measured":
        return str(row["outcome"]).replace("-", " ")
    return "baseline" if row["baseline"] else ""


def _strength(row: Row) -> float:
    return _STRENGTHS.get(row["verdict"], -1.0)


def read_number(name: str) -> Callable[[Row], float | None]:
    """Return a function that reads a row's number of this name."""
    return lambda row: row[name]


def _error(row: Row) -> str:
    if row["error"] is None:
        return ""
    allowed = f" ({units.percent(row['tolerance'])})" if row["tolerance"] else ""
    return f"{units.error(row['error'])}{allowed}"


def _energy(row: Row) -> str:
    joules = _number("energy_j_per_item", units.joules)(row)
    return f"{joules} ({row['energy_of']})" if joules else ""


def _warmup(row: Row) -> str:
    if row["warmup_blocks"] is None:
        return ""
    return units.plural(row["warmup_blocks"], "block") + ("" if row["warmup_settled"] else ", not settled")


def _blocks(row: Row) -> str:
    return f"{row['blocks']} of {row['iterations_per_block']}" if row["blocks"] else ""


def _pairs(row: Row) -> str:
    if row["pairs"] is None:
        return ""
    return ", ".join([f"{row['pairs']}", *_over_what(row), *([] if row["paired"] else ["not paired"])])


def _over_what(row: Row) -> Iterator[str]:
    """Yield over how many visits an interval spans, or over how many workers and builds where there were no visits."""
    if row["visits"]:
        visits = units.plural(row["visits"], "visit")
        yield f"{row['workers']} of {visits}" if row["workers"] < row["visits"] else visits
    else:
        yield from (f"{row[several]} {several}" for several in ("workers", "builds") if row[several] > 1)


def _observation_columns(arm: Row) -> list[Column]:
    names = [name for name in arm if name.startswith("observed_")]
    return [
        Column(
            heading=units.without_unit(name.removeprefix("observed_")),
            format=_number(name, partial(units.with_unit, name.removeprefix("observed_"))),
            number=True,
        )
        for name in names
    ]


def _quantity(heading: str, name: str, format_row: Callable[[Row], str]) -> Column:
    """Return a column of numbers that sort by the row's value of this name."""
    return Column(heading=heading, format=format_row, number=True, order=read_number(name))


_PLACE = [
    Column(heading="workload", format=read_text("workload"), shows="trial"),
    Column(heading="case", format=_case_label),
]
_ARM = Column(heading="arm", format=lambda row: format_levels(row["levels"]))
_MEMORY = _quantity("memory", "memory_bytes", _number("memory_bytes", units.size))
_ENERGY = _quantity("energy per item", "energy_j_per_item", _energy)
_USE = [
    _quantity("share of ceiling", "share", _share),
    _quantity("device busy", "device_share", _number("device_share", units.percent)),
]
_ERROR = _quantity("error (allowed)", "error", _error)
_EFFECT = [
    Column(heading="verdict", format=_verdict, order=_strength, shows="verdict"),
    _quantity("speedup (interval)", "speedup", _speedup),
]
_STEP = _quantity("over the rung below", "step", _step)
_OVERVIEW = [
    *_PLACE,
    _ARM,
    *_EFFECT,
    _quantity("throughput", "items_per_s", _rate),
    *_USE,
    _MEMORY,
    _ENERGY,
]
_EFFECTS = [
    *_EFFECT,
    _STEP,
    Column(heading="technique", format=read_text("level")),
    Column(heading="against", format=_against),
    *_PLACE,
    _ERROR,
    _MEMORY,
    _ENERGY,
]
_DETAILS = [
    _ARM,
    *_EFFECT,
    _STEP,
    _quantity("time per iteration", "s_per_iteration", _number("s_per_iteration", units.seconds)),
    _quantity("time per item", "s_per_item", _number("s_per_item", units.seconds)),
    _quantity("first call", "cold_s", _number("cold_s", units.seconds)),
    Column(heading="pays", format=format_break_even),
    _quantity("pairs", "pairs", _pairs),
    _quantity("blocks of iterations", "blocks", _blocks),
    _quantity("warm-up", "warmup_blocks", _warmup),
    _quantity("build", "build_s", _number("build_s", units.seconds)),
    Column(heading="ran on", format=read_text("placement")),
    *_USE,
    _MEMORY,
    _ENERGY,
    _ERROR,
]


_MOST = 200  # techniques, and workloads; the table of effects holds all


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a technique does to a workload: ``text`` in glyphs and speedups, ``name`` in words for screen readers.

    ``anchor`` is that of the trial with the strongest effect. A cell in which nothing could be measured has none;
    there, ``name`` gives the reason. ``tint`` is the verdict, or "mixed" where effects go both ways.
    """

    text: str
    name: str
    tint: str = ""
    anchor: str = ""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The effects of one framework: ``cells`` by workload and technique; a pair that was not asked for has none."""

    framework: str
    techniques: list[str]
    workloads: list[str]
    cells: Mapping[tuple[str, str], Cell]


def matrices(arms: Sequence[Row], effects: Sequence[Row], anchors: Anchors) -> list[Matrix]:
    """Return a matrix for each framework with an effect."""
    frameworks = dict.fromkeys(row["framework"] for row in effects)
    return [
        _matrix(
            framework,
            [row for row in arms if row["framework"] == framework and not row["baseline"]],
            [row for row in effects if row["framework"] == framework],
            anchors,
        )
        for framework in frameworks
    ]


def _matrix(framework: str, candidates: Sequence[Row], effects: Sequence[Row], anchors: Anchors) -> Matrix:
    """Return a framework's matrix: techniques on many workloads first, workloads by the first that has them.

    Workloads of which nothing could be measured come last, with the techniques that were asked for there.
    """
    compared = dict.fromkeys((row["switched"], row["workload"]) for row in effects)
    unmeasured = dict.fromkeys((row["switched"], row["workload"]) for row in _unmeasured_alone(candidates))
    pairs = [*compared, *unmeasured]
    ranked = [name for each in (compared, unmeasured) for name, _ in Counter(name for name, _ in each).most_common()]
    techniques = list(dict.fromkeys(ranked))[:_MOST]
    workloads = dict.fromkeys(each for name in techniques for technique, each in pairs if technique == name)
    found: dict[tuple[str, str], list[Row]] = {}
    for row in candidates:
        if row["switched"] in techniques and row["workload"] in workloads:
            found.setdefault((row["workload"], row["switched"]), []).append(row)
    return Matrix(
        framework=framework,
        techniques=techniques,
        workloads=list(workloads)[:_MOST],
        cells={place: _cell(place, rows, anchors) for place, rows in found.items()},
    )


def _unmeasured_alone(candidates: Sequence[Row]) -> list[Row]:
    """Return the candidates on workloads of which no candidate has a speed."""
    measured = {row["workload"] for row in candidates if row["speedup"] is not None}
    return [row for row in candidates if row["workload"] not in measured and not row["ablation"]]


def _cell(place: tuple[str, str], rows: Sequence[Row], anchors: Anchors) -> Cell:
    workload, technique = place
    compared = [row for row in rows if row["speedup"] is not None]
    if not compared:
        return Cell(text="–", name=f"{technique} on {workload}: {rows[0]['reason'] or rows[0]['outcome']}")
    verdicts = [verdict for verdict in GLYPHS if any(row["verdict"] == verdict for row in compared)]
    decided = [row for row in compared if row["verdict"] != "undecided"] or compared
    low, high = (units.speedup(pick(row["speedup"] for row in decided)) for pick in (min, max))
    strongest = max(decided, key=lambda row: abs(math.log(row["speedup"])))
    return Cell(
        text=f"{''.join(GLYPHS[verdict] for verdict in verdicts)} {low if low == high else f'{low[:-1]}–{high}'}",
        name=f"{technique} on {workload}: {join_names(verdicts)}, {low if low == high else f'{low} to {high}'}",
        tint="mixed" if {"faster", "slower"} <= set(verdicts) else verdicts[0],
        anchor=anchors.trial(strongest["trial"]),
    )
