"""Variances that are moderated by those of all cases, and the distribution that is fitted to these."""

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from accelbench.moderated_variance import Prior, Variance, digamma, fit_prior, inverse_trigamma, pool, trigamma

UNKNOWN = Prior()


def test_a_variance_moves_towards_those_of_the_other_effects() -> None:
    own = Variance(value=9.0, freedom=3)
    assert pool(own, Variance(value=1.0, freedom=5)) == Variance(value=4.0, freedom=8)
    assert pool(own, UNKNOWN) == own


def test_the_prior_is_found_again_in_variances_that_were_drawn_from_it() -> None:
    random = np.random.default_rng(0)
    true = 0.02**2 * 6 / random.chisquare(6, 20_000)
    drawn = [Variance(value=float(each), freedom=3) for each in true * random.chisquare(3, len(true)) / 3]
    prior = fit_prior(drawn)
    assert prior.value == pytest.approx(0.02**2, rel=0.05)
    assert prior.freedom == pytest.approx(6, rel=0.1)


def test_variances_that_differ_by_chance_alone_give_a_prior_that_outweighs_each_of_them() -> None:
    random = np.random.default_rng(0)
    drawn = [Variance(value=float(each) / 3, freedom=3) for each in random.chisquare(3, 500)]
    assert fit_prior(drawn).freedom > 50


def test_a_few_variances_that_happen_to_agree_say_no_more_than_all_of_them_together() -> None:
    few = [Variance(value=1.0, freedom=3)] * 2
    prior = fit_prior(few)
    assert prior.freedom > 1000
    assert prior.moderate(few[0], visits=1, within=0.0).freedom == 6


@pytest.mark.parametrize("known", [[], [Variance(value=1.0, freedom=3)], [Variance(value=0.0, freedom=3)] * 5])
def test_too_few_variances_give_no_prior(known: list[Variance]) -> None:
    assert fit_prior(known) == UNKNOWN


def test_the_prior_follows_the_variance_within_visits_as_far_as_that_of_the_means_does() -> None:
    random = np.random.default_rng(0)
    within = 1e-6 * np.exp(random.normal(0.0, 2.0, 20_000))
    true = 0.02**2 * (within / 1e-6) ** 0.7
    drawn = [Variance(value=float(each), freedom=3) for each in true * random.chisquare(3, len(true)) / 3]
    prior = fit_prior(drawn, within=within.tolist())
    assert prior.growth == pytest.approx(0.7, rel=0.05)
    assert prior.freedom > 50
    for inside in (1e-8, 1e-6, 1e-4):
        assert prior.of_mean(1, inside).value == pytest.approx(0.02**2 * (inside / 1e-6) ** 0.7, rel=0.1)
    assert prior.of_mean(1).value == prior.of_mean(1, prior.within).value  # what is not known is taken to be typical


def test_a_variance_within_visits_that_says_nothing_changes_nothing() -> None:
    random = np.random.default_rng(0)
    drawn = [Variance(value=float(each) / 3, freedom=3) for each in random.chisquare(3, 500)]
    alike = fit_prior(drawn, within=[1e-6] * 500)
    assert (alike.value, alike.freedom, alike.growth) == (fit_prior(drawn).value, fit_prior(drawn).freedom, 0.0)
    assert fit_prior(drawn[:9], within=list(range(1, 10))).growth == 0.0  # too few effects to tell


def test_the_prior_weighs_more_for_a_mean_of_fewer_visits_than_usual() -> None:
    prior = Prior(value=1.0, freedom=4, visits=3)
    assert [prior.of_mean(visits).value for visits in (1, 2, 3, 4)] == [3, 1.5, 1, 1]


@given(st.floats(0.01, 2000))
def test_the_functions_of_the_fit_are_those_of_scipy(x: float) -> None:
    assert digamma(x) == pytest.approx(float(scipy.special.digamma(x)), rel=1e-8, abs=1e-8)
    assert trigamma(x) == pytest.approx(float(scipy.special.polygamma(1, x)), rel=1e-8)
    assert inverse_trigamma(trigamma(x)) == pytest.approx(min(x, 1000), rel=1e-6)
