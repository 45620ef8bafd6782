"""What trials showed of configurations, and the spread between two builds of the same ones."""

from random import Random

import numpy as np
import pytest

from accelbench.advise.observations import Observation, Observations, spread_between

ARMS = [(name,) for name in "abcdef"]


def make_trials(number, *, build_noise, seed=0, missing=0.0):
    """Return trials in which every arm has its own speed, and in each trial its own deviation from that."""
    rng = Random(seed)
    found = []
    for _ in range(number):
        common = rng.gauss(0, 0.5)
        there = [arm for arm in ARMS if rng.random() >= missing]
        found.append({arm: np.full(5, ord(arm[0]) + common + rng.gauss(0, build_noise)) for arm in there})
    return found


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_spread_between_trials_is_that_of_the_difference_of_two(missing):
    spread = spread_between(make_trials(200, build_noise=0.01, missing=missing))
    assert spread.deviation == pytest.approx(0.01 * 2**0.5, rel=0.1)


def test_its_degrees_of_freedom_are_what_arms_and_trials_leave():
    assert spread_between(make_trials(4, build_noise=0.01)).freedom == (4 - 1) * (len(ARMS) - 1)


@pytest.mark.parametrize("number", [0, 1])
def test_one_trial_has_no_spread(number):
    spread = spread_between(make_trials(number, build_noise=0.01))
    assert spread.freedom == 0
    assert spread.reach(1, alpha=0.01) == float("inf")


def first_looks(*, build_noise=0.01):
    """Return the observations of four trials of first looks."""
    observations = Observations(baseline=ARMS[0])
    for trial in make_trials(4, build_noise=build_noise):
        add(observations, trial)
    return observations


def add(observations, trial):
    reference, *others = trial
    shown = {each: Observation(log_ratios=tuple(trial[each] - trial[reference])) for each in others}
    observations.add({reference: Observation()} | shown)


def test_before_the_elimination_any_two_configurations_may_be_compared():
    observations = first_looks()
    wide = observations.judge(ARMS[1], ARMS[2], alpha=0.01, noise=0.01)
    assert wide.half_width == pytest.approx(spread_of(observations).reach(4, alpha=0.01 / 15))  # pairs of six


def test_finalists_are_judged_by_their_own_trials_and_by_the_pairs_of_finalists():
    observations = first_looks()
    observations.begin_elimination(3)
    for trial in make_trials(5, build_noise=0.01, seed=1):
        add(observations, trial)
    judged = observations.judge(ARMS[1], ARMS[2], alpha=0.01, noise=0.01)
    assert judged.pairs == 5 * 5
    assert judged.half_width == pytest.approx(spread_of(observations).reach(5, alpha=0.01 / 3))
    assert observations.judge(ARMS[1], ("never tried",), alpha=0.01, noise=0.01) is None


def spread_of(observations):
    return spread_between(observations.final_trials or observations.trials)


def test_one_slow_build_widens_the_interval_of_no_candidate_that_was_not_in_it():
    disturbed, calm = Observations(baseline=ARMS[0]), Observations(baseline=ARMS[0])
    for observations in (disturbed, calm):
        for number, trial in enumerate(make_trials(4, build_noise=0.01)):
            if observations is disturbed and number == 2:
                trial[ARMS[1]] -= 0.4
            add(observations, {arm: values - ord(arm[0]) for arm, values in trial.items()})
    slow, other = (disturbed.judge_over_baseline(arm, alpha=0.01, noise=0.03) for arm in ARMS[1:3])
    assert slow.low < 0.75
    assert other.half_width < 2 * calm.judge_over_baseline(ARMS[2], alpha=0.01, noise=0.03).half_width


def test_a_candidate_of_one_build_is_judged_by_how_much_the_builds_of_others_differ():
    observations = Observations(baseline=ARMS[0])
    for number, trial in enumerate(make_trials(4, build_noise=0.01)):
        add(observations, {arm: values for arm, values in trial.items() if number == 0 or arm != ARMS[1]})
    once, often = (observations.judge_over_baseline(arm, alpha=0.01, noise=0.03) for arm in ARMS[1:3])
    assert once.pairs == 5
    assert often.half_width < once.half_width < 3 * often.half_width
