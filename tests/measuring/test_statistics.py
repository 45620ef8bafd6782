"""The statistics of paired samples, and what is kept of a time series."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelbench.measuring.statistics import (
    STRETCHES,
    Judgement,
    Spread,
    fewest_pairs,
    heads_needed,
    in_order,
    interval,
    judge_groups,
    log_e_value,
)


def judge(
    log_ratios: Sequence[float] | np.ndarray, *, slowdowns: np.ndarray | None = None, **options: Any
) -> Judgement:
    """Judge the pairs of one process."""
    return judge_groups([log_ratios], slowdowns=None if slowdowns is None else [slowdowns], **options)


finite = st.floats(-3, 3, allow_nan=False)


@given(tosses=st.integers(1, 300))
def test_the_e_value_of_a_fair_coin_is_one_on_average(tosses: int) -> None:
    mean = sum(
        math.comb(tosses, heads) * 0.5**tosses * math.exp(log_e_value(heads, tosses)) for heads in range(tosses + 1)
    )
    assert mean == pytest.approx(1.0)


@given(tosses=st.integers(1, 500), alpha=st.sampled_from([0.05, 0.01, 0.001]))
def test_the_heads_needed_are_the_fewest_that_reject(tosses: int, alpha: float) -> None:
    needed = heads_needed(tosses, alpha)
    if needed is None:
        assert log_e_value(tosses, tosses) < -math.log(alpha)
    else:
        assert log_e_value(needed, tosses) >= -math.log(alpha) > log_e_value(needed - 1, tosses)


def test_ten_pairs_of_one_sign_are_the_fewest_that_decide_at_one_per_cent() -> None:
    assert fewest_pairs(0.01) == 10
    assert judge([0.5] * 9, alpha=0.01, noise=0.01).verdict == "undecided"
    assert judge([0.5] * 10, alpha=0.01, noise=0.01).verdict == "faster"


@given(st.lists(finite, min_size=1, max_size=200))
def test_the_interval_holds_the_median_and_mirrors_with_its_sample(ratios: list[float]) -> None:
    low, high = interval(ratios, 0.01)
    assert low <= np.median(ratios) <= high
    assert interval([-ratio for ratio in ratios], 0.01) == (-high, -low)


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.10, "faster"), (-0.10, "slower"), (0.0, "same"), (math.log1p(0.01), "undecided")]
)
def test_each_of_the_four_verdicts_is_reached(shift: float, verdict: str) -> None:
    noise = np.random.default_rng(1).normal(0, 0.02, 2000)
    assert judge(shift + noise, alpha=0.01, noise=0.01).verdict == verdict


def test_looking_after_every_pair_of_a_drifting_spiky_machine_is_hardly_ever_wrong() -> None:
    wrong = sum(_ever_wrong(random.Random(seed)) for seed in range(400))
    # At most 1 % may be wrong; a count over 11 of 400 would happen to an honest rule once in a thousand times.
    assert wrong <= 11


def _ever_wrong(coin: random.Random) -> bool:
    """Feed identical arms on a machine that slows down, with bursts, and look at the signs after every pair."""
    above = below = 0
    level = 0.0
    for pair in range(1, 400):
        level = 0.95 * level + coin.gauss(0, 0.02)
        first, second = level + coin.expovariate(50), level + 0.001 + coin.expovariate(50)
        ratio = first - second if coin.random() < 0.5 else second - first
        above += ratio > math.log1p(0.01)
        below += ratio < -math.log1p(0.01)
        needed = heads_needed(pair, 0.01)
        if needed is not None and max(above, below) >= needed:
            return True
    return False


def test_a_speedup_and_its_inverse_are_equally_far_from_one() -> None:
    ratios = np.random.default_rng(2).normal(0.3, 0.05, 500)
    forward, backward = (judge(sign * ratios, alpha=0.01, noise=0.01) for sign in (1, -1))
    assert forward.speedup == pytest.approx(1 / backward.speedup)
    assert forward.low == pytest.approx(1 / backward.high)
    assert (forward.verdict, backward.verdict) == ("faster", "slower")


def test_too_few_pairs_leave_the_interval_unbounded() -> None:
    judgement = judge([0.1, 0.2], alpha=0.01, noise=0.01)
    assert (judgement.low, judgement.high, judgement.verdict) == (0.0, math.inf, "undecided")


def test_workers_that_disagree_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    agreeing = [rng.normal(0.05, 0.01, 200) for _ in range(5)]
    disagreeing = [group + shift for group, shift in zip(agreeing, (-0.04, -0.02, 0.0, 0.02, 0.04), strict=True)]
    narrow = judge_groups(agreeing, alpha=0.01, noise=0.01)
    wide = judge_groups(disagreeing, alpha=0.01, noise=0.01)
    assert (narrow.verdict, wide.verdict) == ("faster", "undecided")
    assert wide.half_width > 3 * narrow.half_width


def test_a_spread_known_from_elsewhere_stands_for_that_of_few_groups() -> None:
    groups = [np.random.default_rng(seed).normal(0.05, 0.001, 200) for seed in range(2)]
    own = judge_groups(groups, alpha=0.001, noise=0.01)
    known = judge_groups(groups, alpha=0.001, noise=0.01, spread=Spread(deviation=0.005, freedom=20))
    assert known.speedup == own.speedup
    assert known.half_width == pytest.approx(0.005 / 2**0.5 * 3.85, rel=0.01)  # Student's t of 20 at 0.1 %
    lone = judge_groups(groups[:1], alpha=0.001, noise=0.01, spread=Spread(deviation=0.005, freedom=20))
    assert lone.half_width == pytest.approx(0.005 * 3.85, rel=0.01)


def test_workers_are_judged_by_means_as_one_process_is() -> None:
    coin = np.random.default_rng(5)
    groups = [math.log(0.97) + coin.choice([-0.026, 0.026], 1000) + coin.normal(0, 0.001, 1000) for _ in range(5)]
    single = judge_groups(groups, alpha=0.01, noise=0.01)
    means = judge_groups(groups, alpha=0.01, noise=0.01, pairs_per_mean=10)
    assert (single.verdict, means.verdict) == ("undecided", "slower")
    assert means.pairs == single.pairs == 5000


def test_means_of_pairs_decide_where_single_pairs_have_two_speeds() -> None:
    coin = np.random.default_rng(4)
    ratios = math.log(0.97) + coin.choice([-0.026, 0.026], 3000) + coin.normal(0, 0.001, 3000)
    single, means = (judge(ratios, alpha=0.01, noise=0.01, pairs_per_mean=count) for count in (1, 10))
    assert (single.verdict, means.verdict) == ("undecided", "slower")
    assert means.half_width < single.half_width
    assert means.pairs == single.pairs == 3000


def test_a_mean_of_pairs_of_the_same_arms_is_a_fair_coin() -> None:
    wrong = 0
    for seed in range(300):
        coin = random.Random(seed)
        spikes = [coin.choice((-1, 1)) * (coin.expovariate(50) + (coin.random() < 0.05)) for _ in range(2000)]
        wrong += judge(spikes, alpha=0.01, noise=0.0, pairs_per_mean=10).verdict in ("faster", "slower")
    assert wrong <= 9  # 1 % may be; more than 9 of 300 would happen to an honest rule about once in a thousand times


def unknown_unless(quiet: Sequence[bool] | np.ndarray) -> np.ndarray:
    """Return slowdowns that are not known where pairs were not quiet."""
    return np.where(quiet, 0.0, math.inf)


def test_a_verdict_must_hold_on_the_quiet_pairs_alone_too() -> None:
    rng = np.random.default_rng(6)
    quiet = np.arange(200) % 3 == 0
    noise = rng.normal(0, 0.01, 200)
    misled = judge(np.where(quiet, 0.0, 0.2) + noise, alpha=0.01, noise=0.01, slowdowns=unknown_unless(quiet))
    held = judge(0.2 + noise, alpha=0.01, noise=0.01, slowdowns=unknown_unless(quiet))
    assert (misled.verdict, held.verdict) == ("undecided", "faster")
    assert misled.low < 1 < math.exp(0.19) < misled.high
    assert misled.speedup == pytest.approx(1, abs=0.01)
    assert misled.pairs == 200


def test_too_few_quiet_pairs_leave_it_undecided() -> None:
    quiet = [True] * 5 + [False] * 95
    assert judge([0.2] * 100, alpha=0.01, noise=0.01, slowdowns=unknown_unless(quiet)).verdict == "undecided"
    groups, masks = [[0.2] * 100] * 3, [[True] * 100, [False] * 100, [False] * 100]
    assert judge_groups(groups, alpha=0.01, noise=0.01, slowdowns=[*map(unknown_unless, masks)]).verdict == "undecided"


def test_what_a_slowdown_cannot_explain_needs_no_quiet_pair() -> None:
    slowdowns = np.full(100, math.log(1.5))
    judgements = [
        judge([gain] * 100, alpha=0.01, noise=0.01, slowdowns=slowdowns) for gain in (math.log(1.4), math.log(5))
    ]
    assert [each.verdict for each in judgements] == ["undecided", "faster"]
    assert (judgements[1].low, judgements[1].high) == pytest.approx((5 / 1.5, 5 * 1.5))


def test_a_disturbance_that_tells_no_time_may_explain_everything() -> None:
    slowdowns = np.full(100, math.inf)
    judgement = judge([math.log(5)] * 100, alpha=0.01, noise=0.01, slowdowns=slowdowns)
    assert (judgement.verdict, judgement.low, judgement.high) == ("undecided", 0, math.inf)


def test_groups_without_a_quiet_pair_fall_out() -> None:
    groups, masks = [[0.2] * 100, [0.21] * 100, [0.3] * 100], [[True] * 100, [True] * 100, [False] * 100]
    held = judge_groups(groups, alpha=0.01, noise=0.01, slowdowns=[*map(unknown_unless, masks)])
    assert held.speedup == pytest.approx(math.exp(0.205))
    assert held.high > math.exp(0.3)  # what was disturbed is in the interval all the same


def test_a_single_group_that_is_left_of_several_has_a_figure_and_no_interval() -> None:
    lone = judge_groups([[0.2] * 100, []], alpha=0.01, noise=0.01)
    assert lone.speedup == pytest.approx(math.exp(0.2))
    assert (lone.low, lone.high, lone.verdict) == (0.0, math.inf, "undecided")


def test_groups_too_far_apart_for_any_figure_leave_the_interval_unbounded() -> None:
    apart = judge_groups([[0.0] * 100, [2.0] * 100], alpha=1e-4, noise=0.01)
    assert (apart.low, apart.high, apart.verdict) == (0.0, math.inf, "undecided")


def test_workers_are_judged_on_their_quiet_pairs_too() -> None:
    rng = np.random.default_rng(7)
    quiet = np.arange(300) % 2 == 0
    groups = [np.where(quiet, 0.0, 0.2) + rng.normal(0, 0.01, 300) for _ in range(5)]
    masks = [quiet] * 5
    assert judge_groups(groups, alpha=0.01, noise=0.01, slowdowns=[*map(unknown_unless, masks)]).verdict == "undecided"
    held = judge_groups(
        [group + 0.3 for group in groups], alpha=0.01, noise=0.01, slowdowns=[*map(unknown_unless, masks)]
    )
    assert held.verdict == "faster"


def test_a_short_course_is_kept_as_it_was():
    assert in_order([0.3, 0.1, 0.2]) == (0.3, 0.1, 0.2)


def test_stretches_end_where_groups_of_unequal_length_end() -> None:
    groups = [[float(number)] * count for number, count in enumerate([30, 31, 90])]
    assert in_order(*groups) == tuple(float(number) for number in range(3) for _ in range(13))
    assert in_order([1.0, 2.0, 3.0], [4.0, 4.0, 5.0, 5.0, 6.0, 6.0]) == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def test_a_long_course_keeps_its_order_and_its_step():
    kept = in_order([1.0] * 300 + [2.0] * 100)
    assert kept == (1.0,) * 30 + (2.0,) * 10


@given(st.lists(st.floats(1e-9, 1e3), max_size=500))
def test_a_course_stays_small_and_within_what_was_measured(values):
    kept = in_order(values)
    assert len(kept) == min(len(values), STRETCHES)
    assert all(min(values) * 0.999 <= each <= max(values) * 1.001 for each in kept)
