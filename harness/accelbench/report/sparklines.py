"""Sparklines of one arm: how its samples are distributed, its ratios one after another, its warm-up, its visits.

They are written as SVG paths: a page has hundreds of them, for which a plotting library would take megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from accelbench import units
from accelbench.schema.result import ArmRecord, Effect, Timing, TrialRecord, Visit, VisitEffect
from accelbench.schema.verdict import FURTHEST, log_ratio, noise_zone
from accelbench.text import format_levels

_LOGARITHMIC_FROM = 5  # times from one end to the other
_MARGIN = 0.04  # of the axis, at each end


@dataclass(frozen=True, kw_only=True)
class Scale:
    """An axis of ``length`` units between two values; logarithmic where they lie far apart."""

    low: float
    high: float
    length: int
    logarithmic: bool = False

    @classmethod
    def over(cls, values: Iterable[float], length: int) -> Scale:
        """Return an axis that spans all values; equal values lie in its middle."""
        known = list(values)
        low, high = min(known), max(known)
        if low > 0 and high / low > _LOGARITHMIC_FROM:
            margin = (high / low) ** _MARGIN
            return cls(low=low / margin, high=high * margin, length=length, logarithmic=True)
        return cls.linear(known, length)

    @classmethod
    def linear(cls, values: Iterable[float], length: int) -> Scale:
        """Return a linear axis that spans all values, as of values that are logarithms already."""
        known = list(values)
        low, high = min(known), max(known)
        margin = (high - low) * _MARGIN if high > low else abs(low) * _MARGIN or 1.0
        return cls(low=low - margin, high=high + margin, length=length)

    def at(self, value: float) -> int:
        """Return the position of a value; a value beyond an end is drawn at that end."""
        clamped = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(clamped / self.low) / math.log(self.high / self.low)
        else:
            share = (clamped - self.low) / (self.high - self.low)
        return round(share * self.length)

    def holds(self, value: float) -> bool:
        """Return whether a value lies between the ends."""
        return self.low <= value <= self.high


WIDTH, HEIGHT = 600, 60  # units of a drawing, as in the viewBox of its template; stretched to the room that there is
_MOST_POINTS = 40  # of a course in time, as many as a run keeps


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One small figure: paths by what they show, the ends of the axis, the caption, and a label for screen readers.

    ``points`` are paths with a text of their own, which a page shows where a mouse rests on them.
    """

    kind: str
    paths: list[tuple[str, str]]
    low: str
    high: str
    caption: str
    label: str
    points: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ArmStrips:
    """The small figures of one arm. A baseline has no ``ratios`` and no ``visits``; some files hold only samples."""

    arm: str
    verdict: str
    samples: Strip
    ratios: Strip | None
    warmup: Strip | None
    visits: Strip | None


def arm_strips(trial: TrialRecord, noise: float) -> list[ArmStrips]:
    """Return the small figures of a trial's measured arms. Their samples share one axis."""
    timed = [(arm, arm.timing) for arm in trial.arms if arm.timing and arm.timing.quantiles_s]
    if not timed:
        return []
    usual = [timing.quantile(share) for _, timing in timed for share in (0.05, 0.95)]
    axis = Scale.over(usual, WIDTH)
    return [_of_arm(arm, timing, axis, noise, trial.visits) for arm, timing in timed]


def _of_arm(arm: ArmRecord, timing: Timing, axis: Scale, noise: float, all_visits: Sequence[Visit]) -> ArmStrips:
    return ArmStrips(
        arm=format_levels(arm.levels),
        verdict=arm.effect.verdict if arm.effect else "",
        samples=samples(timing, axis),
        ratios=ratios(arm.effect, noise) if arm.effect and arm.effect.log_ratios_in_order else None,
        warmup=warmup(timing) if timing.warmup_s else None,
        visits=visits(arm.effect, all_visits, noise) if arm.effect and arm.effect.visits else None,
    )


