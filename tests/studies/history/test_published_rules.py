"""The rules of other tools do what their documentation says."""

import numpy as np
import pytest
from scipy import stats

from studies.history import rules
from studies.history.rules import Alarm
from studies.history.simulated_series import Series, gaussian, simulate_series


def runs(*values: float) -> Series:
    """Return a series of logarithms, whose rounds are spread evenly around them by 1 % each way."""
    logs = np.array(values)
    return Series(values=logs, rounds=logs[:, None] + np.linspace(-0.01, 0.01, 30))


def test_a_fixed_threshold_looks_at_the_run_before_and_one_way_only() -> None:
    made = runs(0, np.log(1.06), np.log(1.06), 0, np.log(1.12))
    assert rules.previous_run(made, threshold=0.05) == [Alarm(1), Alarm(4)]
    assert rules.previous_run(made, threshold=0.10) == [Alarm(4)]


def test_criterion_sees_what_is_certain_within_two_runs_and_ignores_less_than_one_percent() -> None:
    assert rules.criterion(runs(0, np.log(1.008), np.log(1.008), np.log(1.05))) == [Alarm(3)]
    assert rules.criterion(runs(0, -0.05)) == [Alarm(1, slower=False)]


def test_lnt_needs_the_least_of_the_new_rounds_to_be_clear_of_the_old_ones() -> None:
    assert rules.lnt(runs(0, 0.03)) == []
    assert rules.lnt(runs(0, 0.10, 0.10, 0)) == [Alarm(1), Alarm(3, slower=False)]


def test_benchers_limit_is_that_of_its_documentation() -> None:
    # 25 metrics of mean 100 and standard deviation 10, boundary 0.977: the limit is 121.46.
    metrics = stats.zscore(np.arange(25.0), ddof=1) * 10 + 100
    alarms = [
        rules.bencher(Series(values=np.log([*metrics, new]), rounds=np.empty((26, 0))), boundary=0.977)
        for new in (121.4, 121.5)
    ]
    assert [Alarm(25) in told for told in alarms] == [False, True]


def test_perfherder_dates_a_step_and_stays_silent_when_five_runs_have_followed() -> None:
    made = simulate_series(np.random.default_rng(1), gaussian, 0.005, slower=0.10)
    assert made.changed is not None
    assert rules.perfherder(made) == [Alarm(made.changed)]
    assert rules.perfherder(made.until(made.changed + 5)) == []
    unmoved = simulate_series(np.random.default_rng(2), gaussian, 0.005)
    assert rules.perfherder(unmoved) == []


@pytest.mark.parametrize("rule", [rules.criterion, rules.lnt, rules.bencher, rules.perfherder])
def test_no_rule_alarms_where_every_run_is_alike(rule) -> None:
    rounds = np.tile(np.linspace(-0.01, 0.01, 30), (40, 1))
    assert rule(Series(values=np.linspace(0, 1e-6, 40), rounds=rounds)) == []
