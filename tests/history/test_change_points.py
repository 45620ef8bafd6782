"""Where a series changes its level, drifts or wanders, and where it only looks as if it did."""

from functools import cache

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from accelbench.history.change_points import is_random_walk, measure_level_shifts, segment

NOISE = {
    "gaussian": lambda rng, runs: rng.standard_normal(runs),
    "skewed": lambda rng, runs: (rng.lognormal(0, 0.8, runs) - 1.38) / 1.31,
    "heavy-tailed": lambda rng, runs: rng.standard_t(3, runs) / np.sqrt(3),
    "bimodal": lambda rng, runs: rng.choice([-1.0, 1.0], runs) + 0.3 * rng.standard_normal(runs),
    "autocorrelated": lambda rng, runs: scipy.signal.lfilter([0.8], [1, -0.6], rng.standard_normal(runs + 50))[50:],
}


def find_level_shifts(values):
    return _find_level_shifts(tuple(values))


@cache
def _find_level_shifts(values):
    """Return what is found, once for all tests that look at the same series."""
    return measure_level_shifts(segment(np.array(values)))


def find_drift(values):
    return segment(values).drift


@pytest.fixture
def series():
    def made(noise, seed, runs=100, spread=0.01, **planted):
        values = spread * NOISE[noise](np.random.default_rng(seed), runs)
        for at, size in planted.items():
            values[int(at.removeprefix("at_")) :] += size
        return values

    return made


