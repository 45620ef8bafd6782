"""A level that wanders is told from one that steps."""

import numpy as np
from scipy import signal

from harness.reading.history.changes.steps import steps
from harness.reading.history.changes.wandering import wanders

NUMBER, AT = 80, 40


def slow_moves(seed, runs=100):
    """Return runs of their own on a level that follows an autoregression, each with half of the variance."""
    own, pushes = np.random.default_rng(seed).standard_normal((2, runs + 200))
    level = signal.lfilter([np.sqrt(1 - 0.9**2)], [1.0, -0.9], pushes)
    return ((own + level) / np.sqrt(2))[200:]


def test_hardly_any_series_that_wanders_has_a_step():
    assert sum(bool(steps(0.03 * slow_moves(seed))) for seed in range(40)) <= 3


def test_a_step_is_told_from_wandering_by_the_run_at_which_it_happens():
    own = np.random.default_rng(1).standard_normal(NUMBER)
    at_once, bit_by_bit = 2.0 * (np.arange(NUMBER) >= AT), np.cumsum(0.3 * own[::-1])
    assert not wanders(own + at_once, AT)
    assert wanders(own + bit_by_bit, AT)


def test_a_step_between_levels_without_any_spread_is_one():
    assert not wanders(1.0 * (np.arange(NUMBER) >= AT), AT)
