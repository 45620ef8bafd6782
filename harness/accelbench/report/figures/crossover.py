"""Time over size, with the crossover from which on a candidate pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from accelbench import units
from accelbench.report.figures.drawing import (
    BAND,
    SPEEDUP_HEADINGS,
    FigureKind,
    FigureWithData,
    describe_sample,
    format_subject,
)
from accelbench.report.figures.svg import MARKERS, PALETTE, Axis, Chart, Key, Panel, clip, log_places, ticks
from accelbench.report.labels import slug
from accelbench.results import Findings, SizeSweep
from accelbench.text import list_some

_CROSSOVER = (
    " Dashed: a crossover, interpolated between sizes; its interval, shaded, is what the speedups’ intervals allow."
)
_MOST_SAID = 3  # candidates in a title
_MOST_TICKS = 6
_HEIGHT_PT = 150
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
    findings = list_some(map(_pays, sweeps), _MOST_SAID, separator="; ")
    title = f"{format_subject(first.workload, first.held)}: {findings}"
    panel = Panel(x=_size_axis(first.axis, lines), y=_time_axis(lines), height_pt=_HEIGHT_PT)
    _shade(panel, sweeps)
    for place, arms in enumerate(lines):
        _draw(panel, arms, _look(place, arms))
    legend = [_look(place, arms) for place, arms in enumerate(lines)]
    drawn = pd.concat(lines)
    return FigureWithData(
        name=slug(f"size-{first.test.rpartition('::')[2].removeprefix('test_')}-{first.workload}-{first.held}"),
        title=title,
        alt=f"{title}. In detail: {' '.join(sweep.sentence for sweep in sweeps)}",
        note=f"Each point is the median of {describe_sample(drawn['blocks'], 'block')}. {BAND}"
        + (_CROSSOVER if any(sweep.crossover is not None for sweep in sweeps) else ""),
        data=drawn[[*_DRAWN]].rename(columns=_DRAWN | {"size": f"size: {first.axis}"}).reset_index(drop=True),
        about=(first.framework, first.arms["switched"].iloc[0]),
        figure=Chart(title=title, panels=[panel], legend=legend),
    )


def _baseline(sweeps: Sequence[SizeSweep]) -> pd.DataFrame:
    """Return what the candidates were compared with, in the columns of a candidate."""
    found = pd.concat([sweep.arms for sweep in sweeps]).drop_duplicates("size").sort_values("size")
    against = {sweep.against for sweep in sweeps}
    columns = {name: found[f"baseline_{name}"] for name in _DRAWN if f"baseline_{name}" in found}
    effect = dict.fromkeys(("speedup", "low", "high", "verdict", "pairs"))
    return found.assign(arm=against.pop() if len(against) == 1 else "baseline", **columns, **effect)


def _look(place: int, arms: pd.DataFrame) -> Key:
    colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
    return Key(label=clip(arms["arm"].iloc[0]), colour=colour, marker=marker, line=True)


def _draw(panel: Panel, arms: pd.DataFrame, look: Key) -> None:
    """Draw the median times of an arm over the sizes, with a band of the middle half of its blocks."""
    sizes, times = arms["size"].tolist(), arms["s_per_iteration"].tolist()
    lower, upper = (
        list(zip(sizes, arms[name].astype(float).tolist(), strict=True))
        for name in ("q1_s_per_iteration", "q3_s_per_iteration")
    )
    panel.area(lower, upper, look.colour)
    panel.line(zip(sizes, times, strict=True), look.colour, width=1.5)
    for size, time_s in zip(sizes, times, strict=True):
        title = f"{look.label} at {units.count(size)}: {units.seconds(time_s)}"
        panel.mark(size, time_s, look.marker, look.colour, size=6, title=title)


def _shade(panel: Panel, sweeps: Sequence[SizeSweep]) -> None:
    """Draw each crossover with its interval; an end that is not bounded reaches to the edge."""
    for place, sweep in enumerate(sweeps, start=1):
        if sweep.crossover is not None:
            colour = PALETTE[place % len(PALETTE)]
            panel.band(sweep.low or panel.x.low, sweep.high or panel.x.high, colour, opacity=0.12)
            panel.rule(sweep.crossover, colour, width=1, dash="4 3")


def _size_axis(name: str, lines: Sequence[pd.DataFrame]) -> Axis:
    """Return the axis of sizes, with a tick at every size while there are few of them."""
    sizes = sorted({float(size) for arms in lines for size in arms["size"]})
    least, most = _with_room(sizes)
    places = sizes if len(sizes) <= _MOST_TICKS else log_places(least, most, (1,))
    return Axis(low=least, high=most, kind="log", label=clip(f"{name} (log)"), ticks=ticks(places, units.short))


def _time_axis(lines: Sequence[pd.DataFrame]) -> Axis:
    """Return the axis of times, with enough ticks to read one."""
    columns = ("s_per_iteration", "q1_s_per_iteration", "q3_s_per_iteration")
    least, most = _with_room([time_s for arms in lines for name in columns for time_s in arms[name].dropna()])
    places = log_places(least, most, (1, 2, 5) if most / least < _FEW_DECADES else (1,))
    label = "time of one iteration"
    return Axis(low=least, high=most, kind="log", label=label, ticks=ticks(places, units.seconds))


def _with_room(values: Sequence[float]) -> tuple[float, float]:
    least, most = min(values), max(values)
    room = max(most / least, 1.1) ** 0.05
    return least / room, most * room


def _pays(sweep: SizeSweep) -> str:
    """Return from which size on a candidate pays."""
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
