"""Effects as intervals around 1."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    LABEL_PT,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    describe_effect,
    describe_sample,
    draw_interval,
    draw_point,
    intervals_of,
    rows_panel,
    speedup_axis,
    write_verdicts,
)
from accelbench.report.figures.svg import Chart, clip, wrap_text
from accelbench.report.labels import slug
from accelbench.report.verdicts import COLOURS, GLYPHS
from accelbench.results import Findings
from accelbench.results.arm_table import by_technique, rows_of
from accelbench.schema.verdict import noise_zone
from accelbench.text import format_levels

_MOST_ROWS = 40
_USED = [
    "framework", "switched", "level", "levels", "baseline_levels", "against", "workload", "problem", "fixed",
    "test_name", "speedup", "low", "high", "verdict", "pairs",
]  # fmt: skip
_GAP_PT = 6  # between two rows


def effects_figure(effects: pd.DataFrame, noise: float) -> FigureWithData:
    """Draw the effects of one technique in one framework, the fastest on top, as intervals on a logarithmic axis."""
    effects = effects[_USED]
    rows = _strongest(effects).sort_values("speedup", ascending=False, kind="stable").reset_index(drop=True)
    named, shared = labels(rows)
    lines = [wrap_text(clip(label), LABEL_PT) for label in named]
    framework, technique, title = effects["framework"].iloc[0], effects["switched"].iloc[0], finding(effects)
    axis = speedup_axis(intervals_of(rows), clip(f"speedup per item, {framework} (log)"))
    panel = rows_panel(axis, lines, gap_pt=_GAP_PT)
    panel.band(*noise_zone(noise), COLOURS["same"])
    panel.rule(1)
    for place, (label, row) in enumerate(zip(named, rows_of(rows), strict=True)):
        draw_interval(panel, -place, row["low"], row["high"], row["verdict"])
        draw_point(panel, row["speedup"], -place, row["verdict"])
        panel.hover(-place, 1, f"{describe_effect(label, row)}, {units.plural(row['pairs'], 'pair')}")
    write_verdicts(
        panel, ((-place, *each) for place, each in enumerate(zip(rows["verdict"], rows["speedup"], strict=True)))
    )
    return FigureWithData(
        name=slug(f"effects-{technique}-{framework}"),
        title=title,
        alt=in_full(effects),
        note=" ".join(notes(rows, effects, shared, noise)),
        data=_data(rows),
        about=(framework, technique),
        figure=Chart(title=title, panels=[panel]),
    )


def _strongest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects that are furthest from 1, as many as a figure can show."""
    strength = effects["speedup"].map(lambda ratio: abs(math.log(ratio)))
    return effects[strength.rank(method="first", ascending=False) <= _MOST_ROWS]


