"""Parameters after the checked steps are compared with the baseline's, and so is what the steps changed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accelbench.core import Arm
from accelbench.frameworks import load
from accelbench.measuring.checks.parameters import Learning, find_other_learning, learn, parameter_items

first = [np.linspace(-1, 1, 12).reshape(3, 4), np.zeros(4)]
STEP = [0.01 * np.cos(np.arange(12.0)).reshape(3, 4), np.full(4, 0.01)]


def learning(change: float = 1.0, *, begin: list[np.ndarray] = first, steps: int = 2) -> Learning:
    """Return what an arm learns that changes its parameters by this multiple of a step."""
    return Learning(
        steps=steps, before=begin, after=[array + change * part for array, part in zip(begin, STEP, strict=True)]
    )


@pytest.mark.parametrize(
    ("own", "tolerance", "exact", "code"),
    [
        (learning(), 1e-4, True, None),
        (learning(1.001), 1e-4, True, None),
        (learning(0.0), 1e-4, True, "parameters-unchanged"),
        (learning(0.0), 0.1, False, "parameters-unchanged"),
        (learning(3.0), 1e-4, True, "parameters-too-far"),
        (learning(2.0), 0.1, True, "learns-otherwise"),
        (learning(-1.0), 0.1, True, "learns-otherwise"),
        (learning(2.0), 0.1, False, None),
        (learning(float("nan")), 0.1, False, "parameters-too-far"),
    ],
)
def test_what_an_arm_learns_must_be_what_the_baseline_learns(
    own: Learning, tolerance: float, exact: bool, code: str | None
) -> None:
    found = find_other_learning(own, learning(), tolerance, exact=exact)
    assert (found.code if found else None) == code


@pytest.mark.parametrize(
    "own",
    [
        learning(5.0, steps=1),
        learning(5.0, begin=[first[0] + 1, first[1]]),
        Learning(steps=2, before=[np.zeros(16)], after=[np.ones(16)]),
    ],
    ids=["after other steps", "from other values", "in other shapes"],
)
def test_what_cannot_be_compared_is_not(own: Learning) -> None:
    assert find_other_learning(own, learning(), 1e-4, exact=True) is None


def test_nothing_is_asked_of_an_arm_whose_baseline_does_not_learn() -> None:
    assert find_other_learning(learning(), learning(0.0), 1e-4, exact=True) is None


def test_a_change_that_rounding_may_hide_is_not_missed_in_coarse_numbers() -> None:
    expected = learning(1e-3)
    assert find_other_learning(learning(0.0), expected, 0.1, exact=False) is None
    assert find_other_learning(learning(0.0), expected, 0.1, exact=True) is not None


def counting(weights: np.ndarray, change: float) -> Callable[[], Any]:
    def step() -> float:
        weights[...] += change
        return float(weights.sum())

    return step


@pytest.mark.parametrize(("change", "steps"), [(1.0, 2), (0.0, 1)])
def test_an_arm_that_learns_runs_two_steps_and_another_one_no_more_than_its_own(change: float, steps: int) -> None:
    weights, framework = np.ones(3), load("numpy")
    arm = Arm(step=counting(weights, change), parameters=lambda: [weights])
    before = parameter_items(arm, framework)
    arm.step()
    found = learn(arm, framework, before, None)
    assert found is not None
    assert found.steps == steps
    assert weights.tolist() == [1 + steps * change] * 3


def test_a_candidate_runs_as_many_steps_as_its_baseline() -> None:
    weights, framework = np.ones(3), load("numpy")
    arm = Arm(step=counting(weights, 0.0), parameters=lambda: [weights])
    found = learn(arm, framework, parameter_items(arm, framework), learning())
    assert found is not None
    assert found.steps == 2
    assert not found.moved


def test_an_arm_that_shows_no_parameters_learns_nothing() -> None:
    assert learn(Arm(step=list), load("numpy"), [], None) is None
