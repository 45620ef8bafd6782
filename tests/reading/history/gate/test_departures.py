"""How surely the newest runs depart from those before them."""

import numpy as np
from scipy import signal
from scipy.stats import false_discovery_control

from harness.reading.history.gate.departures import Rows, departures

CASES = 200


def chances(values):
    every = np.ones(values.shape, dtype=bool)
    return departures(values, Rows(new=every, reference=every, states=np.zeros(values.shape, dtype=int))).p


def resembling(seed, runs=30, memory=0.6):
    noise = np.random.default_rng(seed).standard_normal((runs + 50, CASES))
    return signal.lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], noise, axis=0)[50:]


def test_several_slow_runs_are_nothing_rare_where_runs_resemble_their_neighbours():
    assert min(false_discovery_control(chances(resembling(seed))).min() for seed in range(10)) > 0.01


def busy_at_times(seed, runs=30, lasts=7):
    rng = np.random.default_rng(seed)
    begins = rng.random((runs + lasts, CASES)) < 0.01
    busy = np.array([begins[run : run + lasts].any(axis=0) for run in range(runs)])
    return rng.standard_normal((runs, CASES)) + 6.0 * busy


def test_a_slow_time_that_goes_on_is_held_against_how_those_before_began():
    assert min(false_discovery_control(chances(busy_at_times(seed))).min() for seed in range(10)) > 0.01


def test_what_departs_far_is_found_there_all_the_same():
    values = resembling(0)
    values[-1, :5] -= 7.0
    assert (false_discovery_control(chances(values))[:5] < 0.01).all()
