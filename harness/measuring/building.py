"""Arms are built, and built afresh: each time elsewhere in memory, and often where that is cheap.

Where arrays come to lie can make the same code truly faster or slower, by some per cent, on some processors by 40 %.
Memory that is freed is handed out again at the same place: arms that are merely built again keep their accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from harness.attribution.fit import batches_for
from harness.experiment import Plan
from harness.frameworks import Framework
from harness.measuring.entrant import Entrant
from harness.measuring.spending import Spending
from harness.measuring.stopped import StoppedError
from harness.measuring.stopwatch import Stopwatch

BUILDS = 8  # enough for an interval that carries the spread between them
BUILDING_SHARE = 0.25  # of the trial's budget may go into building, first calls and checks of so many
SPANS = 2  # as long in all as with few builds, so that the neighbours of each can be counted
GAPS = range(10, 23)  # one of each size from 2**10 to 2**23 bytes: larger arrays get other pages whenever they are made


def built_often(plan: Plan, arms: int, again_s: float) -> Plan:
    """Return the plan with many builds, where to have so many arms built once more takes ``again_s`` and is cheap.

    A plan of one build stays as it is; so does that of a single arm. Whole rounds get as many builds as there will be
    batches, by which an attribution is judged.
    """
    builds = batches_for(arms) if plan.whole_rounds else BUILDS
    if plan.builds == 1 or arms == 1 or builds * again_s > BUILDING_SHARE * plan.budget_s * arms:
        return plan
    return replace(plan, builds=builds, min_span_s=SPANS * plan.min_span_s)


class Elsewhere:
    """Gaps of random sizes, held as long as this lives and never touched, so that what is built next lies elsewhere."""

    def __init__(self, coin: Random) -> None:
        self._coin = coin
        self._gaps: list[np.ndarray] = []

    def places(self, arms: int, *, backwards: bool = False) -> Iterator[int]:
        """Yield the places of so many arms in the order in which they are to be built, and move before each."""
        for place in sorted(range(arms), reverse=backwards):
            self.move()
            yield place

    def move(self) -> None:
        """Leave more gaps: large ones where freed arrays lay, small ones between those to come."""
        self._gaps += [np.empty(self._coin.randrange(2**size, 2 ** (size + 1)), np.uint8) for size in reversed(GAPS)]


class Building:
    """Builds the arms of one trial, with the same seed every time."""

    def __init__(
        self, framework: Framework, seed: int, *, stopwatch: Stopwatch, spending: Spending, coin: Random
    ) -> None:
        self.framework = framework
        self.seed = seed
        self.stopwatch = stopwatch
        self.spending = spending
        self.elsewhere = Elsewhere(coin)

    def build(self, entrant: Entrant) -> None:
        """Build an arm."""
        start = self.stopwatch.clock()
        with self.spending.on("build"):
            self.framework.seed(self.seed)
            entrant.arm = entrant.build()
            self.framework.synchronize()
        entrant.watched, entrant.work = entrant.built.watched, entrant.built.work
        entrant.build_s = entrant.build_s or self.stopwatch.clock() - start

    def build_elsewhere(self, entrant: Entrant) -> None:
        """Build an arm where nothing of it lay before."""
        self.elsewhere.move()
        self.build(entrant)

    def rebuild(self, standing: Sequence[Entrant], *, backwards: bool) -> None:
        """Build arms afresh, and elsewhere, in their order or from the last to the first.

        Raises:
            StoppedError: an arm could not be built again.
        """
        for entrant in standing:
            entrant.close()
        self.framework.free()
        for place in self.elsewhere.places(len(standing), backwards=backwards):
            with StoppedError.naming(place):
                self.build(standing[place])

    def plan(self, plan: Plan, arms: int) -> Plan:
        """Return the plan for arms that were all built, called and checked: with many builds, where these are cheap."""
        spent_s = self.spending.so_far()
        return built_often(plan, arms, sum(spent_s.get(kind, 0.0) for kind in ("build", "cold calls", "checks")))
