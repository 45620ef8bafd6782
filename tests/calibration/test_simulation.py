"""Simulated noise: whether an interval that does not hold what it claims is found out."""

import gc
from collections.abc import Iterator

import pytest

from harness.calibration.simulation import NOISES, coverage
from harness.measuring import evidence

SERIES = 40


@pytest.fixture(autouse=True)
def small_heap() -> Iterator[None]:
    """Leave what pytest and other tests hold out of the referee's collections, as a worker does."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("noise", NOISES)
def test_the_engines_interval_holds_the_truth_as_often_as_it_claims(noise):
    found = coverage(noise, SERIES)
    assert found.series == SERIES
    assert found.covered >= 0.95 * SERIES
    assert found.pairs >= 50


def test_an_interval_that_is_too_narrow_is_found_out(monkeypatch):
    whole = evidence.interval

    def narrow(log_ratios, alpha):
        low, high = whole(log_ratios, alpha)
        return low + 0.45 * (high - low), high - 0.45 * (high - low)

    monkeypatch.setattr(evidence, "interval", narrow)
    assert coverage("independent", SERIES).covered < 0.8 * SERIES


def test_the_same_seed_simulates_the_same_series():
    assert coverage("autocorrelated", 5, seed=1) == coverage("autocorrelated", 5, seed=1)
