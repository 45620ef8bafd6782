"""Simulated series are what their truth says."""

import numpy as np
import pytest
from scipy import stats

from studies.history.simulated_series import (
    MODELS,
    RUNS,
    SCENARIOS,
    autocorrelated,
    draw_steps,
    draw_unchanged,
    gaussian,
    simulate_case,
    simulate_drift,
    simulate_series,
)

MANY = 200_000


@pytest.mark.parametrize("name", MODELS)
def test_every_noise_has_the_mean_and_the_spread_that_it_is_scaled_by(name: str) -> None:
    values = np.concatenate([MODELS[name](np.random.default_rng(seed), MANY // 50) for seed in range(50)])
    assert np.mean(values) == pytest.approx(0, abs=0.03)
    assert np.std(values) == pytest.approx(1, rel=0.2 if name == "t, 3 d.f." else 0.04)  # its spread settles slowly


def test_only_processes_with_a_memory_let_a_run_resemble_the_one_before() -> None:
    rng = np.random.default_rng(1)
    remembered = {
        name: stats.spearmanr(values[1:], values[:-1]).statistic
        for name, values in ((name, noise(rng, 20_000)) for name, noise in MODELS.items())
    }
    assert {name for name, alike in remembered.items() if alike > 0.1} == {
        "AR(1)",
        "day and night",
        "regimes",
        "bursts",
        "visits",
        "long memory",
        "ambient",
        "queue",
    }


def test_a_step_begins_at_the_run_that_the_series_names() -> None:
    made = simulate_series(np.random.default_rng(2), gaussian, 0.01, slower=0.25)
    assert made.changed is not None
    before, after = np.split(made.values, [made.changed])
    assert after.min() - before.max() > 0.1
    assert np.exp(after.mean() - before.mean()) == pytest.approx(1.25, abs=0.01)


def test_the_rounds_of_a_run_lie_around_its_value() -> None:
    made = simulate_series(np.random.default_rng(3), gaussian, 0.03)
    assert np.abs(made.rounds.mean(axis=1) - made.values).max() < 0.01
    assert made.until(10).rounds.shape == (10, 30)


def test_a_drift_has_no_run_at_which_it_happens() -> None:
    made = simulate_drift(np.random.default_rng(4), gaussian, 0.0, slower=0.10)
    assert made.changed is None
    assert np.exp(made.values[-1] - made.values[0]) == pytest.approx(1.10)
    assert np.diff(made.values).max() < 0.002


def test_a_change_of_the_machine_leaves_the_effect_alone_and_a_masked_one_hides_in_the_time() -> None:
    machine, technique = SCENARIOS["masked: loses 10 %, machine 9 % faster"]
    made = simulate_case(np.random.default_rng(5), machine=machine, technique=technique, spread=0.0, common=0.0)
    assert made.shares.changed == made.times.changed
    assert made.shares.values[-1] == pytest.approx(np.log(1.10))
    assert made.times.values[-1] == pytest.approx(np.log(1.10 / 1.09))
    alone = simulate_case(np.random.default_rng(6), machine=0.15, technique=0.0)
    assert np.abs(alone.shares.values).max() < 0.05


def test_every_detector_is_given_the_same_series() -> None:
    for drawn in (draw_unchanged, draw_steps):
        first, again = drawn(2), drawn(2)
        assert list(first) == list(again)
        assert all(
            np.array_equal(a.values, b.values) for key in first for a, b in zip(first[key], again[key], strict=True)
        )
    assert len(draw_unchanged(1)["AR(1)", 0.03][0].values) == RUNS


def test_autocorrelated_noise_forgets_how_it_began() -> None:
    rng = np.random.default_rng(7)
    assert np.std([autocorrelated(rng, 1)[0] for _ in range(2000)]) == pytest.approx(1, rel=0.06)
