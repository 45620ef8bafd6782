"""What reading the loss costs, by how often it is read."""

import pytest
from runs import arm, effect, run, save, trial

from accelbench.results import effects, find_results, tabulate_arms
from accelbench.results.sweeps import log_intervals


@pytest.fixture
def found(tmp_path):
    def of(*arms):
        return log_intervals(
            effects(tabulate_arms(find_results(save(run(trial(*arms)), tmp_path / "0001_a.json")).results))
        )

    return of


def reading(level, speedup, low=0.8, high=1.25):
    return arm({"log_interval": level}, 1 / speedup, effect=effect(speedup, low, high, "undecided"))


NEVER = arm({"log_interval": "never"}, 1.0)


def test_intervals_are_in_the_order_of_their_steps(found):
    (loop,) = found(NEVER, reading("every-100", 0.99), reading("every-10", 0.9), reading("every-step", 0.5))
    assert loop.arms["every"].tolist() == [1, 10, 100]


def test_the_time_of_a_step_is_relative_to_one_without_readings(found):
    (loop,) = found(NEVER, reading("every-step", 0.5, low=0.4, high=0.625))
    (only,) = loop.arms.to_dict("records")
    assert (only["time"], only["time_low"], only["time_high"]) == pytest.approx((2.0, 1.6, 2.5))


@pytest.mark.parametrize("level", ["sometimes", "every-0", "every-", "every--1"])
def test_a_level_that_names_no_number_of_steps_is_left_out(found, level):
    assert found(NEVER, reading(level, 0.5)) == []


def test_nothing_is_said_where_the_baseline_reads_its_loss(found):
    assert found(arm({"log_interval": "every-100"}, 1.0), reading("every-step", 0.5)) == []
