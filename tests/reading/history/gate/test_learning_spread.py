"""The spread between unchanged runs, learnt from made-up values."""

import numpy as np
import pytest

from harness.reading.history.gate.learning import learn


def made(runs, cases, spread, seed=0):
    return spread * np.random.default_rng(seed).standard_normal((runs, cases))


def test_cases_that_are_alike_teach_one_another():
    alone = learn(made(5, 1, 0.01), np.zeros((5, 1)))
    together = learn(made(5, 300, 0.01), np.zeros((5, 300)))
    assert alone.freedom == [4]
    assert np.median(together.deviation) == pytest.approx(0.01, rel=0.15)
    assert together.freedom.min() > 20


def test_cases_that_differ_keep_what_is_theirs():
    values = np.hstack([made(30, 50, 0.01), made(30, 50, 0.05, seed=1)])
    spread = learn(values, np.zeros(values.shape))
    assert np.median(spread.deviation[:50]) == pytest.approx(0.01, rel=0.2)
    assert np.median(spread.deviation[50:]) == pytest.approx(0.05, rel=0.2)


def test_a_run_far_outside_hardly_widens_the_spread():
    values = made(30, 20, 0.01)
    values[4] += 0.5
    assert np.median(learn(values, np.zeros(values.shape)).deviation) < 0.015


def test_a_step_between_configurations_is_no_spread():
    values = made(30, 20, 0.01)
    values[15:] += 0.5
    states = np.repeat([[0], [1]], 15, axis=0) * np.ones((1, 20))
    assert np.median(learn(values, states).deviation) == pytest.approx(0.01, rel=0.2)


def test_a_run_that_lacks_a_case_is_left_out_of_it():
    values = made(10, 5, 0.01)
    values[:, 0] = np.nan
    values[3, 1] = np.nan
    spread = learn(values, np.zeros(values.shape))
    assert np.isfinite(spread.deviation).all()
