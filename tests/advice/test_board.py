"""What was seen of configurations, heat by heat, and how far two builds of the same ones lie apart."""

from random import Random

import numpy as np
import pytest

from harness.advice.board import Board, Seen, spread_between

ARMS = [(name,) for name in "abcdef"]


def heats(number, *, accident, seed=0, missing=0.0):
    """Return heats in which every arm has a speed of its own and in each heat an accident on top of it."""
    coin = Random(seed)
    found = []
    for _ in range(number):
        common = coin.gauss(0, 0.5)
        there = [arm for arm in ARMS if coin.random() >= missing]
        found.append({arm: np.full(5, ord(arm[0]) + common + coin.gauss(0, accident)) for arm in there})
    return found


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_spread_between_heats_is_that_of_the_difference_of_two(missing):
    spread = spread_between(heats(200, accident=0.01, missing=missing))
    assert spread.deviation == pytest.approx(0.01 * 2**0.5, rel=0.1)


def test_its_degrees_of_freedom_are_what_arms_and_heats_leave():
    assert spread_between(heats(4, accident=0.01)).freedom == (4 - 1) * (len(ARMS) - 1)


@pytest.mark.parametrize("number", [0, 1])
def test_one_heat_tells_nothing_of_another(number):
    spread = spread_between(heats(number, accident=0.01))
    assert spread.freedom == 0
    assert spread.reach(1, alpha=0.01) == float("inf")


def board(*, accident=0.01):
    """Return a board on which four heats of first looks stand."""
    board = Board(baseline=ARMS[0])
    for heat in heats(4, accident=accident):
        enter(board, heat)
    return board


def enter(board, heat):
    reference, *others = heat
    ratios = {each: tuple(heat[each] - heat[reference]) for each in others}
    board.enter({reference: Seen()} | {each: Seen(log_ratios=told) for each, told in ratios.items()})


def test_before_a_race_any_two_of_what_was_seen_may_come_to_be_compared():
    seen = board()
    wide = seen.judged(ARMS[1], ARMS[2], alpha=0.01, noise=0.01)
    assert wide.half_width == pytest.approx(seen_spread(seen).reach(4, alpha=0.01 / 15))  # pairs of six


def test_a_race_is_judged_by_its_own_heats_and_by_the_pairs_of_those_who_race():
    seen = board()
    seen.begin_race(3)
    for heat in heats(5, accident=0.01, seed=1):
        enter(seen, heat)
    judged = seen.judged(ARMS[1], ARMS[2], alpha=0.01, noise=0.01)
    assert judged.pairs == 5 * 5
    assert judged.half_width == pytest.approx(seen_spread(seen).reach(5, alpha=0.01 / 3))
    assert seen.judged(ARMS[1], ("never seen",), alpha=0.01, noise=0.01) is None


def seen_spread(board):
    return spread_between(board.raced or board.heats)
