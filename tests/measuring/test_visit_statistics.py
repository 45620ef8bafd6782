"""Intervals of effects that were measured in several visits, by moderated variances."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from accelbench.measuring.statistics import Judgement
from accelbench.measuring.visit_statistics import (
    MEDIAN_COST,
    VisitPairs,
    join_runs,
    judge_visits,
    prior_of_effects,
    variance_of_mean,
    variance_within,
)
from accelbench.moderated_variance import Prior, fit_prior

UNKNOWN = Prior()
WORTH_FOUR = Prior(value=0.01**2, freedom=4)


def visits_of(medians: Sequence[float], spread: float = 0.0) -> list[VisitPairs]:
    """Return visits of four pairs each, spread around these medians."""
    return [VisitPairs(builds=((each - spread, each, each, each + spread),)) for each in medians]


def judged(
    *medians: float,
    prior: Prior = WORTH_FOUR,
    spread: float = 0.0,
    noise: float = 0.01,
    earlier: Sequence[float] = (),
    joins: bool = False,
) -> Judgement:
    """Judge visits of these medians."""
    return judged_visits(visits_of(medians, spread), earlier, prior=prior, noise=noise, joins=joins)


def judged_visits(
    visits: Sequence[VisitPairs], earlier: Sequence[float], *, prior: Prior, noise: float, joins: bool
) -> Judgement:
    """Judge visits, which ``joins`` the earlier runs that show the same, or none."""
    joined = join_runs(visits, earlier, prior) if joins else ()
    return judge_visits(visits, prior=prior, alpha=0.01, noise=noise, earlier=earlier, joined=joined)


def test_the_speedup_is_the_mean_of_the_visits() -> None:
    judgement = judged(0.4, 0.5, 0.6)
    assert judgement.speedup == pytest.approx(math.exp(0.5))
    assert judgement.pairs == 12


def test_visits_that_agree_decide() -> None:
    assert judged(0.5, 0.51, 0.49, 0.5).verdict == "faster"
    assert judged(-0.5, -0.51, -0.49, -0.5).verdict == "slower"
    assert judged(0.001, -0.001, 0.0, 0.0, prior=Prior(value=1e-6, freedom=100)).verdict == "same"


def test_what_is_negligible_is_the_same_and_what_is_shown_to_be_faster_is_faster() -> None:
    known = Prior(value=0.01**2, freedom=1000)
    assert judged(0.0, 0.0, prior=known).verdict == "same"  # ±2.6 %
    assert judged(0.022, 0.022, prior=known).verdict == "same"
    assert judged(0.03, 0.03, prior=known).verdict == "undecided"
    assert judged(0.04, 0.04, prior=known).verdict == "faster"


def test_visits_that_disagree_do_not() -> None:
    assert judged(0.6, -0.05, 0.4, 0.1).verdict == "undecided"


def test_an_interval_contains_1_where_one_visit_lies_on_the_other_side() -> None:
    judgement = judged(0.05, 0.05, 0.05, -0.0001, prior=Prior(value=1e-12, freedom=1000))
    assert judgement.low <= 1 <= judgement.high


def test_two_visits_without_anything_else_to_go_by_have_a_very_wide_interval() -> None:
    assert judged(0.50, 0.52, prior=UNKNOWN).half_width > 0.5


def test_one_visit_is_bounded_by_what_other_effects_show_and_else_by_nothing() -> None:
    assert judged(0.5, prior=UNKNOWN).half_width == math.inf
    assert 0.04 < judged(0.5).half_width < 0.05  # t of 4 degrees of freedom at 99 % is 4.6


def test_pairs_that_scatter_within_a_visit_widen_the_interval_although_the_medians_agree() -> None:
    assert judged(0.5, 0.5, 0.5, spread=0.3).half_width > 4 * judged(0.5, 0.5, 0.5).half_width


def test_what_many_pairs_explain_is_known_better_than_what_few_visits_do() -> None:
    few, many = (
        judge_visits(
            [VisitPairs(builds=((0.5 - spread, 0.5 + spread) * times,))] * 3, prior=UNKNOWN, alpha=0.01, noise=0.01
        )
        for times, spread in ((1, 0.1), (50, 0.1 * 50**0.5))
    )
    assert many.half_width < 0.8 * few.half_width  # for the same variance of the median


@pytest.mark.parametrize("count", [2, 3, 5, 9, 40])
def test_the_variance_of_a_median_is_not_understated_where_pairs_are_few(count: int) -> None:
    values = np.random.default_rng(0).normal(size=(2000, count))
    stated = [VisitPairs(builds=(tuple(each),)).variance_of_median for each in values.tolist()]
    assert 0.9 < np.mean(stated) * count / MEDIAN_COST < 2
    assert VisitPairs(builds=((0.3,),)).variance_of_median == 0


@lru_cache(maxsize=1)
def simulated_effects() -> list[list[list[VisitPairs]]]:
    """Return the visits of 20 simulated runs of 150 effects that are none; quiet pairs have quiet visits."""
    random = np.random.default_rng(2)
    runs = []
    for _ in range(20):
        deviations = 0.01 * np.exp(random.normal(0.0, 1.0, 150))
        centres = random.normal(0.0, deviations[:, None], (150, 4))
        pairs = random.normal(centres[..., None], 2 * deviations[:, None, None], (150, 4, 8))
        runs.append([[VisitPairs(builds=(tuple(visit),)) for visit in visits] for visits in pairs.tolist()])
    return runs


def judged_following(*, follows: bool) -> tuple[float, float]:
    """Return how often intervals at 99 % miss the truth, and their median half-width.

    The prior ``follows`` the variance within visits, or it does not.
    """
    found: list[Judgement] = []
    for effects in simulated_effects():
        prior = fit_prior(
            [variance_of_mean([visit.median for visit in visits]) for visits in effects],
            within=[variance_within(visits) for visits in effects] if follows else (),
            visits=4,
        )
        found += [judge_visits(visits, prior=prior, alpha=0.01, noise=0.01) for visits in effects]
    return share_of_misses(found), float(np.median([each.half_width for each in found]))


@pytest.mark.slow
def test_following_the_variance_within_visits_narrows_intervals_that_still_hold() -> None:
    (missed_alike, wide), (missed_following, narrow) = (judged_following(follows=each) for each in (False, True))
    assert missed_alike < 0.01 + LUCK
    assert missed_following < 0.01 + LUCK
    assert narrow < 0.9 * wide


Effects = list[tuple[list[VisitPairs], list[float]]]  # the visits of each, and the log speedups of earlier runs


@lru_cache(maxsize=1)
def simulated_runs(
    *,
    freedom: float,
    visits: tuple[int, ...],
    between_runs: float = 0.0,
    earlier: int = 0,
    pair_noise: float = 0.0,
    size: int = 150,
) -> list[Effects]:
    """Return simulated runs of ``size`` effects that are none, 3000 effects in all.

    Effects differ in their spread. Each has one of these numbers of ``visits``, and as many in every run. Their log
    speedups deviate by some 1 % from visit to visit, by ``between_runs`` times as much from run to run, and the two
    pairs of a visit by ``pair_noise`` times as much from the visit.
    """
    random, noise = np.random.default_rng(1), np.random.default_rng(3)
    runs: list[Effects] = []
    for _ in range(3000 // size):
        deviations = 0.01 * np.sqrt(freedom / random.chisquare(freedom, size))
        counts = random.choice(visits, size)
        effects: Effects = []
        for deviation, count in zip(deviations, counts, strict=True):
            centres = random.normal(0.0, between_runs * deviation, 1 + earlier)
            medians = random.normal(centres[:, None], deviation, (1 + earlier, count))
            pairs = medians[..., None] + noise.normal(0.0, pair_noise * deviation, (*medians.shape, 2))
            run = [VisitPairs(builds=(tuple(visit),)) for visit in pairs[0].tolist()]
            effects.append((run, pairs[1:].mean(axis=(1, 2)).tolist()))
        runs.append(effects)
    return runs


def judged_runs(*, joins: bool = False, **conditions: Any) -> list[Judgement]:
    """Return the intervals at 99 % of all effects of simulated runs, each of which ``joins`` the earlier ones, or none.

    All effects of a run together give their prior.
    """
    found: list[Judgement] = []
    for effects in simulated_runs(**conditions):
        prior = prior_of_effects(effects)
        found += [judged_visits(*each, prior=prior, noise=0.0, joins=joins) for each in effects]
    return found


def share_of_misses(found: Sequence[Judgement]) -> float:
    return float(np.mean([not each.low <= 1 <= each.high for each in found]))


def missed(**conditions: Any) -> float:
    """Return how often intervals at 99 % miss the truth in simulated runs."""
    return share_of_misses(judged_runs(**conditions))


LUCK = 0.0055  # three standard errors of 3000 intervals at 99 %


@pytest.mark.slow
@pytest.mark.parametrize(("freedom", "count"), [(4, 4), (4, 3), (1.5, 4), (1000, 4)])
def test_the_interval_misses_the_truth_as_seldom_as_it_claims(freedom: float, count: int) -> None:
    assert missed(freedom=freedom, visits=(count,)) < 0.01 + LUCK


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), [(2, 2), (3, 2), (6, 2), (2, 4)])
def test_it_misses_no_more_often_in_a_run_of_few_effects(size: int, count: int) -> None:
    assert missed(freedom=1000, visits=(count,), size=size) < 0.01 + LUCK


@pytest.mark.slow
@pytest.mark.parametrize("between_runs", [0.0, 1.0, 3.0])
def test_with_earlier_runs_it_misses_no_more_often_whatever_changes_from_run_to_run(between_runs: float) -> None:
    assert missed(freedom=4, visits=(2, 4), between_runs=between_runs, earlier=4) < 0.01 + LUCK


@pytest.mark.slow
def test_a_single_earlier_run_mends_most_of_what_visits_of_one_run_cannot_show() -> None:
    alone, with_one = (missed(freedom=4, visits=(4,), between_runs=1.0, earlier=count) for count in (0, 1))
    assert alone > 0.1
    assert with_one < alone / 3


def test_a_run_that_differs_from_the_earlier_ones_has_a_wider_interval() -> None:
    same, other = (judged(0.5, 0.5, 0.5, 0.5, earlier=[before] * 3) for before in (0.5, 0.6))
    assert other.half_width > 3 * same.half_width
    assert other.speedup == same.speedup


@pytest.mark.slow
@pytest.mark.parametrize("earlier", [1, 5])
@pytest.mark.parametrize("between_runs", [0.0, 3.0])
def test_runs_that_are_joined_miss_no_more_often(between_runs: float, earlier: int) -> None:
    same = {"freedom": 4, "visits": (2, 4), "between_runs": between_runs, "earlier": earlier}
    alone, joined = (judged_runs(**same, joins=joins) for joins in (False, True))
    misses = [share_of_misses(found) for found in (alone, joined)]
    assert misses[1] < max(misses[0], 0.01) + LUCK
    narrower = np.median([each.half_width for each in joined]) / np.median([each.half_width for each in alone])
    assert narrower < 1.1 / math.sqrt(1 + earlier)


@pytest.mark.slow
@pytest.mark.parametrize("earlier", [1, 2, 5])
def test_the_interval_of_joined_runs_is_not_that_of_their_few_pairs(earlier: int) -> None:
    misses = missed(freedom=4, visits=(2,), between_runs=1.0, earlier=earlier, joins=True, pair_noise=5.0)
    assert misses < 0.01 + LUCK
    assert earlier == 1 or misses > 0.01 / 4  # it is not much wider than it claims


def test_the_mean_of_runs_that_show_the_same_is_the_effect() -> None:
    alone, joined = (judged(0.5, 0.52, earlier=[0.48, 0.5, 0.5], joins=joins) for joins in (False, True))
    assert alone.speedup == pytest.approx(math.exp(0.51))
    assert joined.speedup == pytest.approx(math.exp(0.4975))
    assert joined.half_width == pytest.approx(alone.half_width / 2, rel=0.05)


def test_a_run_joins_none_from_which_it_lies_apart() -> None:
    visits = visits_of([0.5, 0.5])
    assert [*join_runs(visits, [0.51, 0.49], WORTH_FOUR)] == [0.51, 0.49]
    assert [*join_runs(visits, [0.601, 0.6, 0.599, 0.6, 0.6], WORTH_FOUR)] == []
    assert [*join_runs(visits, [], WORTH_FOUR)] == []


def test_among_few_runs_one_on_the_other_side_of_1_keeps_1_in_the_interval() -> None:
    tight = Prior(value=1e-12, freedom=1000)
    few, many = (
        judged(0.05, 0.05, earlier=[0.05] * count + [-1e-7], joins=True, prior=replace(tight, value=1e-3))
        for count in (2, 40)
    )
    assert few.low <= 1
    assert many.low > 1


def test_earlier_runs_bound_a_lone_visit() -> None:
    assert judged(0.5, prior=UNKNOWN).half_width == math.inf
    assert judged(0.5, prior=UNKNOWN, earlier=[0.5, 0.51, 0.49]).half_width < 0.1
