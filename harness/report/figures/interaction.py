"""Two techniques, alone and together."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator

from harness import units
from harness.reading.interactions import Interaction
from harness.reading.table import in_words
from harness.report.anchors import slug
from harness.report.figures.drawing import INK, Drawn, clipped, styled, write_ticks
from harness.report.figures.words import sampled, subject

_BLUE, _ORANGE = map(str, sns.color_palette("colorblind").as_hex()[:2])
_APART = 0.02  # between marks of one place, so that no interval hides another
_FURTHEST = 4.0  # an interval reaching further than this factor beyond all speedups is cut at the figure's edge
_WIDE = 4.0  # from this span on ticks at 1, 2 and 5 are enough


def combined(found: Interaction, noise: float) -> Drawn:
    """Draw the speedup of each of the four arms: lines in parallel would mean that neither changes the other."""
    title = f"{subject(found.workload, found.held)}: {_finding(found, noise)}"
    with styled(height_in=2.7, title=title) as (figure, (axes,)):
        axes.set_yscale("log")
        axes.set_ylim(*_limits(found))
        axes.axhline(1, color=INK, linewidth=0.8)
        for place, (colour, marker) in enumerate(((_BLUE, "o"), (_ORANGE, "s"))):
            _line(axes, found, place, colour, marker)
        _promise(axes, found)
        first = clipped(found.techniques[0])
        axes.set_xticks([0, 1], [f"{first} {clipped(level)}" for level in found.arms["first"].iloc[:2]])
        axes.set(xlim=(-0.25, 1.25), xlabel="", ylabel="speedup per item (log)")
        _ticks(axes)
        axes.legend(loc="upper left")
    return Drawn(
        kind="interaction",
        name=slug(f"interaction-{'-'.join(found.techniques)}-{found.workload}-{found.held}"),
        title=title,
        alt=f"{title}. {_each(found)}.",
        note=f"Speedups over {in_words(found.arms['levels'].iloc[0])}, lines: their intervals, "
        f"{sampled(found.arms['pairs'], 'pair')} each. Hollow: the product of the two alone; if neither changed the "
        "other, both together would lie there. The interval of the interaction takes all three intervals at their "
        "worst, so it is wider than need be.",
        data=_table(found),
        about=(found.framework, str(found.together["switched"])),
        figure=figure,
    )


def _line(axes: Axes, found: Interaction, place: int, colour: str, marker: str) -> None:
    """Draw the first technique's two levels at one level of the second."""
    arms = found.arms.iloc[2 * place : 2 * place + 2]
    x = [at + (place - 0.5) * 2 * _APART for at in (0, 1)]
    least, most = axes.get_ylim()
    label = clipped(f"{found.techniques[1]} {arms['second'].iloc[0]}")
    axes.plot(x, arms["speedup"], color=colour, marker=marker, markersize=7, label=label)
    axes.vlines(x, arms["low"].clip(lower=least), arms["high"].clip(upper=most), color=colour, linewidth=2)


def _promise(axes: Axes, found: Interaction) -> None:
    """Draw where both together would lie if neither changed the other."""
    second = found.alone[1]["speedup"]
    label = f"promised by the two alone: {units.speedup(found.promised)}"
    axes.plot(
        [_APART, 1 + 3 * _APART], [second, found.promised], color=_ORANGE, linewidth=1, linestyle="dotted",
        marker="D", markevery=[1], markerfacecolor="none", zorder=1, label=label,
    )  # fmt: skip


def _limits(found: Interaction) -> tuple[float, float]:
    arms = found.arms
    least, most = min(1.0, arms["speedup"].min(), found.promised), max(arms["speedup"].max(), found.promised)
    low = max(arms["low"].min(), least / _FURTHEST)
    high = min(arms["high"].max(), most * _FURTHEST)
    margin = max((max(high, most) / min(low, least)) ** 0.1, 1.01)
    return min(low, least) / margin, max(high, most) * margin**3  # above is room for the legend


def _ticks(axes: Axes) -> None:
    least, most = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if most / least > _WIDE else MaxNLocator(5))
    write_ticks(axes.yaxis, lambda ratio: f"{ratio:g}×")
    axes.tick_params(axis="y", which="minor", length=0)


def _finding(found: Interaction, noise: float) -> str:
    """Say what both bring together, what the two alone promise, and whether that differs."""
    first, second = (units.speedup(arm["speedup"]) for arm in found.alone)
    promise = f"the {first} × {second} = {units.speedup(found.promised)} that the two alone promise"
    said = f"{' and '.join(found.techniques)} together bring {units.speedup(found.together['speedup'])}"
    ratio = f"({units.speedup(found.ratio)} of that, {units.bounds(found.low, found.high)})"
    if found.low > 1 + noise:
        return f"{said}, more than {promise} {ratio}"
    if found.high < 1 / (1 + noise):
        return f"{said}, less than {promise} {ratio}"
    if found.low >= 1 / (1 + noise) and found.high <= 1 + noise:
        return f"{said}, just {promise} {ratio}"
    return f"{said}; it is undecided whether that differs from {promise} {ratio}"


def _each(found: Interaction) -> str:
    arms = found.arms.iloc[1:]
    rows = zip(arms["level"], arms["speedup"], arms["low"], arms["high"], strict=True)
    return "; ".join(f"{level} {units.ratio(*speedup)}" for level, *speedup in rows)


def _table(found: Interaction) -> pd.DataFrame:
    measured = found.arms[["speedup", "low", "high", "verdict", "pairs"]]
    promised = pd.DataFrame({"speedup": [found.promised]})
    arms = [*map(in_words, found.arms["levels"]), "both, as the two alone promise"]
    table = pd.concat([measured, promised], ignore_index=True)
    table = table.rename(columns={"speedup": "speedup (×)", "low": "from (×)", "high": "to (×)"})
    table.insert(0, "arm", arms)
    return table
