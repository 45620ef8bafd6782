"""The figure of two techniques, alone and together."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    BLUE,
    ORANGE,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    describe_effect,
    describe_sample,
    format_subject,
    intervals_of,
    speedup_axis,
)
from accelbench.report.figures.svg import Axis, Chart, Key, Panel, clip
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.arm_table import rows_of
from accelbench.results.combinations import Interaction
from accelbench.schema.verdict import verdict_on_ratios
from accelbench.text import format_levels, join_names

_HEIGHT_PT, _LONGEST_NAME = 150, 24
_APART = 0.02  # between marks of one place, so that no interval hides another
_COMPARED_WITH_PROMISE = {
    "faster": ", more than",
    "slower": ", less than",
    "same": ", just",
    "undecided": "; it is undecided whether that differs from",
}


def interaction_figure(found: Interaction, noise: float) -> FigureWithData:
    """Draw the speedup of each of the four arms. Parallel lines would mean that neither technique changes the other."""
    title = f"{format_subject(found.workload, found.held)}: {_finding(found, noise)}"
    both = [*intervals_of(found.arms), (found.promised,) * 3]
    first = clip(found.techniques[0], _LONGEST_NAME)
    levels = [(at, (f"{first} {clip(level)}",)) for at, level in enumerate(found.arms["first"].iloc[:2])]
    y = speedup_axis(both, "speedup per item (log)")
    panel = Panel(x=Axis(low=-0.25, high=1.25, ticks=levels), y=y, height_pt=_HEIGHT_PT)
    panel.rule(1, along="y")
    _draw_product(panel, found)
    keys = [_draw_line(panel, found, place) for place in range(2)]
    promise = f"promised by the two alone: {units.speedup(found.promised)}"
    keys.append(Key(label=promise, colour=ORANGE, marker="D", hollow=True))
    return FigureWithData(
        name=slug(f"interaction-{'-'.join(found.techniques)}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. {_each(found)}.",
        note=f"Speedups over {format_levels(found.arms['levels'].iloc[0])}, lines: their intervals, "
        f"{describe_sample(found.arms['pairs'], 'pair')} each. Hollow: the product of the two alone; if neither "
        "changed the other, both together would lie there. The interval of the interaction combines the worst ends "
        "of all three intervals, so it is conservative.",
        data=_table(found),
        about=(found.framework, str(found.together["switched"])),
        figure=Chart(title=title, panels=[panel], legend=keys),
    )


def _draw_line(panel: Panel, found: Interaction, place: int) -> Key:
    """Draw the first technique's two levels at one level of the second, and return what the line is."""
    colour, marker = ((BLUE, "o"), (ORANGE, "s"))[place]
    arms = rows_of(found.arms.iloc[2 * place : 2 * place + 2])
    x = [at + (place - 0.5) * 2 * _APART for at in (0, 1)]
    panel.line([(at, arm["speedup"]) for at, arm in zip(x, arms, strict=True)], colour, width=1.5)
    for at, arm in zip(x, arms, strict=True):
        panel.line([(at, arm["low"]), (at, arm["high"])], colour, width=2)
        title = describe_effect(format_levels(arm["levels"]), arm)
        panel.mark(at, arm["speedup"], marker, colour, size=7, title=title)
    return Key(label=clip(f"{found.techniques[1]} {arms[0]['second']}"), colour=colour, marker=marker, line=True)


def _draw_product(panel: Panel, found: Interaction) -> None:
    """Draw where both together would lie if neither changed the other."""
    start, end = (_APART, found.alone[1]["speedup"]), (1 + 3 * _APART, found.promised)
    panel.line([start, end], ORANGE, width=1, dash="2 2")
    title = f"both, as the two alone promise: {units.speedup(found.promised)}"
    panel.mark(*end, "D", ORANGE, hollow=True, title=title)


def _finding(found: Interaction, noise: float) -> str:
    """Word what both bring together, what the two alone promise, and whether that differs."""
    first, second = (units.speedup(arm["speedup"]) for arm in found.alone)
    promise = f"the {first} × {second} = {units.speedup(found.promised)} that the two alone promise"
    both = f"{join_names(found.techniques)} together bring {units.speedup(found.together['speedup'])}"
    ratio = f"({units.speedup(found.ratio)} of that, {units.bounds(found.low, found.high)})"
    than = _COMPARED_WITH_PROMISE[verdict_on_ratios(found.low, found.high, noise)]
    return f"{both}{than} {promise} {ratio}"


def _each(found: Interaction) -> str:
    arms = found.arms.iloc[1:]
    rows = zip(arms["level"], arms["speedup"], arms["low"], arms["high"], strict=True)
    return "; ".join(f"{level} {units.ratio(*speedup)}" for level, *speedup in rows)


def _table(found: Interaction) -> pd.DataFrame:
    measured = found.arms[["speedup", "low", "high", "verdict", "pairs"]]
    promised = pd.DataFrame({"speedup": [found.promised]})
    arms = [*map(format_levels, found.arms["levels"]), "both, as the two alone promise"]
    table = pd.concat([measured, promised], ignore_index=True)
    table = table.rename(columns=SPEEDUP_HEADINGS)
    table.insert(0, "arm", arms)
    return table


class InteractionFigure(FigureKind):
    """Two techniques, alone and together."""

    position = 70

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each pair of techniques that no attribution covers."""
        covered = {bundle.trial for bundle in findings.attributions}
        for found in findings.interactions:
            if found.trial not in covered:
                yield interaction_figure(found, findings.noise)
