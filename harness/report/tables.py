"""The page's tables, as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from harness import units
from harness.reading.table import in_words, rows_of
from harness.report.trials.pays import pays
from harness.report.verdicts import GLYPHS

Row = dict[str, Any]

# By what verdicts are sorted: from what pays to what slows down; without one comes last.
_STRENGTHS = {"faster": 3.0, "same": 2.0, "undecided": 1.0, "slower": 0.0}


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its heading, and what it says of an arm. ``number`` columns are aligned at the right.

    ``order`` gives the number that a row is sorted by; without it, what is said decides.
    """

    heading: str
    written: Callable[[Row], str]
    number: bool = False
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


def overview(arms: pd.DataFrame) -> Table:
    """Return every arm with its speed, its memory and its effect."""
    return _table(rows_of(arms), _OVERVIEW)


def compared(effects: pd.DataFrame) -> Table:
    """Return every effect with its price, the fastest first."""
    ordered = effects.sort_values("speedup", ascending=False, kind="stable") if len(effects) else effects
    return _table(rows_of(ordered), _EFFECTS)


def details(arms: list[Row]) -> Table:
    """Return how the arms of one trial were measured."""
    return _table(arms, [*_DETAILS, *_observed(arms[0])])


def _table(rows: list[Row], columns: Iterable[Column]) -> Table:
    """Return the table without the columns in which no row says anything."""
    filled = [column for column in columns if any(column.written(row) for row in rows)]
    return Table(
        columns=filled,
        rows=[[column.written(row) for column in filled] for row in rows],
        order=[[_order(column, row) for column in filled] for row in rows],
        keys=[row["trial"] for row in rows],
        verdicts=[row["verdict"] or "" for row in rows],
        facets=[_facets(row) for row in rows],
    )


def _order(column: Column, row: Row) -> str:
    value = column.order(row) if column.order else None
    return "" if value is None or not math.isfinite(value) else f"{value:.9g}"


def _facets(row: Row) -> dict[str, str]:
    return {
        "verdict": row["verdict"] or _without_effect(row),
        "technique": row["switched"],
        "workload": row["workload"],
        "framework": row["framework"],
    }


def _number(name: str, written: Callable[[float], str]) -> Callable[[Row], str]:
    def of(row: Row) -> str:
        value = row[name]
        return "" if value is None or not math.isfinite(value) else written(value)

    return of


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: row[name] or ""


def _held(row: Row) -> str:
    return ", ".join(filter(None, (row["framework"], in_words(row["problem"]), in_words(row["fixed"]))))


def _against(row: Row) -> str:
    return ", ".join(row["baseline_levels"].values())


def _rate(row: Row) -> str:
    return _number("items_per_s", lambda value: units.rate(value, row["unit"]))(row)


def _share(row: Row) -> str:
    return _number("share", lambda value: f"{units.percent(value)} of {row['ceiling']}")(row)


def _speedup(row: Row) -> str:
    return units.ratio(row["speedup"], row["low"], row["high"]) if row["speedup"] else ""


def _gain(row: Row) -> str:
    if not row["gain_verdict"]:
        return ""
    return f"{GLYPHS[row['gain_verdict']]} {units.ratio(row['gain'], row['gain_low'], row['gain_high'])}"


def _verdict(row: Row) -> str:
    if row["verdict"]:
        return f"{GLYPHS[row['verdict']]} {row['verdict']}"
    return _without_effect(row)


def _without_effect(row: Row) -> str:
    if row["outcome"] != "measured":
        return str(row["outcome"]).replace("-", " ")
    return "baseline" if row["baseline"] else ""


def _strength(row: Row) -> float:
    return _STRENGTHS.get(row["verdict"], -1.0)


def _value(name: str) -> Callable[[Row], float | None]:
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
    return f"{row['warmup_blocks']} blocks{'' if row['warmup_settled'] else ', not settled'}"


def _blocks(row: Row) -> str:
    return f"{row['blocks']} of {row['iterations_per_block']}" if row["blocks"] else ""


def _pairs(row: Row) -> str:
    if row["pairs"] is None:
        return ""
    over = "".join(f", {row[several]} {several}" for several in ("workers", "builds") if row[several] > 1)
    return f"{row['pairs']}{over}{'' if row['paired'] else ', not paired'}"


def _observed(arm: Row) -> list[Column]:
    names = [name for name in arm if name.startswith("observed_")]
    return [
        Column(
            heading=units.without_unit(name.removeprefix("observed_")),
            written=_number(name, partial(units.named, name.removeprefix("observed_"))),
            number=True,
        )
        for name in names
    ]


_PLACE = [
    Column(heading="workload", written=_text("workload")),
    Column(heading="held", written=_held),
]
_MEMORY = Column(
    heading="memory", written=_number("memory_bytes", units.size), number=True, order=_value("memory_bytes")
)
_ENERGY = Column(heading="energy per item", written=_energy, number=True, order=_value("energy_j_per_item"))
_SHARE = Column(heading="share of ceiling", written=_share, number=True, order=_value("share"))
_DEVICE = Column(
    heading="device busy", written=_number("device_share", units.percent), number=True, order=_value("device_share")
)
_USE = [_SHARE, _DEVICE]
_ERROR = Column(heading="error (allowed)", written=_error, number=True, order=_value("error"))
_EFFECT = [
    Column(heading="verdict", written=_verdict, order=_strength),
    Column(heading="speedup (interval)", written=_speedup, number=True, order=_value("speedup")),
]
_GAIN = Column(heading="over the rung below", written=_gain, number=True, order=_value("gain"))
_OVERVIEW = [
    *_PLACE,
    Column(heading="arm", written=lambda row: in_words(row["levels"])),
    *_EFFECT,
    Column(heading="throughput", written=_rate, number=True, order=_value("items_per_s")),
    *_USE,
    _MEMORY,
    _ENERGY,
]
_EFFECTS = [
    *_EFFECT,
    _GAIN,
    Column(heading="technique", written=_text("level")),
    Column(heading="against", written=_against),
    *_PLACE,
    _ERROR,
    _MEMORY,
    _ENERGY,
]
_DETAILS = [
    Column(heading="arm", written=lambda row: in_words(row["levels"])),
    *_EFFECT,
    _GAIN,
    Column(heading="time per iteration", written=_number("s_per_iteration", units.seconds), number=True),
    Column(heading="time per item", written=_number("s_per_item", units.seconds), number=True),
    Column(heading="first call", written=_number("cold_s", units.seconds), number=True),
    Column(heading="pays", written=pays),
    Column(heading="pairs", written=_pairs, number=True),
    Column(heading="blocks of iterations", written=_blocks, number=True),
    Column(heading="warm-up", written=_warmup, number=True),
    Column(heading="build", written=_number("build_s", units.seconds), number=True),
    Column(heading="ran on", written=_text("placement")),
    *_USE,
    _MEMORY,
    _ENERGY,
    _ERROR,
]
