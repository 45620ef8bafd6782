"""What surrounds a step costs something: its reset, its contexts, its feed, and callbacks of the garbage collector.

Timed blocks do not contain these, so work that is moved there costs nothing. Each is timed beside the baseline's. An
arm whose surroundings cost more by ``MOVED_SHARE`` of what its step saves over the baseline's has a doubtful speed; one
whose step is proved to live on them has none. Callbacks of the collector have no honest use as dear as that.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from accelbench.core import Arm

MOVED_SHARE = 0.5  # of the time that a step saves over the baseline's
LEAST_SAVING = 0.2  # of the baseline's step; a smaller saving is hardly worth the trouble, and noise may look like it
LEAST_S = 50e-6  # what costs less is not worth moving, and caches that were cold may cost as much


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Seconds that what surrounds an arm's steps takes, once; 0 for what it has not."""

    reset_s: float = 0.0
    contexts_s: float = 0.0
    feed_s: float = 0.0
    collector_s: float = 0.0

    def dearest(self, others: Surroundings) -> tuple[str, float]:
        """Return what costs most more than with another arm, by its field, and how much more."""
        extra = {each.name: getattr(self, each.name) - getattr(others, each.name) for each in fields(self)}
        most = max(extra, key=lambda name: extra[name])
        return most, extra[most]


PLACES = {
    "reset_s": "its reset",
    "contexts_s": "entering and leaving its contexts",
    "feed_s": "feeding it with inputs",
    "collector_s": "its callback of the garbage collector",
}


@dataclass(frozen=True, kw_only=True)
class MovedCost:
    """What surrounds an arm's steps costs more than the baseline's by ``outside_s``; a step saves ``saved_s``."""

    part: str
    outside_s: float
    saved_s: float

    def values(self) -> dict[str, str | float]:
        """Return the values of the reasons that tell of this cost."""
        return {"place": PLACES[self.part], "outside_s": self.outside_s, "saved_s": self.saved_s}


def find_moved_cost(
    own: Surroundings, step_s: float, baseline: Surroundings, baseline_step_s: float
) -> MovedCost | None:
    """Return what of an arm's surroundings costs so much more than the baseline's that work may have moved there."""
    saved_s = baseline_step_s - step_s
    part, outside_s = own.dearest(baseline)
    if saved_s < LEAST_SAVING * baseline_step_s or outside_s < max(LEAST_S, MOVED_SHARE * saved_s):
        return None
    return MovedCost(part=part, outside_s=outside_s, saved_s=saved_s)


def callbacks_s(callbacks: Sequence[Callable[..., object]], clock: Callable[[], float], readings: int) -> float:
    """Return by how much these callbacks lengthen a collection."""
    if not any(each in gc.callbacks for each in callbacks):
        return 0.0
    with_s = shortest_s(gc.collect, clock, readings)
    standing = gc.callbacks[:]
    gc.callbacks[:] = [each for each in standing if each not in callbacks]
    try:
        return max(0.0, with_s - shortest_s(gc.collect, clock, readings))
    finally:
        gc.callbacks[:] = standing


def shortest_s(run: Callable[[], object], clock: Callable[[], float], readings: int) -> float:
    """Return the shortest of the times of some calls."""
    times_s = []
    for _ in range(readings):
        start = clock()
        run()
        times_s.append(clock() - start)
    return min(times_s)


def enter(arm: Arm) -> None:
    """Enter the arm's contexts and leave them."""
    with arm.enter():
        pass
