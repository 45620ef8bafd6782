"""Rounds in which every arm of a design is timed, under noise of several kinds."""

import math
from collections.abc import Callable

import numpy as np

from harness.attribution.design import Row, design
from harness.attribution.fit import batches_for, fit
from harness.attribution.shares import Attribution
from harness.measuring.digest import in_order

NOISE = 0.03
NAMES = ("amp", "memory_format", "compile", "tf32", "threads", "workers", "pin_memory", "xla")


def taken_apart(
    techniques: int,
    speedup: Callable[[Row], float],
    *,
    rng: np.random.Generator,
    kind: str = "independent",
    rounds: int = 200,
) -> Attribution:
    """Return the attribution of simulated rounds; ``speedup`` gives each arm's true one."""
    arms = design(techniques)
    log_s = _noise(kind, rounds, len(arms), rng) - np.log([speedup(arm) for arm in arms])
    labels = {name: f"{name} on" for name in NAMES[:techniques]}
    log_speedups = np.column_stack([in_order(arm) for arm in (log_s[:, :1] - log_s).T])
    return fit(labels, arms, log_speedups, rounds=rounds, alpha=0.05)


def product_of(*each: float) -> Callable[[Row], float]:
    """Return speedups that multiply."""
    return lambda arm: math.prod(ratio for ratio, on in zip(each, arm, strict=True) if on)


def interacting(together: float, *each: float) -> Callable[[Row], float]:
    """Return speedups that multiply, but that the first two techniques are so many times as fast together."""
    multiplying: Callable[[Row], float] = product_of(*each)
    return lambda arm: multiplying(arm) * (together if arm[0] and arm[1] else 1.0)


def _noise(kind: str, rounds: int, arms: int, rng: np.random.Generator) -> np.ndarray:
    own = rng.normal(scale=NOISE, size=(rounds, arms))
    if kind == "spiky":
        own += (rng.random((rounds, arms)) < 0.02) * rng.exponential(2.0, size=(rounds, arms))
    if kind == "builds":  # each of which differs by an accident of its own
        builds = batches_for(arms)
        own += np.repeat(rng.normal(scale=NOISE, size=(builds, arms)), rounds // builds, axis=0)
    if kind == "drifting":  # the machine becomes slower, and once all at once
        own += (np.linspace(0, 1, rounds) + 0.3 * (np.arange(rounds) > rounds / 3))[:, None]
    if kind == "common weather":
        own += _remembering(0.98, rng.normal(scale=0.05, size=(rounds, 1)))
    if kind == "weather of each arm":
        own = _remembering(0.8, own)
    return own


def _remembering(share: float, shocks: np.ndarray) -> np.ndarray:
    """Return first-order autoregressive noise."""
    course = [shocks[0] / math.sqrt(1 - share**2)]
    for shock in shocks[1:]:
        course.append(share * course[-1] + shock)
    return np.array(course)
