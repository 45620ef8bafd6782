"""Known response surfaces on a fake clock: for testing the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from fake_device import FakeClock

from accelbench.advise.evaluate import CHECKED_STEPS, THREE_PAIRS_ALPHA, count_builds
from accelbench.advise.observations import Observation
from accelbench.advise.program_search import Iteration, ProgramSearch
from accelbench.advise.search import ALPHA, Search
from accelbench.advise.space import Configuration, SearchAxis, SearchSpace
from accelbench.measuring.statistics import fewest_pairs

OVERHEAD_S = 0.05  # of building, checking and pricing an arm
START_S = 8.0  # of a worker, before a program's baseline is measured
SLOW_START_S = 12.0  # of compiling one
FULL_LOOK_S = 1.0  # at an arm, where every configuration is measured
Speedup = Callable[[Mapping[str, str]], float]


def axis(name: str, *levels: str, computes_other: bool = False, **facts: Any) -> SearchAxis:
    """Return an axis whose levels cost no error."""
    computes = levels if computes_other else ("",) * len(levels)
    tolerances = (0.0,) * len(levels)
    return SearchAxis(technique=name, levels=levels, computes=("", *computes[1:]), tolerances=tolerances, **facts)


class Surface:
    """A machine on which every configuration's speedup over the baseline is known, and is observed with noise.

    Each build of a configuration, one for every trial, differs: ``build_noise`` is the standard deviation.
    """

    def __init__(
        self,
        space: SearchSpace,
        speedup: Speedup,
        *,
        seed: int,
        noise: float = 0.02,
        build_noise: float = 0.0,
        step_s: float = 0.004,
    ) -> None:
        self.space = space
        self.speedup = speedup
        self.clock = FakeClock()
        self.rng = Random(seed)
        self.noise = noise
        self.build_noise = build_noise
        self.step_s = step_s
        self.memory_bytes: Callable[[Mapping[str, str]], float] = lambda _: 1.0
        self.error: Callable[[Mapping[str, str]], float] = lambda _: 0.0

    def of(self, configuration: Configuration) -> float:
        return self.speedup(self.space.levels(configuration))

    def evaluate(
        self, configurations: Sequence[Configuration], look_s: float, _: float
    ) -> list[dict[Configuration, Observation]]:
        steps_s = [self.step_s / self.of(each) for each in configurations]
        rounds = max(3, round(look_s * len(configurations) / sum(steps_s)))
        slow_s = SLOW_START_S * sum(map(self.space.is_slow_to_start, configurations))
        self.clock.advance(OVERHEAD_S * len(configurations) + slow_s + rounds * sum(steps_s))
        return [self._observe(configurations, steps_s, rounds)]

    def _observe(
        self, configurations: Sequence[Configuration], steps_s: Sequence[float], rounds: int
    ) -> dict[Configuration, Observation]:
        """Return what one build of each shows."""
        built = [math.log(step_s) + self.rng.gauss(0, self.build_noise) for step_s in steps_s]
        taken = [[usual + self._disturbed() for _ in range(rounds)] for usual in built]
        return {
            each: Observation(
                log_ratios=tuple(a - b for a, b in zip(taken[0], mine, strict=True)) if place else (),
                step_s=steps_s[place],
                memory_bytes=self.memory_bytes(self.space.levels(each)),
                error=self.error(self.space.levels(each)),
            )
            for place, (each, mine) in enumerate(zip(configurations, taken, strict=True))
        }

    def judge(
        self, configurations: Sequence[Configuration], look_s: float, _: float
    ) -> list[dict[Configuration, Observation]]:
        """Judge as ``evaluate`` does, by the fewest pairs that decide; what starts quickly is built several times."""
        steps_s = [self.step_s / self.of(each) for each in configurations]
        is_built_once = len(configurations) == 1 or any(map(self.space.is_slow_to_start, configurations))
        rebuilt = Iteration(rebuild_s=OVERHEAD_S + self.step_s, step_s=self.step_s)
        builds = 1 if is_built_once else count_builds(look_s, rebuilt)
        fewest = fewest_pairs(ALPHA if len(configurations) > 1 else THREE_PAIRS_ALPHA)
        wanted = max(look_s * len(configurations) / sum(steps_s), fewest)
        rounds = math.ceil(wanted / builds)
        slow_s = SLOW_START_S * sum(map(self.space.is_slow_to_start, configurations))
        overhead_s = builds * (OVERHEAD_S + CHECKED_STEPS * self.step_s) * len(configurations)
        self.clock.advance(overhead_s + slow_s + builds * rounds * sum(steps_s))
        looks = [self._observe(configurations, steps_s, rounds) for _ in range(builds)]
        return [{each: replace(found, memory_bytes=None) for each, found in look.items()} for look in looks]

    def confirm(
        self, configurations: Sequence[Configuration], look_s: float, patience_s: float
    ) -> list[dict[Configuration, Observation]]:
        """Judge as ``judge`` does, and weigh each configuration for memory."""
        weighed = {each: self.memory_bytes(self.space.levels(each)) for each in configurations}
        looks = self.judge(configurations, look_s, patience_s)
        return [{each: replace(found, memory_bytes=weighed[each]) for each, found in look.items()} for look in looks]

    def program_search(self, budget_s: float, **options: object) -> ProgramSearch:
        """Return a search for a user's program, whose start took a while."""
        start_s = self.clock()
        self.clock.advance(START_S)
        usual: dict[str, Any] = {
            "space": self.space,
            "evaluate": self.evaluate,
            "judge": self.judge,
            "confirm": self.confirm,
            "start_s": start_s,
            "budget_s": budget_s,
            "clock": self.clock,
            "rng": Random(self.rng.random()),
        }
        return ProgramSearch(**usual | options)

    def _disturbed(self) -> float:
        burst = 1.0 if self.rng.random() < 0.02 else 0.0
        return self.rng.gauss(0, self.noise) + burst

    @property
    def exhaustive_s(self) -> float:
        """What measuring every configuration beside the baseline takes."""
        return self.space.size * 2 * (OVERHEAD_S + FULL_LOOK_S)

    @property
    def best(self) -> float:
        return max(self.of(each) for each in self.space.configurations())

    def search(self, budget_s: float, **options: object) -> Search:
        rng = Random(self.rng.random())
        return Search(space=self.space, evaluate=self.evaluate, budget_s=budget_s, clock=self.clock, rng=rng, **options)
