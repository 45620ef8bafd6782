"""Which combinations of techniques are measured."""

from itertools import combinations, product

import numpy as np
import pytest

from harness.attribution.design import design, fraction, is_full
from harness.errors import BadInput


def signs(rows):
    return np.where(rows, 1, -1)


@pytest.mark.parametrize("techniques", [2, 3, 4])
def test_up_to_four_techniques_are_combined_in_every_way(techniques):
    rows = design(techniques)
    assert set(rows) == set(product((False, True), repeat=techniques))
    assert is_full(rows)


@pytest.mark.parametrize("techniques", [5, 6, 7, 8])
def test_a_fraction_tells_single_effects_from_each_other_and_from_every_pair(techniques):
    columns = signs(fraction(techniques)).T
    pairs = [first * second for first, second in combinations(columns, 2)]
    assert len(columns[0]) == 16
    for place, column in enumerate(columns):
        assert column.sum() == 0
        assert all(abs(column @ other) == 0 for other in [*columns[:place], *pairs])


def test_in_the_fraction_of_five_techniques_no_two_pairs_are_alike():
    columns = signs(fraction(5)).T
    pairs = [first * second for first, second in combinations(columns, 2)]
    assert all(abs(first @ second) == 0 for first, second in combinations(pairs, 2))


@pytest.mark.parametrize("techniques", range(2, 9))
def test_the_first_arm_has_nothing_switched_on_and_the_last_one_everything(techniques):
    rows = design(techniques)
    assert not any(rows[0])
    assert all(rows[-1])
    assert len(set(rows)) == len(rows) <= 17


@pytest.mark.parametrize("techniques", [0, 1, 9])
def test_too_few_or_too_many_techniques_are_refused_in_one_line(techniques):
    with pytest.raises(BadInput, match=rf"bundle of {techniques} technique\(s\) cannot be taken apart; give 2 to 8"):
        design(techniques)
