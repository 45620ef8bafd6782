"""Time over size, with the crossover from which on a candidate pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator

from accelbench import units
from accelbench.report.figures.drawing import (
    BAND,
    PALETTE,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    clip,
    describe_sample,
    format_subject,
    new_figure,
    write_ticks,
)
from accelbench.report.labels import slug
from accelbench.results import Findings, SizeSweep

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_CROSSOVER = (
    " Dashed: a crossover, interpolated between sizes; its interval, shaded, is what the speedups’ intervals allow."
)
_MOST_SAID = 3  # candidates in a title
_MOST_TICKS = 6
_FEW_DECADES = 100.0  # up to this factor, a tick for each decade is too few
_DRAWN = {
    "arm": "arm",
    "size": "",  # its heading names the axis
    "s_per_iteration": "time of one iteration (s)",
    "q1_s_per_iteration": "first quartile (s)",
    "q3_s_per_iteration": "third quartile (s)",
    "blocks": "blocks",
    **SPEEDUP_HEADINGS,
    "verdict": "verdict",
    "pairs": "pairs",
}


def crossover_figure(sweeps: Sequence[SizeSweep]) -> FigureWithData:
    """Draw the time of one iteration over the size, for a baseline and its candidates, with each crossover."""
    first = sweeps[0]
    lines = [_baseline(sweeps), *(sweep.arms.assign(arm=sweep.level) for sweep in sweeps)]
    title = f"{format_subject(first.workload, first.held)}: {_finding(sweeps)}"
    with new_figure(height_in=2.7, title=title) as (figure, (axes,)):
        axes.set(xscale="log", yscale="log")
        for place, arms in enumerate(lines):
            look: dict[str, Any] = {"color": _colour(place), "marker": _MARKERS[place % len(_MARKERS)]}
            label = clip(arms["arm"].iloc[0])
            sns.lineplot(arms, x="size", y="s_per_iteration", label=label, markersize=6, ax=axes, **look)
            quartiles = arms["q1_s_per_iteration"], arms["q3_s_per_iteration"]
            axes.fill_between(arms["size"], *quartiles, color=_colour(place), alpha=0.15, linewidth=0)
        _mark(axes, sweeps)
        axes.set(xlabel=clip(f"{first.axis} (log)"), ylabel="time of one iteration")
        _ticks(axes, lines)
    drawn = pd.concat(lines)
    return FigureWithData(
        kind="size",
        name=slug(f"size-{first.test.rpartition('::')[2].removeprefix('test_')}-{first.workload}-{first.held}"),
        title=title,
        alt=f"{title}. In detail: {' '.join(sweep.sentence for sweep in sweeps)}",
        note=f"Each point is the median of {describe_sample(drawn['blocks'], 'block')}. {BAND}"
        + (_CROSSOVER if any(sweep.crossover is not None for sweep in sweeps) else ""),
        data=drawn[[*_DRAWN]].rename(columns=_DRAWN | {"size": f"size: {first.axis}"}).reset_index(drop=True),
        about=(first.framework, first.arms["switched"].iloc[0]),
        figure=figure,
    )


def _baseline(sweeps: Sequence[SizeSweep]) -> pd.DataFrame:
    """Return what the candidates were compared with, in the columns of a candidate."""
    found = pd.concat([sweep.arms for sweep in sweeps]).drop_duplicates("size").sort_values("size")
    against = {sweep.against for sweep in sweeps}
    columns = {name: found[f"baseline_{name}"] for name in _DRAWN if f"baseline_{name}" in found}
    effect = dict.fromkeys(("speedup", "low", "high", "verdict", "pairs"))
    return found.assign(arm=against.pop() if len(against) == 1 else "baseline", **columns, **effect)


def _mark(axes: Axes, sweeps: Sequence[SizeSweep]) -> None:
    """Draw each crossover with its interval; an end that is not bounded reaches to the edge."""
    least, most = axes.get_xlim()
    for place, sweep in enumerate(sweeps, start=1):
        if sweep.crossover is not None:
            axes.axvspan(sweep.low or least, sweep.high or most, color=_colour(place), alpha=0.12, linewidth=0)
            axes.axvline(sweep.crossover, color=_colour(place), linewidth=1, linestyle="dashed")
    axes.set_xlim(least, most)


def _ticks(axes: Axes, lines: Sequence[pd.DataFrame]) -> None:
    """Put a tick at every size while there are few of them, and enough ticks on the times to read one."""
    sizes = sorted({float(size) for arms in lines for size in arms["size"]})
    if len(sizes) <= _MOST_TICKS:
        axes.xaxis.set_major_locator(FixedLocator(sizes))
    least, most = axes.get_ylim()
    if most / least < _FEW_DECADES:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    write_ticks(axes.xaxis, units.short)
    write_ticks(axes.yaxis, units.seconds)


def _colour(place: int) -> str:
    return PALETTE[place % len(PALETTE)]


def _finding(sweeps: Sequence[SizeSweep]) -> str:
    """Return from which size on each candidate pays."""
    said = [_pays(sweep) for sweep in sweeps[:_MOST_SAID]]
    more = len(sweeps) - len(said)
    return "; ".join([*said, f"and {units.plural(more, 'candidate')} more"] if more else said)


def _pays(sweep: SizeSweep) -> str:
    if sweep.crossover is not None:
        side = "above" if sweep.direction == "up" else "below"
        return f"{sweep.level} pays {side} {sweep.axis} {_round(sweep.crossover)} ({_between(sweep)})"
    sizes, found = units.plural(len(sweep.arms), "size"), sweep.arms["verdict"].value_counts()
    decided = [f"{verdict} at {found[verdict]}" for verdict in ("faster", "slower") if verdict in found]
    return f"{sweep.level} is {' and '.join(decided) or 'known to be faster or slower at none'} of {sizes}"


def _between(sweep: SizeSweep) -> str:
    """Return the crossover's interval as far as it lies within the sizes that were measured."""
    if sweep.low and sweep.high:
        return f"{_round(sweep.low)} to {_round(sweep.high)}"
    if sweep.low or sweep.high:
        return f"at least {_round(sweep.low)}" if sweep.low else f"at most {_round(sweep.high or 0)}"
    return "anywhere in the range"


def _round(size: float) -> str:
    return units.short(float(f"{size:.2g}"))


class CrossoverFigure(FigureKind):
    """Time over the size of a problem, with the crossovers."""

    position = 80

    def draw(self, findings: Findings) -> Iterator[FigureWithData]:
        """Yield a figure for each baseline, with all of its candidates."""
        groups: dict[tuple[str, ...], list[SizeSweep]] = {}
        for sweep in findings.size_sweeps:
            groups.setdefault((sweep.test, sweep.workload, sweep.framework, sweep.held, sweep.axis), []).append(sweep)
        yield from map(crossover_figure, groups.values())
