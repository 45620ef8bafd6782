"""Simulated series of runs whose truth is known: noise of many kinds, and changes planted in it.

Everything is drawn from fixed seeds, so every detector gets the same series.

Values are natural logarithms of seconds, since changes multiply. A noise model returns values with mean 0 and
standard deviation 1 over many runs; the series scales it to the spread between runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, product

import numpy as np
from scipy import signal, stats

Noise = Callable[[np.random.Generator, int], np.ndarray]

RUNS = 100
ROUNDS = 30  # timed rounds within a run, for the rules that compare rounds
ROUND_SPREAD = 0.01  # standard deviation of the logarithm of a round within its run
EARLIEST, LATEST = 40, 80  # a change lies somewhere between these runs
SPREADS = (0.01, 0.03)
STEPS = (0.02, 0.05, 0.10, 0.25)
SCENARIOS = {  # by how large a share the machine, and the candidate alone, get slower
    "nothing happens": (0.0, 0.0),
    "machine 40 % faster": (1 / 1.4 - 1, 0.0),
    "power cap: machine 15 % slower": (0.15, 0.0),
    "technique loses 5 %": (0.0, 0.05),
    "technique loses 10 %": (0.0, 0.10),
    "masked: loses 10 %, machine 9 % faster": (1 / 1.09 - 1, 0.10),
}
_SEED = 20260101
_SETTLING = 200  # runs before the first that counts, so that a process with memory has forgotten its start


@dataclass(frozen=True, kw_only=True)
class Series:
    """The times of one case in run after run: ``values`` of shape ``(runs,)``, ``rounds`` of shape ``(runs, rounds)``.

    ``changed`` is the first run after the planted change, or None.
    """

    values: np.ndarray
    rounds: np.ndarray
    changed: int | None = None

    def until(self, run: int) -> Series:
        """Return the series as it was before this run was made."""
        return Series(values=self.values[:run], rounds=self.rounds[:run], changed=self.changed)


def gaussian(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Independent, normal."""
    return rng.standard_normal(runs)


