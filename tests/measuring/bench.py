"""A problem drawn from a seed with the time that it takes, and the honest arms that others are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm
from accelbench.frameworks import Framework, load

STEP_S = 1e-3  # of an honest step
SKIP_S = 50e-6  # of a step that only pretends
NOISE = 0.02  # the standard deviation of the logarithm of a step's time
DRAWS = 5_003


class Draws(NamedTuple):
    """What a seed gives. It is drawn beforehand: an arm that holds a generator counts as random."""

    sizes: tuple[int, int, int]
    noises: tuple[float, ...]
    chances: tuple[float, ...]


@cache
def draws(seed: int) -> Draws:
    """Return the sizes of a problem, the noises of its times and numbers from 0 to 1."""
    coin = Random(seed)
    return Draws(
        sizes=(coin.randint(16, 40), coin.randint(4, 12), coin.randint(3, 6)),
        noises=tuple(coin.lognormvariate(0, NOISE) for _ in range(DRAWS)),
        chances=tuple(coin.random() for _ in range(DRAWS)),
    )


class Bench:
    """A problem drawn from a seed, and the time that it takes.

    ``rows`` are multiplied by a matrix, shape ``(columns, outputs)``. ``kept`` outlives the builds of a trial, as a
    global variable does; ``undo`` is called when the trial is over. Time is that of a fake clock, unless ``framework``
    is ``"numpy"``: then work is real.
    """

    def __init__(self, seed: int, framework: str = "fake", device: type[FakeDevice] = FakeDevice) -> None:
        self.seed = seed
        drawn = draws(seed)
        self.rows, self.columns, self.outputs = drawn.sizes
        self._noises, self._chances = drawn.noises, drawn.chances
        self._draws = 0
        self.kept: dict[Any, Any] = {}
        self.undo: list[Callable[[], object]] = []
        self.fake_clock = FakeClock()
        self.device = device(self.fake_clock, noise=self._noise)
        self.is_real = framework == "numpy"
        self.framework: Framework = self.device if framework == "fake" else load(framework)
        self.clock: Callable[[], float] = perf_counter if self.is_real else self.fake_clock

    def random(self) -> np.random.Generator:
        """Return the same generator for every arm and build."""
        return np.random.default_rng(self.seed)

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a new batch of rows and the weights, in float64."""
        rng = self.random()
        return rng.normal(size=(self.rows, self.columns)), rng.normal(size=(self.columns, self.outputs))

    def work(self, share: float = 1.0) -> None:
        """Keep the host busy for this share of an honest step."""
        self._spend(STEP_S * share)

    def skip(self) -> None:
        """Take as long as a step that does nothing."""
        self._spend(SKIP_S)

    def _spend(self, seconds: float) -> None:
        if not self.is_real:
            self.fake_clock.advance(seconds * self._noise())
            return
        end = perf_counter() + seconds
        while perf_counter() < end:
            pass

    def chance(self) -> float:
        """Return a number from 0 to 1 that is drawn from the seed, another one each time."""
        self._draws += 1
        return self._chances[self._draws % DRAWS]

    def _noise(self) -> float:
        self._draws += 1
        return self._noises[self._draws % DRAWS]


class Product:
    """An honest arm that multiplies a batch by weights; subclasses change a part of it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.batch, self.weights = bench.data()
        self.calls = 0  # since the last reset
        self.kept: Any = None

    def compute(self) -> Any:
        """Do the work of a step."""
        self.bench.work()
        return self.batch @ self.weights

    def reset(self) -> None:
        """Begin again."""
        self.calls = 0

    def step(self) -> Any:
        """Compute, and count the call."""
        self.calls += 1
        return self.compute()

    def facts(self) -> dict[str, Any]:
        """Return what the arm states besides its step and reset."""
        return {
            "items": self.bench.rows,
            "inputs": lambda: self.batch,
            "parameters": lambda: self.weights,
        }

    def arm(self) -> Arm:
        """Return the arm."""
        return Arm(step=self.step, reset=self.reset, **self.facts())


class Regression:
    """An honest arm that fits a linear model by gradient descent with momentum, one step on all rows at a time."""

    rate = 1e-3

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.batch, truth = bench.data()
        self.targets = self.batch @ truth + bench.random().normal(size=(bench.rows, bench.outputs))
        self.first = bench.random().normal(size=truth.shape)
        self.weights, self.speed = self.first.copy(), np.zeros_like(self.first)
        self.calls = 0  # since the last reset

    def reset(self) -> None:
        """Return to the first weights."""
        self.weights[:] = self.first
        self.speed[:] = 0
        self.calls = 0

    def residual(self) -> np.ndarray:
        """Return the error of every row."""
        error: np.ndarray = self.batch @ self.weights - self.targets
        return error

    def learn(self, residual: np.ndarray) -> None:
        """Take a step downhill."""
        self.speed *= 0.9
        self.speed -= self.rate * self.batch.T @ residual / self.bench.rows
        self.weights += self.speed

    def step(self) -> Any:
        """Learn from all rows, and return the loss before it."""
        self.calls += 1
        self.bench.work()
        residual = self.residual()
        self.learn(residual)
        return (residual**2).mean()

    def facts(self) -> dict[str, Any]:
        """Return what the arm states besides its step and reset."""
        return {
            "items": self.bench.rows,
            "checked_steps": 2,
            "inputs": lambda: (self.batch, self.targets),
            "parameters": lambda: self.weights,
        }

    def arm(self) -> Arm:
        """Return the arm."""
        return Arm(step=self.step, reset=self.reset, **self.facts())


class Epoch:
    """An honest arm whose step goes through all batches of a data set, and starts its loader anew each time."""

    size = 4  # rows of a batch

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.batch, self.weights = bench.data()
        self.parts = [self.batch[start : start + self.size] for start in range(0, bench.rows, self.size)]
        self.calls = 0  # since the last reset
        self.kept: Any = None

    def reset(self) -> None:
        """Begin again."""
        self.calls = 0

    def loader(self) -> Iterator[np.ndarray]:
        """Return an iterator over the batches."""
        return iter(self.parts)

    def total(self, parts: Iterator[np.ndarray]) -> Any:
        """Return the sum of the answers of all batches, or None if there are none."""
        self.bench.skip()
        total = None
        for part in parts:
            self.bench.work(len(part) / self.bench.rows)
            answer = np.tanh(part @ self.weights).sum(axis=0)
            total = answer if total is None else total + answer
        return total

    def step(self) -> Any:
        """Go through the data once."""
        self.calls += 1
        return self.total(self.loader())

    def facts(self) -> dict[str, Any]:
        """Return what the arm states besides its step and reset."""
        return {
            "items": self.bench.rows,
            "inputs": lambda: self.batch,
            "parameters": lambda: self.weights,
        }

    def arm(self) -> Arm:
        """Return the arm."""
        return Arm(step=self.step, reset=self.reset, **self.facts())


def product(bench: Bench) -> Arm:
    """Return an honest arm that multiplies a batch by weights."""
    return Product(bench).arm()


def regression(bench: Bench) -> Arm:
    """Return an honest arm that learns."""
    return Regression(bench).arm()


def epoch(bench: Bench) -> Arm:
    """Return an honest arm that goes through a data set."""
    return Epoch(bench).arm()
