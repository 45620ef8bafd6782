"""The roofline of a program: the rate of each operator over its operations per byte, below this machine's ceilings.

An operator below the slope is limited by memory at best, one below the flat roof by arithmetic. Williams, Waterman and
Patterson 2009, *Communications of the ACM* 52(4), 65.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from accelbench.errors import Unavailable
from accelbench.report.figures.svg import INK, MARKERS, PALETTE, Axis, Chart, Key, Panel, log_places, ticks
from accelbench.schema.result import Ceiling
from accelbench.units import percent, short, significant

SHOWN = 8  # operators, those with most time first
HEIGHT_PT = 190
LEAST_OPERATIONS_PER_BYTE = 1e-2  # an operator that hardly computes stands at this end


class TimeShare(Protocol):
    """A share of the time of a step."""

    @property
    def share(self) -> float:
        """The share itself, between 0 and 1."""


class Operator(Protocol):
    """An operator, as a profile counts it: all of its calls in one iteration."""

    @property
    def name(self) -> str:
        """What the framework calls it."""

    @property
    def seconds(self) -> float:
        """Its time."""

    @property
    def share(self) -> TimeShare:
        """Its share of the time."""

    @property
    def operations(self) -> float | None:
        """What it computes at least, None where that is not known."""

    @property
    def moved_bytes(self) -> float | None:
        """What it passes to and from memory at least, None where that is not known."""


@dataclass(frozen=True, kw_only=True)
class RooflinePoint:
    """An operator's share of the time, and its operations per byte and per second."""

    name: str
    share: float
    per_byte: float
    per_s: float


def roofline_chart(program: str, device: str, operators: Sequence[Operator], ceilings: Sequence[Ceiling]) -> Chart:
    """Draw the operators with most time below the ceilings of the device on which they ran.

    Raises:
        Unavailable: no operator's operations and bytes are known, or the device has no ceilings.
    """
    known = list(_list_points(operators))
    points = known[:SHOWN]
    memory = [each for each in ceilings if each.name == f"{device} memory"]
    peaks = _find_peaks(ceilings, device)
    if not points:
        raise Unavailable(f"no roofline of {program}: the profile counts no operations and bytes")
    if not memory or not peaks:
        raise Unavailable(f"no roofline of {program}: the ceilings of {device} are unknown")
    panel, legend = _make_panel(points, memory, peaks), []
    for place, point in enumerate(points):
        marker, colour = MARKERS[place % len(MARKERS)], PALETTE[place % len(PALETTE)]
        share = percent(point.share)
        detail = f"{significant(point.per_byte)} operations per byte, {short(point.per_s)} per second"
        title = f"{point.name}, {share} of the time: {detail}"
        panel.mark(point.per_byte, point.per_s, marker, colour, size=7, title=title)
        legend.append(Key(label=f"{point.name}: {share}", colour=colour, marker=marker))
    return Chart(title=f"{program}: {_state_finding(known, memory, peaks)}", panels=[panel], legend=legend, columns=2)


def _find_peaks(ceilings: Sequence[Ceiling], device: str) -> dict[str, float]:
    """Return the operations per second of each precision, where the cores lie best."""
    peaks: dict[str, float] = {}
    for each in ceilings:
        if each.name.startswith(f"{device} matrix "):
            precision = each.name.removeprefix(f"{device} matrix ").partition(",")[0]
            peaks[precision] = max(each.per_s, peaks.get(precision, 0.0))
    return peaks


def _list_points(operators: Sequence[Operator]) -> Iterator[RooflinePoint]:
    for each in operators:
        if each.operations and each.moved_bytes and each.seconds > 0:
            per_byte = max(each.operations / each.moved_bytes, LEAST_OPERATIONS_PER_BYTE)
            yield RooflinePoint(
                name=each.name, share=each.share.share, per_byte=per_byte, per_s=each.operations / each.seconds
            )


def _make_panel(points: Sequence[RooflinePoint], memory: Sequence[Ceiling], peaks: Mapping[str, float]) -> Panel:
    """Return the axes with the roofs: the caches' and the memory's slope, and the peak of each precision."""
    highest = max(peaks.values())
    slowest, fastest = (choose(memory, key=lambda each: each.per_s) for choose in (min, max))
    low_x = min(LEAST_OPERATIONS_PER_BYTE * 10, *(point.per_byte for point in points)) / 2
    high_x = max(10 * highest / slowest.per_s, *(point.per_byte for point in points)) * 2
    low_y = min(low_x * slowest.per_s, *(point.per_s for point in points)) / 2
    high_y = max(highest, *(point.per_s for point in points)) * 3
    panel = Panel(
        x=Axis(
            low=low_x,
            high=high_x,
            kind="log",
            label="operations per byte (log)",
            ticks=ticks(log_places(low_x, high_x, (1,)), short),
        ),
        y=Axis(
            low=low_y,
            high=high_y,
            kind="log",
            label="operations per second (log)",
            ticks=ticks(log_places(low_y, high_y, (1,)), short),
        ),
        height_pt=HEIGHT_PT,
    )
    slopes = {"memory": slowest} | ({"cache": fastest} if fastest is not slowest else {})
    for name, ceiling in slopes.items():
        start, end = max(low_x, low_y / ceiling.per_s), highest / ceiling.per_s
        panel.line([(start, start * ceiling.per_s), (end, highest)], INK, dash="" if name == "memory" else "4 3")
        panel.text(end / 4, highest / 4, name, anchor="end", dx=-6)
    for precision, per_s in peaks.items():
        panel.line([(per_s / slowest.per_s, per_s), (high_x, per_s)], INK)
        panel.text(high_x, per_s, precision, anchor="end", dx=-2, dy=-6)
    return panel


def _state_finding(points: Sequence[RooflinePoint], memory: Sequence[Ceiling], peaks: Mapping[str, float]) -> str:
    """Return how much of the time the operators left of the ridge take, where memory is the roof."""
    ridge = max(peaks.values()) / min(each.per_s for each in memory)
    left = sum(each.share for each in points if each.per_byte < ridge)
    right = sum(each.share for each in points if each.per_byte >= ridge)
    text = f"memory is the roof for {percent(left)} of the time, arithmetic for {percent(right)}"
    return text.replace(" %", "\u00a0%")  # they stay on one line
