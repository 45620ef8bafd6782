"""Simulated histories are what their truth says."""

import numpy as np
import pytest

from accelbench.history.observations import KINDS, TEXTS
from studies.history.history_tables import LOSES, RULES, simulate_scenario
from studies.history.simulated_histories import CASES, Scenario, simulate_history, truncate


@pytest.fixture(scope="module")
def masked():
    change = Scenario(machine=1 / 1.09 - 1, technique=0.10, losers=10, runs=12, at=6, spread=0.0)
    return simulate_history(np.random.default_rng(1), change)


def test_a_history_has_every_column_of_real_ones_and_every_case_in_every_run(masked) -> None:
    history, _ = masked
    assert set(history.observations) == set(TEXTS) | set(KINDS)
    assert (history.observations.groupby("run", observed=True)["case"].nunique() == CASES).all()
    assert history.observations["run"].astype(str).unique().tolist() == history.runs["run"].tolist()


def test_only_the_cases_that_lost_changed_their_effect(masked) -> None:
    history, losing = masked
    effects = history.observations.pivot_table(index="run", columns="case", values="log_effect", observed=True)
    moved = effects.iloc[-1] - effects.iloc[0]
    assert len(losing) == 10
    assert moved[sorted(losing)].to_numpy() == pytest.approx(-np.log(1.10))
    assert moved.drop(sorted(losing)).abs().max() == pytest.approx(0)


def test_an_effect_is_the_difference_of_what_baseline_and_candidate_took(masked) -> None:
    first = masked[0].observations.iloc[:3]
    assert first["baseline"].tolist() == [True, False, False]
    assert (first["log_s"].iloc[0] - first["log_s"].iloc[1:]).tolist() == pytest.approx(first["log_effect"].iloc[1:])


def test_an_earlier_state_of_a_history_knows_nothing_of_later_runs(masked) -> None:
    earlier = truncate(masked[0], 4)
    assert earlier.observations["run"].cat.categories.tolist() == earlier.runs["run"].tolist()
    assert len(earlier.observations) == 4 * CASES


def test_the_gate_finds_what_a_technique_lost_and_blames_no_other() -> None:
    history, losing = next(simulate_scenario(LOSES, 20))
    assert RULES[0].find(history) == losing