def lognormal(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Independent, skewed: never much faster, sometimes much slower."""
    shape = stats.lognorm(s=0.8)
    return (np.exp(0.8 * rng.standard_normal(runs)) - shape.mean()) / shape.std()


def heavy_tailed(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Independent, Student's t with 3 degrees of freedom."""
    return rng.standard_t(3, runs) / np.sqrt(3)


def outliers(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Normal, and one run in 20 is far off on the slow side."""
    share, distance = 0.05, 8.0
    off = rng.random(runs) < share
    values = rng.standard_normal(runs) + distance * off - share * distance
    return values / np.sqrt(1 + share * (1 - share) * distance**2)


def autocorrelated(rng: np.random.Generator, runs: int, memory: float = 0.6) -> np.ndarray:
    """AR(1): a run resembles the one before."""
    pushes = np.sqrt(1 - memory**2) * rng.standard_normal(runs + _SETTLING)
    return signal.lfilter([1.0], [1.0, -memory], pushes)[_SETTLING:]


def bimodal(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Every run falls into one of two modes at random; the modes lie three of their own spreads apart."""
    modes = 3.0 * (rng.random(runs) < 0.5) - 1.5
    return (modes + rng.standard_normal(runs)) / np.sqrt(1 + 1.5**2)


def skewed_bursts(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Exponential, and now and then a few runs in a row are slow together."""
    begins, stays, height = 0.02, 0.7, 4.0
    slow, chance = np.zeros(runs + _SETTLING, dtype=bool), rng.random(runs + _SETTLING)
    for run in range(1, len(slow)):
        slow[run] = chance[run] < (stays if slow[run - 1] else begins)
    share = begins / (begins + 1 - stays)
    values = rng.exponential(size=runs) - 1 + height * (slow[_SETTLING:] - share)
    return values / np.sqrt(1 + share * (1 - share) * height**2)


def regimes(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Two states of a machine, each of which lasts five runs on average."""
    leaves, distance = 0.2, 2.0
    switched = rng.random(runs) < leaves
    state = (rng.integers(2) + np.cumsum(switched)) % 2
    return (distance * (state - 0.5) + rng.standard_normal(runs)) / np.sqrt(1 + distance**2 / 4)


def day_and_night(rng: np.random.Generator, runs: int) -> np.ndarray:
    """A wave of eight runs a day, as large as the noise on it."""
    phase = rng.uniform(0, 2 * np.pi)
    wave = np.sin(2 * np.pi * np.arange(runs) / 8 + phase)
    return (np.sqrt(2) * wave + rng.standard_normal(runs)) / np.sqrt(2)


def changing_spread(rng: np.random.Generator, runs: int) -> np.ndarray:
    """GARCH(1, 1): calm and wild times, since a run that is far off raises the spread of the next ones."""
    rest, push, memory = 0.1, 0.2, 0.7
    values, variance = np.zeros(runs + _SETTLING), 1.0
    for run, pushed in enumerate(rng.standard_normal(runs + _SETTLING)):
        values[run] = np.sqrt(variance) * pushed
        variance = rest + push * values[run] ** 2 + memory * variance
    return values[_SETTLING:]


def visits(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Other users take part of the machine now and then, for two to twelve runs, each by a share of their own."""
    begins, height = 0.03, 3.0
    slowed = np.zeros(runs + _SETTLING)
    for run in np.flatnonzero(rng.random(len(slowed)) < begins):
        slowed[run : run + rng.integers(2, 13)] += height * rng.exponential()
    of_visit = begins * 7  # visitors at a time: their rate times how long they stay
    values = rng.standard_normal(runs) + slowed[_SETTLING:] - of_visit * height
    return values / np.sqrt(1 + of_visit * 2 * height**2)  # a Poisson sum of exponential heights


def long_memory(rng: np.random.Generator, runs: int, differenced: float = 0.3) -> np.ndarray:
    """Fractionally integrated noise, whose memory fades slowly (Granger and Joyeux 1980)."""
    back = np.arange(1, _SETTLING)
    weights = np.cumprod([1.0, *((back - 1 + differenced) / back)])
    pushes = rng.standard_normal(runs + _SETTLING - 1) / np.sqrt(weights @ weights)
    return np.convolve(pushes, weights, mode="valid")


def ambient(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Half of the variance is the room's, which warms and cools slowly; the rest is each run's own."""
    return (autocorrelated(rng, runs, memory=0.9) + rng.standard_normal(runs)) / np.sqrt(2)


def queue(rng: np.random.Generator, runs: int) -> np.ndarray:
    """Half of the variance is the wait in a queue, M/M/1 at half of its capacity (Lindley 1952); the rest its own."""
    load = 0.5
    pushes = rng.exponential(size=runs + _SETTLING) - rng.exponential(1 / load, runs + _SETTLING)
    waits = np.array([*accumulate(pushes, lambda wait, push: max(0.0, wait + push), initial=0.0)])[1 + _SETTLING :]
    mean, variance = load / (1 - load), load * (2 - load) / (1 - load) ** 2
    return ((waits - mean) / np.sqrt(variance) + rng.standard_normal(runs)) / np.sqrt(2)


STATIONARY: dict[str, Noise] = {
    "Gaussian": gaussian,
    "lognormal": lognormal,
    "t, 3 d.f.": heavy_tailed,
    "outliers": outliers,
    "AR(1)": autocorrelated,
    "bimodal": bimodal,
    "bursts": skewed_bursts,
    "visits": visits,
    "long memory": long_memory,
    "queue": queue,
}
HELD_OUT: dict[str, Noise] = {  # no detector here was tuned on these: keep it so
    "regimes": regimes,
    "day and night": day_and_night,
    "changing spread": changing_spread,
    "ambient": ambient,
}
MODELS = STATIONARY | HELD_OUT


def simulate_series(
    rng: np.random.Generator, noise: Noise, spread: float, *, slower: float = 0.0, runs: int = RUNS
) -> Series:
    """Return a series in which the case gets slower by a share at some run; at 0 nothing happens."""
    values = spread * noise(rng, runs)
    changed = int(rng.integers(EARLIEST, LATEST)) if slower else None
    if changed is not None:
        values[changed:] += np.log1p(slower)
    return with_rounds(rng, values, changed)


def simulate_drift(rng: np.random.Generator, noise: Noise, spread: float, *, slower: float, runs: int = RUNS) -> Series:
    """Return a series that gets slower by a share altogether, a little in every run."""
    return with_rounds(rng, spread * noise(rng, runs) + np.linspace(0, np.log1p(slower), runs), None)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A candidate as two series: its times, and its times as a share of its baseline's, measured in pairs."""

    times: Series
    shares: Series


def simulate_case(
    rng: np.random.Generator, *, machine: float, technique: float, spread: float = 0.01, common: float = 0.04
) -> Case:
    """Return a case on a machine whose own noise, ``common`` to all cases, is autocorrelated.

    At one run the machine and the candidate alone get slower by the shares ``machine`` and ``technique``.
    """
    changed = int(rng.integers(EARLIEST, LATEST))
    after = np.arange(RUNS) >= changed
    shares = spread * gaussian(rng, RUNS) + after * np.log1p(technique)
    times = shares + common * autocorrelated(rng, RUNS, memory=0.8) + after * np.log1p(machine)
    marked = changed if machine or technique else None
    return Case(times=with_rounds(rng, times, marked), shares=with_rounds(rng, shares, marked))


def with_rounds(rng: np.random.Generator, values: np.ndarray, changed: int | None) -> Series:
    """Return a series of these values, with rounds around each."""
    rounds = values[:, None] + ROUND_SPREAD * rng.standard_normal((len(values), ROUNDS))
    return Series(values=values, rounds=rounds, changed=changed)


def draw_unchanged(number: int) -> dict[tuple[str, float], list[Series]]:
    """Return series in which nothing happens: half as many per noise model and spread, since there are many of both."""
    rng = np.random.default_rng(_SEED)
    return {
        (name, spread): [simulate_series(rng, noise, spread) for _ in range((number + 1) // 2)]
        for (name, noise), spread in product(MODELS.items(), SPREADS)
    }


def draw_steps(number: int) -> dict[tuple[float, float], list[Series]]:
    """Return ``number`` series per spread and size of the step, the noise models in turn."""
    rng, noises = np.random.default_rng(_SEED + 1), list(MODELS.values())
    return {
        (spread, size): [
            simulate_series(rng, noises[place % len(noises)], spread, slower=size) for place in range(number)
        ]
        for spread, size in product(SPREADS, STEPS)
    }


def draw_drifts(number: int, slower: float = 0.10) -> list[Series]:
    """Return ``number`` series that get slower over all their runs, the stationary noise models in turn, at 1 %."""
    rng, noises = np.random.default_rng(_SEED + 2), list(STATIONARY.values())
    return [simulate_drift(rng, noises[place % len(noises)], 0.01, slower=slower) for place in range(number)]


def draw_cases(number: int) -> dict[str, list[Case]]:
    """Return ``number`` cases per scenario."""
    rng = np.random.default_rng(_SEED + 3)
    return {
        name: [simulate_case(rng, machine=machine, technique=technique) for _ in range(number)]
        for name, (machine, technique) in SCENARIOS.items()
    }
