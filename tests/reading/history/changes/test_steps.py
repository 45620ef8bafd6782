"""Where a series changes its level, and where it only looks as if it did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from harness.reading.history.changes.steps import steps

NOISE = {
    "gaussian": lambda rng, runs: rng.standard_normal(runs),
    "skewed": lambda rng, runs: (rng.lognormal(0, 0.8, runs) - 1.38) / 1.31,
    "heavy-tailed": lambda rng, runs: rng.standard_t(3, runs) / np.sqrt(3),
    "bimodal": lambda rng, runs: rng.choice([-1.0, 1.0], runs) + 0.3 * rng.standard_normal(runs),
    "autocorrelated": lambda rng, runs: signal.lfilter([0.8], [1, -0.6], rng.standard_normal(runs + 50))[50:],
}


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
    assert sum(bool(steps(series(noise, seed, spread=0.03))) for seed in range(40)) <= 2


@pytest.mark.parametrize("noise", NOISE)
def test_a_step_of_5_percent_is_found_and_dated(series, noise):
    found = [steps(series(noise, seed, at_60=0.05)) for seed in range(20)]
    assert sum(any(abs(step.at - 60) <= 2 for step in each) for each in found) >= 18


def test_five_runs_after_it_are_enough(series):
    found = [steps(series("gaussian", seed, runs=65, at_60=0.05)) for seed in range(20)]
    assert sum(any(abs(step.at - 60) <= 1 for step in each) for each in found) >= 19


def test_its_interval_holds_what_was_planted(series):
    found = [step for seed in range(20) for step in steps(series("heavy-tailed", seed, at_60=0.05))]
    assert sum(step.low < np.exp(0.05) < step.high for step in found) >= 19


def test_a_step_right_before_the_end_is_found_the_surer_the_larger_it_is(series):
    for size in (0.1, 1.0):
        found = [steps(series(noise, seed, runs=65, at_60=size)) for noise in NOISE for seed in range(5)]
        assert sum(any(step.at == 60 for step in each) for each in found) >= 24


def test_a_level_that_soon_comes_back_is_one_episode(series):
    (episode,) = steps(series("gaussian", 1, at_40=0.05, at_52=-0.05))
    assert (episode.at, episode.over) == (40, 52)
    assert episode.low < np.exp(0.05) < episode.high


def test_an_episode_is_a_change_until_it_is_over(series):
    assert [(step.at, step.over) for step in steps(series("gaussian", 1, runs=52, at_40=0.05))] == [(40, None)]


@pytest.mark.parametrize(("runs", "size", "over"), [(86, 0.05, 86), (96, 0.05, None), (86, 0.10, None)])
def test_a_level_like_an_episode_before_may_be_one_until_it_is_larger_or_outlasts_it(series, runs, size, over):
    found = steps(series("gaussian", 1, runs=runs, at_30=0.05, at_40=-0.05, at_80=size))
    assert [(step.at, step.over) for step in found] == [(30, 40), (80, over)]


def test_an_episode_may_have_several_levels_and_begin_right_after_another(series):
    found = steps(series("gaussian", 1, at_30=0.05, at_36=0.05, at_42=-0.10, at_48=0.05, at_57=-0.05))
    assert [(step.at, step.over) for step in found] == [(30, 42), (48, 57)]


def test_a_series_that_begins_like_a_later_episode_has_not_changed(series):
    assert [(step.at, step.over) for step in steps(series("gaussian", 1, at_6=-0.05, at_50=0.05, at_60=-0.05))] == [
        (50, 60)
    ]


@pytest.mark.parametrize(("at", "runs", "opening"), [(8, 100, True), (8, 30, False), (25, 200, False)])
def test_a_level_that_only_the_first_few_of_many_runs_had_is_an_opening(series, at, runs, opening):
    (step,) = steps(series("gaussian", 1, runs=runs, **{f"at_{at}": -0.05}))
    assert (step.over, step.opening) == (None, opening)


def test_small_steps_are_found_beside_a_large_one(series):
    found = steps(series("gaussian", 1, at_20=0.05, at_40=1.0, at_70=-0.05))
    assert [step.at for step in found] == [20, 40, 70]


@pytest.mark.parametrize("planted", [{"at_40": 0.05, "at_52": 0.05}, {"at_40": 0.10, "at_52": -0.05}])
def test_a_level_that_goes_on_or_comes_back_in_part_has_changed_twice(series, planted):
    assert [(step.at, step.over) for step in steps(series("gaussian", 1, **planted))] == [(40, None), (52, None)]


def test_a_level_that_held_for_long_was_no_episode(series):
    found = steps(series("gaussian", 1, at_30=0.05, at_60=-0.05))
    assert [(step.at, step.over) for step in found] == [(30, None), (60, None)]


def test_bursts_of_slow_runs_are_no_changes():
    rng = np.random.default_rng(1)
    bursts = [rng.standard_normal(100) + 5.0 * np.isin(np.arange(100) // 8, (4, 9)) for _ in range(10)]
    assert all(step.over for each in bursts for step in steps(0.01 * each))


def test_a_step_below_the_margin_is_none(series):
    values = series("gaussian", 1, spread=0.001, at_60=0.02)
    assert steps(values, margin=0.05) == []
    assert [step.at for step in steps(values, margin=0.01)] == [60]


def test_one_run_that_is_far_off_is_no_step(series):
    values = series("gaussian", 1)
    values[50] += 10.0
    assert steps(values) == []


@pytest.mark.parametrize("values", [[], [1.0] * 100, [0.0, 1.0] * 50, [0.0] * 9 + [700.0]], ids=len)
def test_odd_series_have_no_steps(values):
    assert steps(np.array(values, dtype=float)) == []


def test_times_that_no_machine_reaches_are_still_told(series):
    (step,) = steps(series("gaussian", 1, at_60=1400.0))
    assert step.at == 60
    assert np.isfinite(step.ratio)


@given(st.lists(st.floats(-500, 500), max_size=40), st.floats(-50, 50))
def test_a_constant_factor_changes_nothing(values, factor):
    found, shifted = (steps(np.round(np.array(values, dtype=float), 3) + add) for add in (0.0, np.round(factor, 3)))
    assert [step.at for step in found] == [step.at for step in shifted]
