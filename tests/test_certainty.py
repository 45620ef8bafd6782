"""What would decide an effect that is undecided, and in what state a run found the machine."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import arm, run, trial

from accelbench.certainty import (
    budget_of,
    describe_joined,
    describe_odd_visits,
    times_the_pairs,
    what_would_decide,
)
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Effect, TrialRecord, Visit
from accelbench.schema.verdict import NEGLIGIBLE, verdict

LOGS = st.floats(-2, 2)
REACH = st.floats(1e-3, 2)


def interval(centre, below, above):
    return math.exp(centre), math.exp(centre - below), math.exp(centre + above)


def undecided(low, high, noise):
    return verdict(math.log(low), math.log(high), noise, NEGLIGIBLE) == "undecided"


def test_half_the_width_takes_four_times_the_pairs() -> None:
    speedup, low, high = interval(math.log(1.01) + 0.1, 0.2, 0.2)
    assert times_the_pairs(speedup, low, high, 0.01) == pytest.approx(4)


def test_only_the_side_that_reaches_over_the_border_must_shrink() -> None:
    speedup, low, _ = interval(math.log(1.01) + 0.1, 0.2, 0.0)
    assert times_the_pairs(speedup, low, 50.0, 0.01) == pytest.approx(4)


def test_what_seems_the_same_needs_an_interval_inside_the_zone() -> None:
    zone = math.log1p(0.05)
    speedup, low, high = interval(0.0, 3 * zone, zone)
    assert times_the_pairs(speedup, low, high, 0.05) == pytest.approx(9)


def test_what_is_negligible_needs_fewer_pairs_than_the_border_that_it_is_nearer_to() -> None:
    speedup, low, high = interval(math.log(1.012), 0.1, 0.1)
    assert times_the_pairs(speedup, low, high, 0.01) == pytest.approx((0.1 / math.log(1.05 / 1.012)) ** 2)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.5), (0.5, math.inf), (0.0, math.inf)])
def test_an_interval_without_an_end_tells_nothing(low: float, high: float) -> None:
    assert times_the_pairs(1.2, low, high, 0.01) is None


def test_an_effect_that_is_almost_decided_asks_for_more_pairs_than_there_are() -> None:
    needed = what_would_decide(1.0, disturbed=False, settled=True, workers=1, budget_s=0.5)
    assert needed == "about 2 times the pairs (--accel-budget=1)"


@pytest.mark.parametrize(("said", "budget_s"), [(3, 3.0), (None, None), (True, None), (-1, None), (1e12, None)])
def test_a_budget_that_cannot_be_one_is_not_known(said: float | None, budget_s: float | None) -> None:
    assert budget_of(run(settings={"budget_s": said})) == budget_s


@given(LOGS, REACH, REACH, st.floats(0.001, 0.2))
def test_so_many_times_the_pairs_would_decide(centre: float, below: float, above: float, noise: float) -> None:
    speedup, low, high = interval(centre, below, above)
    times = times_the_pairs(speedup, low, high, noise)
    assert times is not None
    assert times >= 1
    if math.isfinite(times) and undecided(low, high, noise):
        narrower = math.sqrt(1.001 * times)
        _, low, high = interval(centre, below / narrower, above / narrower)
        assert not undecided(low, high, noise)


FAR = reason("cores-far-apart", latency_s=4.3e-7, best_s=2.1e-7)
SLOW = reason("slower-than-ever", times=1.4)


def odd(*causes: Reason, span_s: float | None = 20.0) -> Visit:
    return Visit(begun_s=1.0, odd=list(causes), span_s=span_s)


def visited(*visits: Visit) -> TrialRecord:
    return trial(arm({"amp": "fp32"}, 1.0), visits=list(visits))


USUAL, AGAIN = odd(), Visit(begun_s=90.0, span_s=5.0, is_repetition=True)


def test_the_times_of_odd_visits_add_up_over_all_trials_and_repetitions_are_counted() -> None:
    trials = [visited(USUAL, odd(FAR), AGAIN), visited(odd(FAR), USUAL, AGAIN), visited(USUAL, USUAL)]
    assert describe_odd_visits(trials) == "In this run, the cores lay far apart for 40 s; 2 visits were repeated"


def test_a_visit_shorter_than_a_second_did_not_take_0_s() -> None:
    trials = [visited(odd(FAR, span_s=0.2))]
    assert describe_odd_visits(trials) == "In this run, the cores lay far apart for 1 s"


def test_a_visit_that_is_odd_for_two_reasons_counts_for_both_and_the_most_frequent_comes_first() -> None:
    assert describe_odd_visits([visited(odd(SLOW), odd(SLOW, FAR, span_s=70.0), AGAIN)]) == (
        "In this run, the machine was slower than at its best for 1 min 30 s "
        "and the cores lay far apart for 1 min 10 s; 1 visit was repeated"
    )


def test_different_arms_with_many_page_faults_are_one_cause() -> None:
    faults = [reason("many-page-faults", arm=name, faults=2e4, usual=50.0) for name in ("amp bf16", "amp fp16")]
    assert describe_odd_visits([visited(*(odd(each, span_s=2.0) for each in faults))]) == (
        "In this run, there were many page faults for 4 s"
    )


def test_where_a_file_does_not_say_how_long_visits_took_they_are_counted() -> None:
    trials = [visited(odd(FAR, span_s=None), odd(FAR))]
    assert describe_odd_visits(trials) == "In this run, the cores lay far apart in 2 visits"


def test_a_cause_of_a_later_version_is_still_readable() -> None:
    assert describe_odd_visits([visited(odd(Reason(code="too-cold")))]) == "In this run, too cold for 20 s"


@pytest.mark.parametrize("visits", [[], [USUAL], [USUAL, AGAIN]])
def test_without_odd_visits_there_is_nothing_to_say(visits: list[Visit]) -> None:
    assert describe_odd_visits([visited(*visits)]) == ""


@pytest.mark.parametrize(
    ("joined", "said"),
    [
        ([0], ""),
        ([1], "1 speedup is the mean of this run and an earlier one"),
        ([2, 0, 5], "2 speedups are means of this run and up to 5 earlier ones"),
    ],
)
def test_what_rests_on_earlier_runs_says_so(joined: list[int], said: str) -> None:
    effects = [
        Effect(against={"amp": "fp32"}, speedup=1.2, low=1.1, high=1.3, verdict="faster", pairs=9, joined_runs=count)
        for count in joined
    ]
    trials = [trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 1.0, effect=each)) for each in effects]
    assert describe_joined(trials) == said
