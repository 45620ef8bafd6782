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


def test_what_departs_far_is_found_there_all_the_same():
    values = resembling(0)
    values[-1, :5] -= 7.0
    assert (false_discovery_control(chances(values))[:5] < 0.01).all()
