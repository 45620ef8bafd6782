"""What a figure of effects says in words: its finding, its rows' labels, its note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from harness import units
from harness.reading.table import in_words
from harness.report.figures.words import sampled
from harness.report.verdicts import GLYPHS

_LONGEST_NOTE = 200  # characters of what all rows share
_LONGEST_UNBROKEN = 24  # characters of a label that fit on one line
_DOES = {"faster": "pays", "slower": "slows down", "same": "makes no difference", "undecided": "is undecided"}


def finding(effects: pd.DataFrame) -> str:
    """Say in a sentence what one technique does."""
    technique, counts = effects["switched"].iloc[0], Counter(effects["verdict"])
    if len(effects) == 1:
        (verdict,) = counts
        return f"{technique} {_DOES[verdict]}: {_named(effects.iloc[0])}"
    count = units.plural(len(effects), "comparison")
    if counts["faster"]:
        best = _fastest(effects[effects["verdict"] == "faster"]).iloc[0]
        slower = f"; slower on {counts['slower']}" if counts["slower"] else ""
        return f"{technique} pays on {counts['faster']} of {count}, at best {_named(best)}{slower}"
    if counts["slower"]:
        worst = _fastest(effects[effects["verdict"] == "slower"]).iloc[-1]
        return f"{technique} slows down {counts['slower']} of {count}, at worst {_named(worst)}"
    if counts["same"]:
        return f"{technique} makes no difference in {counts['same']} of {count}, and pays on none"
    return f"{technique} is undecided in all of {count}"


def in_full(effects: pd.DataFrame) -> str:
    """Say the finding to who does not see the figure: how many came to which verdict, the fastest and the slowest."""
    counts = Counter(effects["verdict"])
    each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in GLYPHS if counts[verdict])
    ordered = _fastest(effects)
    told = [
        f"{end} {level_of(row)} on {row['workload']}, {units.ratio(row['speedup'], row['low'], row['high'])}"
        for end, row in (("highest", ordered.iloc[0]), ("lowest", ordered.iloc[-1]))[: len(ordered)]
    ]
    return f"{finding(effects)}. Verdicts: {each}. Speedups: {'; '.join(told)}."


def notes(rows: pd.DataFrame, effects: pd.DataFrame, shared: str, noise: float) -> Iterator[str]:
    """Say what the marks mean, how many pairs stand behind them, and what is not shown."""
    band = f"±{units.percent(noise)}"
    yield f"Speedups per item with their intervals; in the grey band, {band}, differences count as none."
    yield f"{sampled(rows['pairs'], 'pair')} each."
    if shared:
        yield f"All rows: {shared}."
    if len(rows) < len(effects):
        yield f"Shown are the {len(rows)} strongest of {len(effects)} effects; the table of effects has all."


def level_of(row: pd.Series[Any]) -> str:
    """Return the levels that were switched, without the techniques' names."""
    levels = row["levels"]
    return " × ".join(level for name, level in levels.items() if name in row["baseline_levels"]) or row["level"]


def labels(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Name each row by as much as tells it from the others; and say what all of them share."""
    told = [_parts(row) for _, row in rows.iterrows()]
    names = dict.fromkeys(name for parts in told for name in parts)
    differing = [name for name in names if len({parts.get(name, "") for parts in told}) > 1]
    shared = [told[0].get(name, "") for name in names if name not in differing]
    for count in range(1, len(differing) + 1):
        each = [_joined(parts, differing[:count]) for parts in told]
        if len(set(each)) == len(each):
            break
    else:
        each = [_joined(parts, differing or ["level", "workload"]) for parts in told]
    return each, ", ".join(filter(None, shared if differing else []))[:_LONGEST_NOTE]


def _joined(parts: dict[str, str], names: Sequence[str]) -> str:
    return " · ".join(_unbroken(parts[name]) for name in names if parts.get(name))


def _unbroken(part: str) -> str:
    return part.replace(" ", "\u00a0") if len(part) <= _LONGEST_UNBROKEN else part


def _parts(row: pd.Series[Any]) -> dict[str, str]:
    options = {f"problem {name}": in_words({name: value}, units.short) for name, value in row["problem"].items()}
    options |= {f"fixed {name}": in_words({name: value}, units.short) for name, value in row["fixed"].items()}
    against = f"against {row['against']}" if row["against"] else ""
    return {"level": level_of(row), "workload": row["workload"], **options, "against": against}


def _fastest(effects: pd.DataFrame) -> pd.DataFrame:
    return effects.sort_values("speedup", ascending=False, kind="stable")


def _named(effect: pd.Series[Any]) -> str:
    level = level_of(effect)
    places = (effect["workload"], level if level != "on" else "")
    return f"{units.speedup(effect['speedup'])} ({', '.join(filter(None, places))})"
