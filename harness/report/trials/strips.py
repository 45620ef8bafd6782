"""Small figures of one arm: how its samples are distributed, its ratios one after another, its warm-up.

They are drawn as SVG paths by hand: there are hundreds on a page, where a plotting library's would take megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness import units
from harness.reading.table import in_words
from harness.record import ArmRecord, Effect, Timing, TrialRecord
from harness.report.trials.scale import Scale

WIDTH, HEIGHT = 600, 60  # units of a drawing, as in the viewBox of its template; stretched to the room that there is
_MOST_POINTS = 40  # of a course in time, as many as a run keeps
_FURTHEST = 50.0  # the log of a ratio beyond which nobody measured one


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One small figure: paths by what they show, the axis' ends, what stands beside it, and all of it in words."""

    kind: str
    paths: list[tuple[str, str]]
    low: str
    high: str
    said: str
    label: str


@dataclass(frozen=True, kw_only=True)
class ArmStrips:
    """The small figures of one arm. A baseline has no ``ratios``, and older files keep no courses in time."""

    arm: str
    verdict: str
    samples: Strip
    ratios: Strip | None
    warmup: Strip | None


def arm_strips(trial: TrialRecord, noise: float) -> list[ArmStrips]:
    """Return the small figures of a trial's measured arms. Their samples share one axis."""
    timed = [(arm, arm.timing) for arm in trial.arms if arm.timing and arm.timing.quantiles_s]
    if not timed:
        return []
    usual = [_quantile(timing, share) for _, timing in timed for share in (0.05, 0.95)]
    axis = Scale.over(usual, WIDTH)
    return [_of_arm(arm, timing, axis, noise) for arm, timing in timed]


def _of_arm(arm: ArmRecord, timing: Timing, axis: Scale, noise: float) -> ArmStrips:
    return ArmStrips(
        arm=in_words(arm.levels),
        verdict=arm.effect.verdict if arm.effect else "",
        samples=samples(timing, axis),
        ratios=ratios(arm.effect, noise) if arm.effect and arm.effect.log_ratios_in_order else None,
        warmup=warmup(timing) if timing.warmup_s else None,
    )


def samples(timing: Timing, axis: Scale) -> Strip:
    """Draw the distribution of samples: the middle half as a box, 5 to 95 % as a line, each quantile as a tick."""
    five, q1, middle, q3, most = (_quantile(timing, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95))
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
        said=f"median {units.seconds(middle)}, middle half {halves}",
        label=(
            f"Seconds per iteration: median {units.seconds(middle)}, middle half {halves}, 5 to 95 % "
            f"{units.seconds(five)} to {units.seconds(most)}, all {units.seconds(min(timing.quantiles_s))} to "
            f"{units.seconds(max(timing.quantiles_s))}, {units.plural(timing.blocks, 'block')}"
        ),
    )


def ratios(effect: Effect, noise: float) -> Strip:
    """Draw the speedups of pairs in the order measured, around 1, with the interval and the noise zone."""
    logs = [_near(value) for value in _thinned(effect.log_ratios_in_order)]
    low, high = _log(effect.low), _log(effect.upper)
    zone = math.log1p(noise)
    ends = [value for value in (low, high) if abs(value) < _FURTHEST]
    axis = Scale.over([*logs, *ends, -zone, zone], HEIGHT)  # of logs, and 0 lies within: never logarithmic once more
    between = units.bounds(effect.low, effect.upper)
    third = max(1, len(logs) // 3)
    early, late = (units.speedup(math.exp(median(part))) for part in (logs[:third], logs[-third:]))
    counted = units.plural(effect.pairs, "pair")
    dots = zip(_places(len(logs)), logs, strict=True)
    return Strip(
        kind="ratios",
        paths=[
            ("zone", _band(axis, -zone, zone)),
            ("interval", _band(axis, low, high)),
            ("one", f"M0 {_down(axis, 0)}H{WIDTH}"),
            ("dots", "".join(f"M{x} {_down(axis, value)}h0" for x, value in dots)),
        ],
        low=units.speedup(math.exp(axis.low)),
        high=units.speedup(math.exp(axis.high)),
        said=f"{counted}: {units.speedup(effect.speedup)} ({between})",
        label=(
            f"Speedup of {counted} in order: {units.speedup(effect.speedup)}, interval {between}, first third {early}, "
            f"last third {late}, between {units.speedup(math.exp(min(logs)))} and {units.speedup(math.exp(max(logs)))}"
        ),
    )


def warmup(timing: Timing) -> Strip:
    """Draw the warm-up in order, with the median sample that followed, and the first call where it is in range."""
    course = _thinned(timing.warmup_s)
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
        said=f"first call {units.seconds(timing.cold_s)}; warm-up of {blocks}, {settled}",
        label=(
            f"Warm-up: first call {units.seconds(timing.cold_s)}, then {blocks} from {units.seconds(course[0])} to "
            f"{units.seconds(course[-1])} per iteration, {settled}; median sample {units.seconds(timing.median_s)}"
        ),
    )


def _quantile(timing: Timing, share: float) -> float:
    """Return one of the evenly spaced quantiles that were kept, the nearest."""
    ordered = sorted(timing.quantiles_s)
    return ordered[round(share * (len(ordered) - 1))]


def _thinned(values: Sequence[float]) -> Sequence[float]:
    return values[:: math.ceil(len(values) / _MOST_POINTS)]


def _places(count: int) -> list[int]:
    """Return evenly spaced places from left to right, with half a step at each end."""
    return [round(WIDTH * (place + 0.5) / count) for place in range(count)]


def _down(axis: Scale, value: float) -> int:
    return HEIGHT - axis.at(value)


def _band(axis: Scale, low: float, high: float) -> str:
    return f"M0 {_down(axis, low)}H{WIDTH}V{_down(axis, high)}H0Z"


def _log(ratio: float) -> float:
    return _near(math.log(ratio)) if ratio > 0 else -_FURTHEST


def _near(value: float) -> float:
    return min(max(value, -_FURTHEST), _FURTHEST)
