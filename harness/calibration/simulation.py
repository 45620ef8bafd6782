"""Does the interval hold the truth? The engine on a clock whose noise is known.

The whole referee plays: sizing of blocks, warm-up, pairs in a coin's order, and the stop that looks at the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random
from statistics import median

from harness.certificate import Coverage
from harness.experiment import Arm, Plan
from harness.frameworks.fake import FakeClock
from harness.measuring.evidence import Judgement
from harness.measuring.referee import Referee
from harness.measuring.stopwatch import Stopwatch

STEP_S = 1e-3
SPEEDUP = 1.05
NOMINAL = 0.95
Factors = Iterator[float]  # by how much the next step takes longer than usual


def independent(chance: Random, _: FakeClock) -> Factors:
    """Every step varies by 2 %, whatever the others did."""
    while True:
        yield math.exp(chance.gauss(0, 0.02))


def spiky(chance: Random, _: FakeClock) -> Factors:
    """One step in a hundred takes ten times as long."""
    while True:
        yield math.exp(chance.gauss(0, 0.02)) * (10 if chance.random() < 0.01 else 1)


def drifting(chance: Random, clock: FakeClock) -> Factors:
    """The machine becomes half as slow again within a second, and swings by a fifth twice a second."""
    start, phase = clock(), chance.uniform(0, 2 * math.pi)
    while True:
        passed_s = clock() - start
        trend = 0.4 * passed_s + 0.2 * math.sin(phase + 4 * math.pi * passed_s)
        yield math.exp(trend + chance.gauss(0, 0.02))


def autocorrelated(chance: Random, _: FakeClock) -> Factors:
    """What a step lost or gained stays with the following ones: an autoregression of 0.95, 6 % wide."""
    state = chance.gauss(0, 0.064)
    while True:
        state = 0.95 * state + chance.gauss(0, 0.02)
        yield math.exp(state + chance.gauss(0, 0.005))


NOISES: dict[str, Callable[[Random, FakeClock], Factors]] = {
    noise.__name__: noise for noise in (independent, spiky, drifting, autocorrelated)
}


def coverage(noise: str, series: int, *, nominal: float = NOMINAL, seed: int = 0) -> Coverage:
    """Measure a known speedup so many times under one kind of noise, and count the intervals that hold it."""
    judgements = [_judged(noise, nominal, Random(f"{noise} {seed} {number}")) for number in range(series)]
    return Coverage(
        noise=noise,
        nominal=nominal,
        series=series,
        covered=sum(judged.low <= SPEEDUP <= judged.high for judged in judgements),
        pairs=median(judged.pairs for judged in judgements),
    )


def _judged(noise: str, nominal: float, chance: Random) -> Judgement:
    clock = FakeClock()
    factors = NOISES[noise](chance, clock)

    def arm(step_s: float) -> Arm:
        return Arm(step=lambda: clock.advance(step_s * next(factors)))

    plan = Plan(budget_s=0.5, alpha=1 - nominal, builds=1)
    referee = Referee(stopwatch=Stopwatch(clock, lambda: None), coin=chance, plan=plan, arms=2)
    referee.play([arm(STEP_S), arm(STEP_S / SPEEDUP)])
    return referee.judgement(1)
