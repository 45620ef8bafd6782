"""The spread between unchanged runs, and how surely runs lie on one side of others by their order alone."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import signal, stats

from accelbench.history.run_statistics import (
    adjust_p_values,
    estimate_spread,
    rank_test,
    wilcoxon_p_values,
)


def made(runs, cases, spread, seed=0):
    return spread * np.random.default_rng(seed).standard_normal((runs, cases))


def test_cases_that_are_alike_teach_one_another():
    alone = estimate_spread(made(5, 1, 0.01), np.zeros((5, 1)))
    together = estimate_spread(made(5, 300, 0.01), np.zeros((5, 300)))
    assert alone.freedom == [4]
    assert np.median(together.deviation) == pytest.approx(0.01, rel=0.15)
    assert together.freedom.min() > 20


def test_a_few_cases_that_happen_to_agree_know_no_more_than_their_runs_together():
    spreads = [estimate_spread(made(5, 3, 0.01, seed), np.zeros((5, 3))) for seed in range(20)]
    assert max(spread.freedom.max() for spread in spreads) == 3 * 4


def test_cases_that_differ_keep_what_is_theirs():
    values = np.hstack([made(30, 50, 0.01), made(30, 50, 0.05, seed=1)])
    spread = estimate_spread(values, np.zeros(values.shape))
    assert np.median(spread.deviation[:50]) == pytest.approx(0.01, rel=0.2)
    assert np.median(spread.deviation[50:]) == pytest.approx(0.05, rel=0.2)


def test_a_run_far_outside_hardly_widens_the_spread():
    values = made(30, 20, 0.01)
    values[4] += 0.5
    assert np.median(estimate_spread(values, np.zeros(values.shape)).deviation) < 0.015


def test_a_step_between_configurations_is_no_spread():
    values = made(30, 20, 0.01)
    values[15:] += 0.5
    states = np.repeat([[0], [1]], 15, axis=0) * np.ones((1, 20))
    assert np.median(estimate_spread(values, states).deviation) == pytest.approx(0.01, rel=0.2)


def test_a_run_that_lacks_a_case_is_left_out_of_it():
    values = made(10, 5, 0.01)
    values[:, 0] = np.nan
    values[3, 1] = np.nan
    spread = estimate_spread(values, np.zeros(values.shape))
    assert np.isfinite(spread.deviation).all()


CASES = 200


def correlated(runs, memory=0.0, seed=0):
    noise = np.random.default_rng(seed).standard_normal((runs + 50, CASES))
    return signal.lfilter([1.0], [1.0, -memory], noise, axis=0)[50:]


def test_five_runs_above_all_others_are_as_rare_as_their_order_says():
    values = correlated(35)
    values[30:] += 100.0
    found = rank_test(values[30:], values[:30])
    exact = 2 / comb(35, 5)
    assert found.min() == pytest.approx(exact)
    assert np.median(found) < 5 * exact


def test_how_far_off_a_run_is_does_not_count():
    values = correlated(35)
    values[30:] += 10.0
    far = np.where(values > 12.0, 1e6, values)
    assert rank_test(far[30:], far[:30]) == pytest.approx(rank_test(values[30:], values[:30]))


@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_unchanged_runs_are_seldom_thought_to_differ_even_where_neighbours_are_alike(memory):
    chances = np.concatenate([rank_test(*np.split(correlated(35, memory, seed), [30])[::-1]) for seed in range(5)])
    assert (chances < 0.01).mean() < 0.02


def test_cases_that_missed_runs_are_judged_by_those_they_have():
    values = correlated(35)
    values[30:] += 100.0
    values[:10, 0], values[:30, 1] = np.nan, np.nan
    found = rank_test(values[30:], values[:30])
    assert found[0] > found[2]
    assert np.isnan(found[1])


few_values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])  # which tie
any_values = st.floats(-1e6, 1e6)


@given(
    data=st.data(), values=st.sampled_from([few_values, any_values]), fewer=st.integers(1, 8), more=st.integers(1, 40)
)
def test_the_rank_test_is_the_exact_one_of_scipy(data, values, fewer, more):
    samples = [data.draw(arrays(float, (number, 3), elements=values)) for number in (fewer, more)]
    for left, right in (samples, samples[::-1]):
        expected = stats.mannwhitneyu(left, right, axis=0, method="exact").pvalue
        assert wilcoxon_p_values(left, right) == pytest.approx(expected, rel=1e-12)


@given(arrays(float, st.integers(1, 60), elements=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 1.0]))))
def test_p_values_are_adjusted_as_scipy_does(p_values):
    given_values = p_values.tolist()
    assert adjust_p_values(p_values) == pytest.approx(stats.false_discovery_control(p_values), rel=1e-12)
    assert p_values.tolist() == given_values


def test_a_missing_p_value_stays_missing_and_does_not_count():
    found = adjust_p_values(np.array([0.01, np.nan, 0.02]))
    assert found[[0, 2]].tolist() == [0.02, 0.02]
    assert np.isnan(found[1])
