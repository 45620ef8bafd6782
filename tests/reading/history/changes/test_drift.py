"""A slow drift, which is neither a step nor nothing."""

import numpy as np
import pytest

from harness.reading.history.changes.drift import drift
from harness.reading.history.changes.steps import steps


def noise(seed, runs=100):
    return 0.01 * np.random.default_rng(seed).standard_normal(runs)


def test_a_drift_is_told_as_a_drift_with_its_slope_and_not_as_steps():
    drifting = [noise(seed) + np.linspace(0, 0.1, 100) for seed in range(10)]
    found = [(drift(values), steps(values)) for values in drifting]
    assert sum(slow is not None and slow.low < np.exp(0.1) < slow.high and not sudden for slow, sudden in found) >= 9


def test_a_step_is_no_drift():
    assert [drift(noise(seed) + 0.05 * (np.arange(100) >= 60)) for seed in range(10)] == [None] * 10


def test_a_step_within_a_drift_leaves_both():
    values = noise(1) + np.linspace(0, 0.1, 100) + 0.1 * (np.arange(100) >= 50)
    assert [step.at for step in steps(values)] == [50]
    assert drift(values).low < np.exp(0.1) < drift(values).high


def test_an_unchanged_series_does_not_drift():
    assert [drift(noise(seed)) for seed in range(20)] == [None] * 20


@pytest.mark.parametrize("values", [[], [1.0] * 100, np.linspace(-20, 20, 15)], ids=["none", "constant", "short"])
def test_a_series_that_cannot_tell_does_not_drift(values):
    assert drift(np.array(values, dtype=float)) is None


def test_a_drift_beyond_all_numbers_is_still_a_number():
    found = drift(np.linspace(0, 600, 30) + noise(1, 30))
    assert np.isfinite(found.ratio)