def samples(timing: Timing, axis: Scale) -> Strip:
    """Draw the distribution of samples: the middle half as a box, 5 to 95 % as a line, each quantile as a tick."""
    five, q1, middle, q3, most = (timing.quantile(share) for share in (0.05, 0.25, 0.5, 0.75, 0.95))
    ticks = (axis.at(value) for value in timing.quantiles_s if axis.holds(value))
    left, right = axis.at(q1), axis.at(q3)
    halves = f"{units.seconds(q1)} to {units.seconds(q3)}"
    return Strip(
        kind="samples",
        paths=[
            ("range", f"M{axis.at(five)} 30H{axis.at(most)}"),
            ("box", f"M{left} 14H{right}V46H{left}Z"),
            ("ticks", "".join(f"M{x} 20v20" for x in dict.fromkeys(ticks))),
            ("median", f"M{axis.at(middle)} 6v48"),
        ],
        low=units.seconds(axis.low),
        high=units.seconds(axis.high),
        caption=f"median {units.seconds(middle)}, middle half {halves}",
        label=(
            f"Seconds per iteration: median {units.seconds(middle)}, middle half {halves}, 5 to 95 % "
            f"{units.seconds(five)} to {units.seconds(most)}, all {units.seconds(min(timing.quantiles_s))} to "
            f"{units.seconds(max(timing.quantiles_s))}, {units.plural(timing.blocks, 'block')}"
        ),
    )


