"""Arms that do not repeat themselves bit for bit, as training on a GPU does not: how far their outputs may differ."""

from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from typing import Any

import pytest
import torch

from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, Workload
from accelbench.frameworks import load
from accelbench.measuring.checks.arm_checks import MOST_SPREAD, SPREAD_TIMES, widen
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord, Price

STEPS = 3


class Learning:
    """Gradient descent on a fixed problem, with noise in the weights after every step and a drift from call to call."""

    def __init__(self, noise: float, drift: float) -> None:
        self._noise, self._drift, self._calls = noise, drift, 0
        generator = torch.Generator().manual_seed(1)
        self._inputs, self._first = (torch.randn(32, 8, generator=generator) for _ in range(2))
        self._weights = self._first.clone()

    def step(self) -> torch.Tensor:
        """Learn, and return the outputs."""
        self._calls += 1
        self._weights = 0.9 * self._weights + 0.1 * self._inputs + self._noise * torch.randn(32, 8)
        return self._weights * (1 + self._drift * self._calls)

    def reset(self) -> None:
        """Return to the first weights."""
        self._weights = self._first.clone()


def build(_: Setting, *, noise: float = 0.0, drift: float = 0.0, wrong: float = 1.0) -> Arm:
    learning = Learning(noise, drift)

    def step() -> torch.Tensor:
        return wrong * learning.step()

    return Arm(step=step, reset=learning.reset, checked_steps=STEPS)


def option(name: str) -> Callable[[Build, str], Arm]:
    return lambda build, level: build(**{name: float(level)})


def measure(
    *levels: str, switch: str = "noise", visit: int = 0, spreads: Mapping[int, float] | None = None, **problem: Any
) -> list[ArmRecord]:
    """Measure arms that differ in one option, of which earlier visits may have shown the spreads."""
    trial = Trial(
        framework="torch",
        workload=Workload(name="learning", frameworks=("torch",), unit="row", summary="", builder=build),
        arms=tuple({switch: level} for level in levels),
        problem=problem,
        techniques=(Technique(name=switch, framework="torch", levels=levels, summary="", apply=option(switch)),),
        plan=Plan(budget_s=0.05, min_span_s=0, builds=1, prices=False, visit=visit),
        spreads=spreads or {},
    )
    return TrialRun(trial, load("torch"), coin=Random(3)).run().arms


def test_arms_that_repeat_themselves_nearly_keep_their_speed_and_say_how_nearly() -> None:
    baseline, candidate = measure("1.0", "1.0001", switch="wrong", noise=1e-4)
    for arm in (baseline, candidate):
        assert arm.outcome == "measured", arm.reason
        assert arm.price is not None
        assert arm.price.repeats_within is not None
        assert 1e-5 < arm.price.repeats_within < 1e-3
        (flag,) = arm.flags
        assert flag.code == "repeats-within"
        assert str(flag).startswith("repeats itself within 0.000")
    assert candidate.price is not None
    assert candidate.price.tolerance == widen(0.0, baseline.price, candidate.price)


def test_an_arm_that_repeats_itself_bit_for_bit_says_nothing() -> None:
    (arm,) = measure("0.0")
    assert arm.outcome == "measured", arm.reason
    assert arm.price is not None
    assert arm.price.repeats_within == 0
    assert arm.flags == []


def test_a_later_visit_goes_by_the_spread_that_the_first_one_has_shown() -> None:
    (_, known), (_, unknown) = (
        measure("1e-3", "2e-3", visit=1, spreads=each) for each in (dict.fromkeys((0, 1), 2e-3), {})
    )
    assert known.outcome == "measured", known.reason
    assert known.flags == []  # the first visit has them
    assert unknown.outcome == "wrong-output"  # so no spread was measured again


def test_noise_excuses_no_wrong_answer_that_is_far_larger() -> None:
    _, wrong = measure("1.0", "1.01", switch="wrong", noise=1e-5)
    assert wrong.outcome == "wrong-output"
    assert "differs from the baseline's by 0.01" in str(wrong.reason)


def test_an_arm_that_drifts_away_from_call_to_call_is_not_excused_by_a_first_step_of_it() -> None:
    (drifting,) = measure("1e-4", switch="drift")
    assert drifting.outcome == "wrong-output"
    assert "its own output before the timing" in str(drifting.reason)


def test_an_arm_that_returns_something_else_every_time_is_wrong() -> None:
    (random,) = measure("1.0")
    assert random.outcome == "wrong-output"
    assert f"and {MOST_SPREAD:.4f} is allowed" in str(random.reason)


@pytest.mark.parametrize(
    ("tolerance", "spreads", "allowed"),
    [
        (1e-5, [], 1e-5),
        (1e-5, [0.0], 1e-5),
        (0.0, [None, 1e-6], SPREAD_TIMES * 1e-6),
        (1e-5, [1e-3, 1e-4], SPREAD_TIMES * 1e-3),
        (0.02, [1e-3], 0.02),
        (1e-5, [0.5], MOST_SPREAD),
        (0.1, [0.5], 0.1),
    ],
)
def test_a_tolerance_grows_with_the_larger_spread_up_to_a_limit(
    tolerance: float, spreads: list[float | None], allowed: float
) -> None:
    prices = [Price(repeats_within=spread) for spread in spreads]
    assert widen(tolerance, None, *prices) == pytest.approx(allowed)


