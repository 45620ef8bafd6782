"""The answer that the page opens with: what pays here, what does not, and what could not be told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness import units
from harness.reading.table import in_words, rows_of
from harness.record import TrialRecord

_MEMORY_WORTH_SAYING_BYTES = 2**20  # a smaller change is an allocator's page here or there
_MEMORY_WORTH_SAYING = 0.02
_COLD_WORTH_SAYING_S = 0.1
_COLD_WORTH_SAYING = 3  # times a warm iteration


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One finding: a technique on a workload at the level and the problem where its effect is strongest.

    ``rest`` holds the same technique's other levels and problems that came to the same verdict, ``doubts`` what was
    found doubtful about either arm.
    """

    trial: str
    what: str
    where: str
    finding: str
    price: str
    rest: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def statements(effects: pd.DataFrame, verdict: str, trials: dict[str, TrialRecord], noise: float) -> list[Statement]:
    """Return the findings of one verdict, the strongest effect first."""
    if effects.empty:
        return []
    chosen = effects[effects["verdict"] == verdict]
    strength = chosen["speedup"].map(lambda ratio: abs(math.log(ratio)))
    rows = chosen.assign(strength=strength).sort_values("strength", ascending=False, kind="stable")
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows_of(rows):
        key = (row["test"], row["switched"], row["workload"], row["framework"], in_words(row["fixed"]))
        groups.setdefault(key, []).append(row)
    return [_statement(group, trials, noise) for group in groups.values()]


def _statement(group: list[dict[str, Any]], trials: dict[str, TrialRecord], noise: float) -> Statement:
    first, *others = group
    sure = first["verdict"] != "undecided"
    return Statement(
        trial=first["trial"],
        what=first["level"],
        where=_where(first),
        finding=_found(first) if sure else _left_open(first, trials[first["trial"]], noise),
        price=", ".join(_price(first)) if sure else "",
        rest=tuple(_other(row, first) for row in others),
        doubts=tuple(dict.fromkeys([*first["baseline_flags"], *first["flags"]])),
    )


def _where(row: dict[str, Any]) -> str:
    details = [row["framework"], in_words(row["fixed"]), in_words(row["problem"])]
    return f"{row['workload']} ({', '.join(filter(None, details))})"


def _found(row: dict[str, Any]) -> str:
    within = units.interval(row["low"], row["high"])
    if row["verdict"] == "same":
        return f"makes no difference against {row['against']}: {units.speedup(row['speedup'])} ({within})"
    return f"{units.speedup(row['speedup'])} as fast as {row['against']} ({within})"


def _left_open(row: dict[str, Any], trial: TrialRecord, noise: float) -> str:
    """Say between what the speedup lies, what that leaves open, and what may have disturbed."""
    pairs = units.plural(row["pairs"], "pair")
    if not row["low"] > 0 or math.isinf(row["high"]):
        said = f"no interval after {pairs}"
    else:
        between = f"between {units.speedup(row['low'])} and {units.speedup(row['high'])} as fast as {row['against']}"
        said = f"{between} after {pairs}, so it may be {_possible(row, noise)}"
    return "; ".join([said, *trial.remarks, *_unsettled(row)])


def _possible(row: dict[str, Any], noise: float) -> str:
    slower, faster = row["low"] < 1 / (1 + noise), row["high"] > 1 + noise
    if slower and faster:
        return "slower, the same or faster"
    return "slower or the same" if slower else "the same or faster" if faster else "the same"


def _unsettled(row: dict[str, Any]) -> Iterator[str]:
    if row["warmup_settled"] is False or row["baseline_warmup_settled"] is False:
        yield "the times had not settled when the warm-up ended"


def _other(row: dict[str, Any], first: dict[str, Any]) -> str:
    level = row["level"] if row["level"] != first["level"] else ""
    problem = in_words(row["problem"]) if row["problem"] != first["problem"] else ""
    place = " at ".join(filter(None, (level, problem))) or row["trial"]
    return f"{place}: {units.speedup(row['speedup'])} ({units.interval(row['low'], row['high'])})"


def _price(row: dict[str, Any]) -> list[str]:
    """Return what the candidate costs besides time, or saves, where it is worth a word."""
    parts = []
    if row["error"]:
        parts.append(f"numeric error {units.error(row['error'])}")
    memory, before = row["memory_bytes"], row["baseline_memory_bytes"]
    if memory is not None and before is not None:
        change = memory - before
        if abs(change) >= max(_MEMORY_WORTH_SAYING_BYTES, _MEMORY_WORTH_SAYING * before):
            parts.append(f"{units.size(abs(change))} {'more' if change > 0 else 'less'} memory")
    cold_s, warm_s = row["cold_s"], row["s_per_iteration"]
    if cold_s is not None and cold_s >= max(_COLD_WORTH_SAYING_S, _COLD_WORTH_SAYING * warm_s):
        parts.append(f"first call {units.seconds(cold_s)}")
    return parts