def ratios(effect: Effect, noise: float) -> Strip:
    """Draw the speedups of pairs in the order measured, around 1, with the interval and the noise zone."""
    logs = [_near(value) for value in _thin(effect.log_ratios_in_order)]
    zone = math.log(noise_zone(noise)[1])
    axis = Scale.linear([*logs, *_ends(effect), -zone, zone], HEIGHT)
    between = units.bounds(effect.low, effect.upper)
    third = max(1, len(logs) // 3)
    early, late = (units.speedup(math.exp(median(part))) for part in (logs[:third], logs[-third:]))
    counted = units.plural(effect.pairs, "pair")
    dots = zip(_places(len(logs)), logs, strict=True)
    return Strip(
        kind="ratios",
        paths=[
            *_ground(axis, effect, zone),
            ("dots", "".join(f"M{x} {_down(axis, value)}h0" for x, value in dots)),
        ],
        low=units.speedup(math.exp(axis.low)),
        high=units.speedup(math.exp(axis.high)),
        caption=f"{counted}: {units.speedup(effect.speedup)} ({between})",
        label=(
            f"Speedup of {counted} in order: {units.speedup(effect.speedup)}, interval {between}, first third {early}, "
            f"last third {late}, between {units.speedup(math.exp(min(logs)))} and {units.speedup(math.exp(max(logs)))}"
        ),
    )


def visits(effect: Effect, all_visits: Sequence[Visit], noise: float) -> Strip:
    """Draw the speedup that each visit shows, in their order, with the interval, and the noise zone where it is near.

    A visit that was odd is a hollow point, smaller where the interval leaves it out.
    """
    seen = effect.visits[:_MOST_POINTS]
    logs = [_near(each.log_speedup) for each in seen]
    states = [all_visits[each.visit] if each.visit < len(all_visits) else Visit(begun_s=0.0) for each in seen]
    axis = Scale.linear([*logs, *_ends(effect)], HEIGHT)
    points = []
    for x, log, shown, state in zip(_places(len(logs)), logs, seen, states, strict=True):
        kind = "point" if not state.odd else "odd point" if shown.in_interval else "odd left-out point"
        points.append((kind, f"M{x} {_down(axis, log)}h0", _describe_visit(shown, state)))
    counted, between = units.plural(len(effect.visits), "visit"), units.bounds(effect.low, effect.upper)
    kept = sum(each.in_interval for each in effect.visits)
    left_out = f", {kept} in the interval" if kept < len(effect.visits) else ""
    odd = f", {units.count(count)} odd" if (count := sum(bool(state.odd) for state in states)) else ""
    joined = f"; with {units.plural(effect.joined_runs, 'earlier run')}" if effect.joined_runs else ""
    return Strip(
        kind="visits",
        paths=_ground(axis, effect, math.log(noise_zone(noise)[1])),
        points=points,
        low=units.speedup(math.exp(axis.low)),
        high=units.speedup(math.exp(axis.high)),
        caption=f"{counted}{odd}{left_out}{joined}",
        label=(
            f"Speedup of {counted}{odd}{left_out}{joined}, interval {between}: "
            + "; ".join(units.speedup(math.exp(log)) for log in logs)
        ),
    )


def _describe_visit(shown: VisitEffect, state: Visit) -> str:
    """Return what one visit showed, how many pairs it rests on, and how the machine was."""
    parts = [
        f"visit {shown.visit + 1}: {units.speedup(math.exp(_near(shown.log_speedup)))}",
        units.plural(shown.pairs, "pair"),
        f"core to core {units.seconds(state.core_latency_s)}" if state.core_latency_s is not None else "",
        "a repetition" if state.is_repetition else "",
        "" if shown.in_interval else "left out of the interval",
    ]
    return "; ".join([", ".join(filter(None, parts)), *map(str, state.odd)])


def warmup(timing: Timing) -> Strip:
    """Draw the warm-up in order, with the median sample that followed, and the first call where it is in range."""
    course = _thin(timing.warmup_s)
    axis = Scale.over([*course, timing.median_s], HEIGHT)
    first, *places = _places(len(course) + 1)
    line = "L".join(f"{x} {_down(axis, value)}" for x, value in zip(places, course, strict=True))
    paths = [("steady", f"M0 {_down(axis, timing.median_s)}H{WIDTH}"), ("course", f"M{line}")]
    if axis.holds(timing.cold_s):
        paths.append(("first", f"M{first} {_down(axis, timing.cold_s)}h0"))
    settled = "settled" if timing.warmup_settled else "not settled"
    blocks = units.plural(timing.warmup_blocks, "block")
    return Strip(
        kind="warmup",
        paths=paths,
        low=units.seconds(axis.low),
        high=units.seconds(axis.high),
        caption=f"first call {units.seconds(timing.cold_s)}; warm-up of {blocks}, {settled}",
        label=(
            f"Warm-up: first call {units.seconds(timing.cold_s)}, then {blocks} from {units.seconds(course[0])} to "
            f"{units.seconds(course[-1])} per iteration, {settled}; median sample {units.seconds(timing.median_s)}"
        ),
    )


def _thin(values: Sequence[float]) -> Sequence[float]:
    return values[:: math.ceil(len(values) / _MOST_POINTS)]


def _places(count: int) -> list[int]:
    """Return evenly spaced places from left to right, with half a step at each end."""
    return [round(WIDTH * (place + 0.5) / count) for place in range(count)]


def _down(axis: Scale, value: float) -> int:
    return HEIGHT - axis.at(value)


def _ends(effect: Effect) -> list[float]:
    """Return the logs of an interval's ends, without those that are open."""
    return [value for value in (_log(effect.low), _log(effect.upper)) if abs(value) < FURTHEST]


def _ground(axis: Scale, effect: Effect, zone: float) -> list[tuple[str, str]]:
    """Return what lies behind log speedups: the interval, and the noise zone and the line at 1 where they are near."""
    return [
        *([("zone", _band(axis, -zone, zone))] if axis.holds(-zone) or axis.holds(0) or axis.holds(zone) else []),
        ("interval", _band(axis, _log(effect.low), _log(effect.upper))),
        *([("one", f"M0 {_down(axis, 0)}H{WIDTH}")] if axis.holds(0) else []),
    ]


def _band(axis: Scale, low: float, high: float) -> str:
    return f"M0 {_down(axis, low)}H{WIDTH}V{_down(axis, high)}H0Z"


def _log(ratio: float) -> float:
    return _near(log_ratio(ratio))


def _near(value: float) -> float:
    return min(max(value, -FURTHEST), FURTHEST)
