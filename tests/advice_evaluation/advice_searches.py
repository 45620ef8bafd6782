"""The searches: every configuration measured, the advice, random search, and Optuna's default sampler."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import optuna

from harness.advice.advising import Prepared, Request, advise
from harness.advice.board import Board, Seen
from harness.advice.racing import HEAT, PATIENCE
from harness.advice.space import Configuration
from harness.measuring.pool import Pool

LONGEST_STEP_S = 4.0  # of a reference
BEST = 3  # configurations are timed once more
CAREFUL = 2  # times as long
FINAL_S, FINAL_BUILDS = 1.5, 3  # an arm, built afresh so often, when it is settled how far apart what was chosen is
LOOK_S = 0.1  # of a search that measures one configuration at a time, about what an advice takes for its first looks
WORST = math.log(1e-3)  # what a search that asks for a number is told of a configuration that has none


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every configuration of a workload, measured: its speedup over the baseline, and what all of them took."""

    prepared: Prepared
    board: Board
    spent_s: float

    @property
    def best(self) -> list[Configuration]:
        """The best few, the fastest first."""
        return [each for each in self.board.standing() if each != self.board.baseline][:BEST]

    def patience_s(self, configuration: Configuration) -> float:
        """Return when an arm is given up, by what its reference takes."""
        reference = self.board.first[self.prepared.space.reference(configuration)]
        return max(LOOK_S, PATIENCE * (reference.step_s or 0.0))


def measured(prepared: Prepared, look_s: float) -> Grid:
    """Measure every configuration beside the one that computes the same with as little switched as possible.

    The best are then timed side by side once more, for longer: of so many, one that was lucky leads otherwise.
    """
    space, board, start_s = prepared.space, Board(baseline=prepared.space.baseline), time.monotonic()
    baseline, *others = space.references()
    for chunk in _chunks(others) or [[]]:
        _enter(board, prepared.heats([baseline, *chunk], look_s, LONGEST_STEP_S))
    for reference in [baseline, *others]:
        alike = [each for each in space.everything() if space.reference(each) == reference != each]
        patience_s = max(look_s, PATIENCE * (board.first[reference].step_s or 0.0))
        for chunk in _chunks(alike):
            _enter(board, prepared.heats([reference, *chunk], look_s, patience_s))
    grid = Grid(prepared=prepared, board=board, spent_s=0.0)
    _enter(board, prepared.heats([baseline, *grid.best], CAREFUL * look_s, LONGEST_STEP_S))
    return replace(grid, spent_s=time.monotonic() - start_s)


def settled(grid: Grid, chosen: Iterable[Configuration]) -> dict[Configuration, float]:
    """Return the speedups of the grid's best and of all that was chosen, timed afresh side by side and for longer.

    Nobody's choice rests on these times, so none is flattered by them. What cannot be measured has none.
    """
    baseline, board = grid.board.baseline, Board(baseline=grid.board.baseline)
    leader, *others = dict.fromkeys([*grid.best, *chosen])
    for chunk in _chunks([each for each in others if each != baseline], HEAT - 1) or [[]]:
        for _ in range(FINAL_BUILDS):
            _enter(board, grid.prepared.heats([baseline, leader, *chunk], FINAL_S, LONGEST_STEP_S))
    return {each: math.exp(board.log_speedup(each)) for each in board.standing()}


def by_advice(request: Request, _: Grid, pool: Pool, budget_s: float, seed: int) -> Configuration:
    """Let accelbench advise."""
    found = advise(replace(request, budget_s=budget_s, seed=seed), pool=pool)
    return tuple(found.levels.values())


def by_chance(_: Request, grid: Grid, __: Pool, budget_s: float, seed: int) -> Configuration:
    """Measure configurations in random order, none twice, and take the best that was seen."""
    order = list(grid.prepared.space.everything())
    Random(seed).shuffle(order)
    seen: dict[Configuration, float] = {}
    for _number in _within(budget_s):
        if len(seen) == len(order):
            break
        chosen = order[len(seen)]
        seen[chosen] = _looked_at(grid, chosen)
    return max(seen, key=seen.__getitem__)


def by_optuna(_: Request, grid: Grid, __: Pool, budget_s: float, seed: int) -> Configuration:
    """Let Optuna's default sampler, TPE, say what to measure, and take the best that was seen."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    axes = grid.prepared.space.axes
    for _number in _within(budget_s):
        trial = study.ask()
        chosen = tuple(trial.suggest_categorical(axis.technique, axis.levels) for axis in axes)
        study.tell(trial, _looked_at(grid, chosen))
    return tuple(study.best_params[axis.technique] for axis in axes)


SEARCHES: dict[str, Callable[[Request, Grid, Pool, float, int], Configuration]] = {
    "advise": by_advice,
    "random search": by_chance,
    "Optuna (TPE)": by_optuna,
}


def _within(budget_s: float) -> Iterator[int]:
    """Count while the next turn, if it takes as long as those before it, still fits into the budget; at least once."""
    start_s, number = time.monotonic(), 0
    while number == 0 or (time.monotonic() - start_s) * (number + 1) / number <= budget_s:
        yield number
        number += 1


def _looked_at(grid: Grid, configuration: Configuration) -> float:
    """Return the log speedup that a look beside the baseline shows, the worst where it shows none."""
    baseline = grid.prepared.space.baseline
    if configuration == baseline:
        return 0.0
    (heat,) = grid.prepared.heats([baseline, configuration], LOOK_S, grid.patience_s(configuration))
    ratios = heat[configuration].log_ratios
    return float(np.median(ratios)) if ratios else WORST


def _enter(board: Board, heats: Iterable[Mapping[Configuration, Seen]]) -> None:
    for heat in heats:
        board.enter(heat)


def _chunks(configurations: list[Configuration], most: int = HEAT) -> list[list[Configuration]]:
    return [configurations[start : start + most] for start in range(0, len(configurations), most)]