def _data(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what was drawn; a column in which nothing stands is left out."""
    data = pd.DataFrame(
        {
            "level": [level_of(row) for _, row in rows.iterrows()],
            "against": rows["against"],
            "workload": rows["workload"],
            "problem": [format_levels({**row["problem"], **row["fixed"]}) for _, row in rows.iterrows()],
            "test": rows["test_name"],
            **{heading: rows[name] for name, heading in SPEEDUP_HEADINGS.items()},
            "verdict": rows["verdict"],
            "pairs": rows["pairs"],
        }
    )
    return data.loc[:, (data != "").any()]


_LONGEST_NOTE = 200  # characters of what all rows share
_LONGEST_UNBROKEN = 24  # characters of a label that fit on one line
_DOES = {"faster": "pays", "slower": "slows down", "same": "makes no difference", "undecided": "is undecided"}


def finding(effects: pd.DataFrame) -> str:
    """Return in a sentence what one technique does."""
    technique, counts = effects["switched"].iloc[0], Counter(effects["verdict"])
    if len(effects) == 1:
        (verdict,) = counts
        return f"{technique} {_DOES[verdict]}: {_label_effect(effects.iloc[0])}"
    count = units.plural(len(effects), "comparison")
    if counts["faster"]:
        best = _fastest(effects[effects["verdict"] == "faster"]).iloc[0]
        slower = f"; slower on {counts['slower']}" if counts["slower"] else ""
        return f"{technique} pays on {counts['faster']} of {count}, at best {_label_effect(best)}{slower}"
    if counts["slower"]:
        worst = _fastest(effects[effects["verdict"] == "slower"]).iloc[-1]
        return f"{technique} slows down {counts['slower']} of {count}, at worst {_label_effect(worst)}"
    if counts["same"]:
        return f"{technique} makes no difference in {counts['same']} of {count}, and pays on none"
    return f"{technique} is undecided in all of {count}"


def in_full(effects: pd.DataFrame) -> str:
    """Return the alternative text: the finding, the number of each verdict, the fastest and the slowest."""
    counts = Counter(effects["verdict"])
    each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in GLYPHS if counts[verdict])
    ordered = _fastest(effects)
    ends = [
        f"{end} {level_of(row)} on {row['workload']}, {units.ratio(row['speedup'], row['low'], row['high'])}"
        for end, row in (("highest", ordered.iloc[0]), ("lowest", ordered.iloc[-1]))[: len(ordered)]
    ]
    return f"{finding(effects)}. Verdicts: {each}. Speedups: {'; '.join(ends)}."


def notes(rows: pd.DataFrame, effects: pd.DataFrame, shared: str, noise: float) -> Iterator[str]:
    """Yield what the marks mean, how many pairs they rest on, and what is not shown."""
    band = f"±{units.percent(noise)}"
    yield f"Speedups per item with their intervals; in the grey band, {band}, differences count as none."
    yield f"{describe_sample(rows['pairs'], 'pair')} each."
    if shared:
        yield f"All rows: {shared}."
    if len(rows) < len(effects):
        yield f"Shown are the {len(rows)} strongest of {len(effects)} effects; the table of effects has all."


def level_of(row: pd.Series[Any]) -> str:
    """Return the levels that were switched, without the techniques' names."""
    levels = row["levels"]
    return " × ".join(level for name, level in levels.items() if name in row["baseline_levels"]) or row["level"]


def labels(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Return a label for each row with only what differs between rows, and what all rows share."""
    rows_parts = [_parts(row) for _, row in rows.iterrows()]
    names = dict.fromkeys(name for parts in rows_parts for name in parts if name != "test")
    names |= {"test": None}  # last: options tell a reader more
    differing = [name for name in names if len({parts.get(name, "") for parts in rows_parts}) > 1]
    shared = [rows_parts[0].get(name, "") for name in names if name not in differing]
    for count in range(1, len(differing) + 1):
        each = [_join(parts, differing[:count]) for parts in rows_parts]
        if len(set(each)) == len(each):
            break
    else:
        each = [_join(parts, differing) for parts in rows_parts]
    return each, ", ".join(filter(None, shared if differing else []))[:_LONGEST_NOTE]


def _join(parts: dict[str, str], names: Sequence[str]) -> str:
    known = [name for name in names if parts.get(name)] or ["level", "workload"]
    return " · ".join(_unbroken(parts[name]) for name in known)


def _unbroken(part: str) -> str:
    return part.replace(" ", "\u00a0") if len(part) <= _LONGEST_UNBROKEN else part


def _parts(row: pd.Series[Any]) -> dict[str, str]:
    options = {f"problem {name}": format_levels({name: value}, units.short) for name, value in row["problem"].items()}
    options |= {f"fixed {name}": format_levels({name: value}, units.short) for name, value in row["fixed"].items()}
    against = f"against {row['against']}" if row["against"] else ""
    return {
        "level": level_of(row),
        "workload": row["workload"],
        **options,
        "test": row["test_name"],
        "against": against,
    }


def _fastest(effects: pd.DataFrame) -> pd.DataFrame:
    return effects.sort_values("speedup", ascending=False, kind="stable")


def _label_effect(effect: pd.Series[Any]) -> str:
    level = level_of(effect)
    places = (effect["workload"], level if level != "on" else "")
    return f"{units.speedup(effect['speedup'])} ({', '.join(filter(None, places))})"


class EffectsFigure(FigureKind):
    """Every effect of a technique as an interval around 1."""

    position = 10

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each technique in each framework."""
        effects = findings.effects
        for _, _, found in by_technique(effects if effects.empty else effects[_USED]):
            yield effects_figure(found, findings.noise)