@pytest.mark.parametrize("noise", NOISE)
def test_hardly_any_unchanged_series_has_a_step(series, noise):
    assert sum(bool(find_level_shifts(series(noise, seed, spread=0.03))) for seed in range(20)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
def test_a_step_of_5_percent_is_found_and_dated(series, noise):
    found = [find_level_shifts(series(noise, seed, at_60=0.05)) for seed in range(20)]
    assert sum(any(abs(step.at - 60) <= 2 for step in each) for each in found) >= 18


def test_five_runs_after_it_are_enough(series):
    found = [find_level_shifts(series("gaussian", seed, runs=65, at_60=0.05)) for seed in range(20)]
    assert sum(any(abs(step.at - 60) <= 1 for step in each) for each in found) >= 19


@pytest.mark.slow
def test_its_interval_holds_what_was_planted(series):
    found = [step for seed in range(20) for step in find_level_shifts(series("heavy-tailed", seed, at_60=0.05))]
    assert sum(step.low < np.exp(0.05) < step.high for step in found) >= 19


def test_a_step_right_before_the_end_is_found_the_surer_the_larger_it_is(series):
    for size in (0.1, 1.0):
        found = [find_level_shifts(series(noise, seed, runs=65, at_60=size)) for noise in NOISE for seed in range(5)]
        assert sum(any(step.at == 60 for step in each) for each in found) >= 24


def test_a_level_that_soon_comes_back_is_one_transient(series):
    (transient,) = find_level_shifts(series("gaussian", 1, at_40=0.05, at_52=-0.05))
    assert (transient.at, transient.end) == (40, 52)
    assert transient.low < np.exp(0.05) < transient.high


def test_an_transient_is_a_change_until_it_is_over(series):
    assert [(step.at, step.end) for step in find_level_shifts(series("gaussian", 1, runs=52, at_40=0.05))] == [
        (40, None)
    ]


@pytest.mark.parametrize(("runs", "size", "over"), [(86, 0.05, 86), (96, 0.05, None), (86, 0.10, None)])
def test_a_level_like_an_transient_before_may_be_one_until_it_is_larger_or_outlasts_it(series, runs, size, over):
    found = find_level_shifts(series("gaussian", 1, runs=runs, at_30=0.05, at_40=-0.05, at_80=size))
    assert [(step.at, step.end) for step in found] == [(30, 40), (80, over)]


def test_an_transient_may_have_several_levels_and_begin_right_after_another(series):
    found = find_level_shifts(series("gaussian", 1, at_30=0.05, at_36=0.05, at_42=-0.10, at_48=0.05, at_57=-0.05))
    assert [(step.at, step.end) for step in found] == [(30, 42), (48, 57)]


def test_a_series_that_begins_like_a_later_transient_has_not_changed(series):
    assert [
        (step.at, step.end) for step in find_level_shifts(series("gaussian", 1, at_6=-0.05, at_50=0.05, at_60=-0.05))
    ] == [(50, 60)]


@pytest.mark.parametrize(("at", "runs", "opening"), [(8, 100, True), (8, 30, False), (25, 200, False)])
def test_a_level_that_only_the_first_few_of_many_runs_had_is_an_opening(series, at, runs, opening):
    (step,) = find_level_shifts(series("gaussian", 1, runs=runs, **{f"at_{at}": -0.05}))
    assert (step.end, step.after_opening) == (None, opening)


def test_small_steps_are_found_beside_a_large_one(series):
    found = find_level_shifts(series("gaussian", 1, at_20=0.05, at_40=1.0, at_70=-0.05))
    assert [step.at for step in found] == [20, 40, 70]


@pytest.mark.parametrize("planted", [{"at_40": 0.05, "at_52": 0.05}, {"at_40": 0.10, "at_52": -0.05}])
def test_a_level_that_goes_on_or_comes_back_in_part_has_changed_twice(series, planted):
    assert [(step.at, step.end) for step in find_level_shifts(series("gaussian", 1, **planted))] == [
        (40, None),
        (52, None),
    ]


def test_a_level_that_held_for_long_was_no_transient(series):
    found = find_level_shifts(series("gaussian", 1, at_30=0.05, at_60=-0.05))
    assert [(step.at, step.end) for step in found] == [(30, None), (60, None)]


def test_bursts_of_slow_runs_are_no_changes():
    rng = np.random.default_rng(1)
    bursts = [rng.standard_normal(100) + 5.0 * np.isin(np.arange(100) // 8, (4, 9)) for _ in range(10)]
    assert all(step.end for each in bursts for step in find_level_shifts(0.01 * each))


@pytest.mark.parametrize(("size", "found"), [(0.02, [60]), (0.008, [])])
def test_a_step_below_the_margin_is_none(series, size, found):
    assert [step.at for step in find_level_shifts(series("gaussian", 1, spread=0.001, at_60=size))] == found


def test_one_run_that_is_far_off_is_no_step(series):
    values = series("gaussian", 1)
    values[50] += 10.0
    assert find_level_shifts(values) == []


@pytest.mark.parametrize("values", [[], [1.0] * 100, [0.0, 1.0] * 50, [0.0] * 9 + [700.0]], ids=len)
def test_odd_series_have_no_steps(values):
    assert find_level_shifts(np.array(values, dtype=float)) == []


def test_times_that_no_machine_reaches_are_still_reported(series):
    (step,) = find_level_shifts(series("gaussian", 1, at_60=1400.0))
    assert step.at == 60
    assert np.isfinite(step.ratio)


@given(st.lists(st.floats(-500, 500), max_size=40), st.floats(-50, 50))
def test_a_constant_factor_changes_nothing(values, factor):
    found, shifted = (
        find_level_shifts(np.round(np.array(values, dtype=float), 3) + add) for add in (0.0, np.round(factor, 3))
    )
    assert [step.at for step in found] == [step.at for step in shifted]


def gaussian(seed, runs=100):
    return 0.01 * np.random.default_rng(seed).standard_normal(runs)


@pytest.mark.slow
def test_a_drift_is_reported_as_a_drift_with_its_slope_and_not_as_steps():
    drifting = [gaussian(seed) + np.linspace(0, 0.1, 100) for seed in range(10)]
    found = [(find_drift(values), find_level_shifts(values)) for values in drifting]
    assert sum(slow is not None and slow.low < np.exp(0.1) < slow.high and not sudden for slow, sudden in found) >= 9


def test_a_step_is_no_drift():
    assert [find_drift(gaussian(seed) + 0.05 * (np.arange(100) >= 60)) for seed in range(10)] == [None] * 10


def test_a_step_within_a_drift_leaves_both():
    values = gaussian(1) + np.linspace(0, 0.1, 100) + 0.1 * (np.arange(100) >= 50)
    assert [step.at for step in find_level_shifts(values)] == [50]
    assert find_drift(values).low < np.exp(0.1) < find_drift(values).high


def test_an_unchanged_series_does_not_drift():
    assert [find_drift(gaussian(seed)) for seed in range(20)] == [None] * 20


@pytest.mark.parametrize("values", [[], [1.0] * 100, np.linspace(-20, 20, 15)], ids=["none", "constant", "short"])
def test_a_series_that_cannot_tell_does_not_drift(values):
    assert find_drift(np.array(values, dtype=float)) is None


def test_a_drift_beyond_all_numbers_is_still_a_number():
    found = find_drift(np.linspace(0, 600, 30) + gaussian(1, 30))
    assert np.isfinite(found.ratio)


NUMBER, AT = 80, 40


def slow_moves(seed, runs=100):
    """Return runs of their own on a level that follows an autoregression, each with half of the variance."""
    own, pushes = np.random.default_rng(seed).standard_normal((2, runs + 200))
    level = scipy.signal.lfilter([np.sqrt(1 - 0.9**2)], [1.0, -0.9], pushes)
    return ((own + level) / np.sqrt(2))[200:]


def test_hardly_any_series_that_wanders_has_a_step():
    assert sum(bool(find_level_shifts(0.03 * slow_moves(seed))) for seed in range(20)) <= 2


def test_a_step_is_distinguished_from_wandering_by_the_run_at_which_it_happens():
    own = np.random.default_rng(1).standard_normal(NUMBER)
    at_once, bit_by_bit = 2.0 * (np.arange(NUMBER) >= AT), np.cumsum(0.3 * own[::-1])
    assert not is_random_walk(own + at_once, AT)
    assert is_random_walk(own + bit_by_bit, AT)


def test_a_step_between_levels_without_any_spread_is_one():
    assert not is_random_walk(1.0 * (np.arange(NUMBER) >= AT), AT)