def build_drawing(_: Setting, *, other: bool = False, wrong: float = 0.0, seeds: bool = True) -> Arm:
    """Return 100 numbers that are drawn from the arm's seed, 5 % around 1, by one of two generators."""
    seed = 0

    def reseed(number: int) -> None:
        nonlocal seed
        seed = number

    def step() -> torch.Tensor:
        generator = torch.Generator().manual_seed(2 * seed + int(other))
        return 1 + 0.05 * torch.randn(100, generator=generator) + wrong

    return Arm(step=step, reseed=reseed if seeds else None)


def measure_drawing(
    switch: str, *levels: str, builder: Callable[..., Arm] = build_drawing, **problem: Any
) -> ArmRecord:
    trial = Trial(
        framework="torch",
        workload=Workload(name="drawing", frameworks=("torch",), unit="row", summary="", builder=builder),
        arms=tuple({switch: level} for level in levels),
        problem=problem,
        techniques=(
            Technique(
                name=switch, framework="torch", levels=levels, summary="", apply=lambda b, x: b(**{switch: float(x)})
            ),
        ),
        plan=Plan(budget_s=0.05, min_span_s=0, builds=1, prices=False, rehearse=True),
    )
    return TrialRun(trial, load("torch"), coin=Random(3)).run().arms[1]


def test_an_arm_that_draws_other_numbers_may_differ_as_far_as_its_own_seeds_do() -> None:
    arm = measure_drawing("other", "0", "1")
    assert arm.outcome == "measured", arm.reason
    assert arm.price is not None
    assert arm.price.error is not None
    assert arm.price.tolerance is not None
    assert 0.03 < arm.price.error < arm.price.tolerance < 0.5
    (flag,) = [flag for flag in arm.flags if flag.code == "other-random-numbers"]
    assert str(flag).startswith("draws other random numbers than the baseline does, as for dropout: with other seeds ")


@pytest.mark.parametrize("seeds", [True, False])
def test_an_arm_that_draws_the_same_numbers_and_is_wrong_stays_so(seeds: bool) -> None:
    arm = measure_drawing("wrong", "0", "1", seeds=seeds)
    assert (arm.outcome, arm.reason and arm.reason.code) == ("wrong-output", "too-far")


def test_an_arm_that_draws_other_numbers_without_a_seed_is_wrong() -> None:
    assert measure_drawing("other", "0", "1", seeds=False).outcome == "wrong-output"


def build_learning(_: Setting, *, other: bool = False, seeds: bool = True) -> Arm:
    """Move 100 parameters where the arm's seed and ``other`` lead; the first output knows of the seed alone."""
    parameters, seed = torch.ones(100), 0

    def drawn(number: int) -> torch.Tensor:
        return torch.randn(100, generator=torch.Generator().manual_seed(number))

    def step() -> torch.Tensor:
        parameters.add_(0.02 * drawn(2 * seed + int(other)))
        return 1 + 0.05 * drawn(seed)

    def reset() -> None:
        parameters.fill_(1.0)

    def reseed(number: int) -> None:
        nonlocal seed
        seed = number

    return Arm(step=step, reset=reset, parameters=lambda: [parameters], reseed=reseed if seeds else None)


@pytest.mark.parametrize(("seeds", "outcome"), [(True, "measured"), (False, "wrong-output")])
def test_an_arm_that_draws_other_numbers_may_learn_otherwise_after_an_output_that_is_alike_by_chance(
    seeds: bool, outcome: str
) -> None:
    arm = measure_drawing("other", "0", "1", builder=build_learning, seeds=seeds)
    assert arm.outcome == outcome, arm.reason
    assert (arm.reason is not None and arm.reason.code == "parameters-too-far") == (outcome == "wrong-output")


NEVER_AGAIN = count()


def build_wandering(_: Setting, *, level: float = 0.0, seeds: bool = True) -> Arm:  # noqa: ARG001  all levels are alike
    """Move 100 parameters in another direction in every run, since no seed reaches what is drawn."""
    parameters = torch.ones(100)

    def step() -> torch.Tensor:
        parameters.add_(1e-3 * torch.randn(100, generator=torch.Generator().manual_seed(next(NEVER_AGAIN))))
        return parameters.clone()

    def reset() -> None:
        parameters.fill_(1.0)

    return Arm(
        step=step,
        reset=reset,
        parameters=lambda: [parameters],
        reseed=(lambda _: None) if seeds else None,
    )


@pytest.mark.parametrize(("seeds", "outcome"), [(True, "measured"), (False, "wrong-output")])
def test_an_arm_that_draws_other_numbers_in_every_run_need_not_learn_in_the_same_direction(
    seeds: bool, outcome: str
) -> None:
    arm = measure_drawing("level", "0", "1", builder=build_wandering, seeds=seeds)
    assert arm.outcome == outcome, arm.reason
    assert (arm.reason is not None and arm.reason.code == "learns-otherwise") == (outcome == "wrong-output")
