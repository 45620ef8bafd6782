"""What links the numbers of two sub-eras."""

import math

import numpy as np
import pandas as pd
import pytest
from run_rows import observations

from harness.reading.history.environments.bridges import bridge, in_words


def side(name, shifts, **fields):
    seeded = enumerate(shifts, 100 * ord(name))
    return pd.concat([observations(f"{name}{seed}", shift=shift, seed=seed, **fields) for seed, shift in seeded])


def test_a_faster_sub_era_has_a_factor_of_times_below_1_and_its_effects_stay():
    before, after = side("a", [0, 0.01, -0.01], spread=0.01), side("b", [-0.3, -0.31, -0.29], spread=0.01)
    times, effects = bridge(before, after, "times"), bridge(before, after, "effects")
    assert times.low < math.exp(-0.3) < times.high < 1
    assert (times.cases, times.workloads, effects.cases) == (36, 12, 24)
    assert effects.unchanged
    assert "effects as before on the whole" in in_words(times, effects)


def test_effects_that_fall_are_said():
    before, after = side("a", [0], spread=0.01), side("b", [0], spread=0.01)
    after["log_effect"] -= 0.2
    said = in_words(bridge(before, after, "times"), bridge(before, after, "effects"))
    assert "effects 0.8" in said
    assert "as before" not in said


def test_times_of_one_run_a_side_have_no_interval_for_a_run_may_be_slow_as_a_whole():
    times = bridge(side("a", [0]), side("b", [0.5]), "times")
    assert not times.bounded
    assert in_words(times, None).endswith("over 36 common cases (no interval from times of one run a side)")


def test_too_few_workloads_have_no_interval():
    assert not bridge(side("a", [0, 0], workloads=7), side("b", [0, 0], workloads=7), "times").bounded
    assert bridge(side("a", [0, 0], workloads=8), side("b", [0, 0], workloads=8), "times").bounded


def test_why_neither_times_nor_effects_have_an_interval_is_said_once():
    few = [bridge(side("a", [0, 0], workloads=7), side("b", [0, 0], workloads=7), of) for of in ("times", "effects")]
    said = in_words(*few)
    assert said.endswith("(no interval from fewer than 8 workloads)")
    assert said.count("no interval") == 1


def test_only_cases_that_both_sides_measured_at_one_size_count():
    before = side("a", [0, 0], workloads=20)
    assert bridge(before, side("b", [0, 0], workloads=9), "times").cases == 27
    assert bridge(before.assign(size="small"), side("b", [0, 0]).assign(size="full"), "times") is None


@pytest.mark.parametrize("runs", [3, 6])
def test_the_interval_holds_its_level_although_all_cases_of_a_run_are_slow_together(runs):
    random = np.random.default_rng(5)
    trials = 40
    held = 0
    for _ in range(trials):
        shared = random.normal(0, 0.04, 2 * runs)
        found = [
            side(name, shifts, spread=0.01, workloads=10)
            for name, shifts in (("a", shared[:runs]), ("b", shared[runs:] + 0.1))
        ]
        between = random.normal(0, 0.02, 10)
        found[1]["log_s"] += found[1]["workload"].str.partition("-")[2].astype(int).map(dict(enumerate(between)))
        bridged = bridge(*found, "times")
        held += bridged.low <= math.exp(0.1) <= bridged.high
    assert held >= trials - 2


def test_runs_that_resemble_their_neighbours_widen_the_interval():
    shifts = [0.03, 0.01, -0.01, -0.03]

    def width(order):
        found = bridge(side("a", order), side("b", order), "times")
        return found.high / found.low

    slowly, alternating = sorted([*shifts, *shifts]), [0.03, -0.03, 0.01, -0.01] * 2
    assert sorted(alternating) == slowly
    assert width(slowly) > 1.1 * width(alternating) > 1.1
