"""How surely runs lie on one side of others, by their order alone."""

from math import comb

import numpy as np
import pytest
from scipy import signal

from harness.reading.history.gate.ranks import chance_by_ranks

CASES = 200


def made(runs, memory=0.0, seed=0):
    noise = np.random.default_rng(seed).standard_normal((runs + 50, CASES))
    return signal.lfilter([1.0], [1.0, -memory], noise, axis=0)[50:]


def test_five_runs_above_all_others_are_as_rare_as_their_order_says():
    values = made(35)
    values[30:] += 100.0
    found = chance_by_ranks(values[30:], values[:30])
    exact = 2 / comb(35, 5)
    assert found.min() == pytest.approx(exact)
    assert np.median(found) < 5 * exact


def test_how_far_off_a_run_is_does_not_count():
    values = made(35)
    values[30:] += 10.0
    far = np.where(values > 12.0, 1e6, values)
    assert chance_by_ranks(far[30:], far[:30]) == pytest.approx(chance_by_ranks(values[30:], values[:30]))


@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_unchanged_runs_are_seldom_thought_to_differ_even_where_neighbours_are_alike(memory):
    chances = np.concatenate([chance_by_ranks(*np.split(made(35, memory, seed), [30])[::-1]) for seed in range(5)])
    assert (chances < 0.01).mean() < 0.02


def test_cases_that_missed_runs_are_judged_by_those_they_have():
    values = made(35)
    values[30:] += 100.0
    values[:10, 0], values[:30, 1] = np.nan, np.nan
    found = chance_by_ranks(values[30:], values[:30])
    assert found[0] > found[2]
    assert np.isnan(found[1])
