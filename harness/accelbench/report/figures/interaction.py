"""The figure of two techniques, alone and together."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes

from accelbench import units
from accelbench.report.figures.drawing import (
    BLUE,
    ORANGE,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    clip,
    describe_sample,
    format_subject,
    new_figure,
    scale_speedups,
)
from accelbench.report.labels import slug
from accelbench.results import Findings
from accelbench.results.combinations import Interaction
from accelbench.schema.verdict import verdict_on_ratios
from accelbench.text import format_levels

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
    with new_figure(height_in=2.7, title=title) as (figure, (axes,)):
        promised = {"speedup": found.promised, "low": found.promised, "high": found.promised}
        scale_speedups(axes, pd.concat([found.arms, pd.DataFrame([promised])]), upright=True)
        least, most = axes.get_ylim()
        axes.set_ylim(least, most * (most / least) ** 0.3)  # room for the legend
        for place, (colour, marker) in enumerate(((BLUE, "o"), (ORANGE, "s"))):
            _line(axes, found, place, colour, marker)
        _draw_product(axes, found)
        first = clip(found.techniques[0])
        axes.set_xticks([0, 1], [f"{first} {clip(level)}" for level in found.arms["first"].iloc[:2]])
        axes.set(xlim=(-0.25, 1.25), xlabel="", ylabel="speedup per item (log)")
        axes.legend(loc="upper left")
    return FigureWithData(
        kind="interaction",
        name=slug(f"interaction-{'-'.join(found.techniques)}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. {_each(found)}.",
        note=f"Speedups over {format_levels(found.arms['levels'].iloc[0])}, lines: their intervals, "
        f"{describe_sample(found.arms['pairs'], 'pair')} each. Hollow: the product of the two alone; if neither "
        "changed the other, both together would lie there. The interval of the interaction combines the worst ends "
        "of all three intervals, so it is conservative.",
        data=_table(found),
        about=(found.framework, str(found.together["switched"])),
        figure=figure,
    )


def _line(axes: Axes, found: Interaction, place: int, colour: str, marker: str) -> None:
    """Draw the first technique's two levels at one level of the second."""
    arms = found.arms.iloc[2 * place : 2 * place + 2]
    x = [at + (place - 0.5) * 2 * _APART for at in (0, 1)]
    least, most = axes.get_ylim()
    label = clip(f"{found.techniques[1]} {arms['second'].iloc[0]}")
    axes.plot(x, arms["speedup"], color=colour, marker=marker, markersize=7, label=label)
    axes.vlines(x, arms["low"].clip(lower=least), arms["high"].clip(upper=most), color=colour, linewidth=2)


def _draw_product(axes: Axes, found: Interaction) -> None:
    """Draw where both together would lie if neither changed the other."""
    second = found.alone[1]["speedup"]
    label = f"promised by the two alone: {units.speedup(found.promised)}"
    axes.plot(
        [_APART, 1 + 3 * _APART], [second, found.promised], color=ORANGE, linewidth=1, linestyle="dotted",
        marker="D", markevery=[1], markerfacecolor="none", zorder=1, label=label,
    )  # fmt: skip


def _finding(found: Interaction, noise: float) -> str:
    """Word what both bring together, what the two alone promise, and whether that differs."""
    first, second = (units.speedup(arm["speedup"]) for arm in found.alone)
    promise = f"the {first} × {second} = {units.speedup(found.promised)} that the two alone promise"
    both = f"{' and '.join(found.techniques)} together bring {units.speedup(found.together['speedup'])}"
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
