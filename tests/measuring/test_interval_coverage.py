"""The referee's interval contains the true speedup under simulated noise.

The whole referee runs on a simulated clock: it sizes blocks, warms up, measures pairs in random order and stops when
the evidence suffices.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from statistics import median

import pytest
from fake_device import FakeClock

from accelbench.core import Arm, Plan
from accelbench.measuring import statistics
from accelbench.measuring.referee import Referee, Stopwatch
from accelbench.measuring.statistics import Judgement

STEP_S = 1e-3
SPEEDUP = 1.05
NOMINAL = 0.95
SERIES = 40
Factors = Iterator[float]  # by which each step takes longer than usual


def independent(random: Random, _: FakeClock) -> Factors:
    """Every step varies by 2 %, independently of the others."""
    while True:
        yield math.exp(random.gauss(0, 0.02))


def spiky(random: Random, _: FakeClock) -> Factors:
    """One step in a hundred takes ten times as long."""
    while True:
        yield math.exp(random.gauss(0, 0.02)) * (10 if random.random() < 0.01 else 1)


def drifting(random: Random, clock: FakeClock) -> Factors:
    """The machine slows down by half within a second, and swings by a fifth twice a second."""
    start, phase = clock(), random.uniform(0, 2 * math.pi)
    while True:
        passed_s = clock() - start
        trend = 0.4 * passed_s + 0.2 * math.sin(phase + 4 * math.pi * passed_s)
        yield math.exp(trend + random.gauss(0, 0.02))


def autocorrelated(random: Random, _: FakeClock) -> Factors:
    """A step's gain or loss carries over to the next ones: an autoregression of 0.95 with a deviation of 6 %."""
    state = random.gauss(0, 0.064)
    while True:
        state = 0.95 * state + random.gauss(0, 0.02)
        yield math.exp(state + random.gauss(0, 0.005))


Noise = Callable[[Random, FakeClock], Factors]
NOISES: tuple[Noise, ...] = (independent, spiky, drifting, autocorrelated)


def measure_series(noise: Noise, series: int, seed: int = 0) -> list[Judgement]:
    """Measure a known speedup ``series`` times under one kind of noise."""
    return [measure(noise, seed, number) for number in range(series)]


def measure(noise: Noise, seed: int, number: int) -> Judgement:
    """Measure a known speedup under noise that is drawn from a seed and the number of the series."""
    return _measure(noise, Random(f"{noise.__name__} {seed} {number}"))


measure_once = cache(measure)  # for each number, since a longer series begins with a shorter one


def _measure(noise: Noise, random: Random) -> Judgement:
    clock = FakeClock()
    factors = noise(random, clock)

    def arm(step_s: float) -> Arm:
        return Arm(step=lambda: clock.advance(step_s * next(factors)))

    plan = Plan(budget_s=0.5, alpha=1 - NOMINAL, builds=1, min_block_s=100e-6)
    referee = Referee(stopwatch=Stopwatch(clock, lambda: None), coin=random, plan=plan, arms=2)
    referee.play([arm(STEP_S), arm(STEP_S / SPEEDUP)])
    return referee.judgement(1)


def coverage(effects: list[Judgement]) -> float:
    return sum(effect.low <= SPEEDUP <= effect.high for effect in effects) / len(effects)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("series", [SERIES, pytest.param(500, marks=pytest.mark.slow)])
def test_the_interval_contains_the_truth_as_often_as_it_claims(noise: Noise, series: int) -> None:
    effects = [measure_once(noise, 0, number) for number in range(series)]
    assert coverage(effects) >= NOMINAL
    assert median(effect.pairs for effect in effects) >= 50


def test_an_interval_that_is_too_narrow_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = statistics.interval

    def narrow(log_ratios, alpha):
        low, high = interval(log_ratios, alpha)
        return low + 0.45 * (high - low), high - 0.45 * (high - low)

    monkeypatch.setattr(statistics, "interval", narrow)
    assert coverage(measure_series(independent, SERIES)) < 0.8


def test_the_same_seed_simulates_the_same_series() -> None:
    assert measure_series(autocorrelated, 5, seed=1) == measure_series(autocorrelated, 5, seed=1)
