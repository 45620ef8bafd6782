"""The searches: every configuration measured, the advice, random search, and Optuna's default sampler."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import optuna

from accelbench.advise import Request, advise
from accelbench.advise.observations import Observations, TrialObservations
from accelbench.advise.search import MAX_CANDIDATES, PATIENCE
from accelbench.advise.session import Preparation
from accelbench.advise.space import Configuration
from accelbench.measuring.workers.pool import Pool

LONGEST_STEP_S = 4.0  # of a reference
BEST = 3  # configurations are timed once more
CAREFUL = 2  # times as long
FINAL_S, FINAL_BUILDS = 1.5, 3  # seconds an arm and builds, for the final comparison of what was chosen
LOOK_S = 0.1  # of a search that measures one configuration at a time, about what an advice takes for its first looks
WORST = math.log(1e-3)  # reported to a search for a configuration that cannot be measured


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The measurements of every configuration of a workload, and the seconds that they took."""

    preparation: Preparation
    observations: Observations
    spent_s: float

    @property
    def best(self) -> list[Configuration]:
        """The best few, the fastest first."""
        return [each for each in self.observations.rank() if each != self.observations.baseline][:BEST]

    def patience_s(self, configuration: Configuration) -> float:
        """Return after how many seconds an arm is given up, by the step of its reference."""
        reference = self.observations.first_looks[self.preparation.space.reference(configuration)]
        return max(LOOK_S, PATIENCE * (reference.step_s or 0.0))


def measure_grid(preparation: Preparation, look_s: float) -> Grid:
    """Measure every configuration beside the one that computes the same with as little switched as possible.

    The best are then timed side by side again, for longer; otherwise a lucky one would lead.
    """
    space, observations, start_s = (
        preparation.space,
        Observations(baseline=preparation.space.baseline),
        time.monotonic(),
    )
    baseline, *others = space.references()
    for chunk in _chunks(others) or [[]]:
        _add(observations, preparation.evaluator([baseline, *chunk], look_s, LONGEST_STEP_S))
    for reference in [baseline, *others]:
        same_output = [each for each in space.configurations() if space.reference(each) == reference != each]
        patience_s = max(look_s, PATIENCE * (observations.first_looks[reference].step_s or 0.0))
        for chunk in _chunks(same_output):
            _add(observations, preparation.evaluator([reference, *chunk], look_s, patience_s))
    grid = Grid(preparation=preparation, observations=observations, spent_s=0.0)
    _add(observations, preparation.evaluator([baseline, *grid.best], CAREFUL * look_s, LONGEST_STEP_S))
    return replace(grid, spent_s=time.monotonic() - start_s)


def settle(grid: Grid, chosen: Iterable[Configuration]) -> dict[Configuration, float]:
    """Time the grid's best and all chosen configurations again, side by side and for longer; return their speedups.

    No choice rests on these times, so they favour no search. A configuration that cannot be measured has no speedup.
    """
    baseline, observations = grid.observations.baseline, Observations(baseline=grid.observations.baseline)
    leader, *others = dict.fromkeys([*grid.best, *chosen])
    for chunk in _chunks([each for each in others if each != baseline], MAX_CANDIDATES - 1) or [[]]:
        for _ in range(FINAL_BUILDS):
            _add(observations, grid.preparation.evaluator([baseline, leader, *chunk], FINAL_S, LONGEST_STEP_S))
    return {each: math.exp(observations.estimate(each)) for each in observations.rank()}


def by_advice(request: Request, _: Grid, pool: Pool, budget_s: float, seed: int) -> Configuration:
    """Let accelbench advise."""
    advice = advise(replace(request, budget_s=budget_s, seed=seed), pool=pool)
    return tuple(advice.levels.values())


def by_chance(_: Request, grid: Grid, __: Pool, budget_s: float, seed: int) -> Configuration:
    """Measure configurations in random order, none twice, and return the best."""
    order = list(grid.preparation.space.configurations())
    Random(seed).shuffle(order)
    measured: dict[Configuration, float] = {}
    for _number in _within(budget_s):
        if len(measured) == len(order):
            break
        chosen = order[len(measured)]
        measured[chosen] = _look_at(grid, chosen)
    return max(measured, key=measured.__getitem__)


def by_optuna(_: Request, grid: Grid, __: Pool, budget_s: float, seed: int) -> Configuration:
    """Measure what Optuna's default sampler, TPE, proposes, and return the best."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    axes = grid.preparation.space.axes
    for _number in _within(budget_s):
        trial = study.ask()
        chosen = tuple(trial.suggest_categorical(axis.technique, axis.levels) for axis in axes)
        study.tell(trial, _look_at(grid, chosen))
    return tuple(study.best_params[axis.technique] for axis in axes)


SEARCHES: dict[str, Callable[[Request, Grid, Pool, float, int], Configuration]] = {
    "advise": by_advice,
    "random search": by_chance,
    "Optuna (TPE)": by_optuna,
}


def _within(budget_s: float) -> Iterator[int]:
    """Count turns while one more, as long as those before it, fits into the budget; at least one."""
    start_s, number = time.monotonic(), 0
    while number == 0 or (time.monotonic() - start_s) * (number + 1) / number <= budget_s:
        yield number
        number += 1


def _look_at(grid: Grid, configuration: Configuration) -> float:
    """Return the log speedup in a look beside the baseline, or `WORST` where it cannot be measured."""
    baseline = grid.preparation.space.baseline
    if configuration == baseline:
        return 0.0
    (trial,) = grid.preparation.evaluator([baseline, configuration], LOOK_S, grid.patience_s(configuration))
    ratios = trial[configuration].log_ratios
    return float(np.median(ratios)) if ratios else WORST


def _add(observations: Observations, trials: Iterable[TrialObservations]) -> None:
    for trial in trials:
        observations.add(trial)


def _chunks(configurations: list[Configuration], most: int = MAX_CANDIDATES) -> list[list[Configuration]]:
    return [configurations[start : start + most] for start in range(0, len(configurations), most)]
