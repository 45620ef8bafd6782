"""A trial of a ladder on the fake asynchronous device: who is compared with whom, and who is left out."""

from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Contrast, Levels, Plan, Setting, Trial, ladder, technique, workload
from accelbench.errors import Unavailable
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

clock = FakeClock()
device = FakeDevice(clock)


@workload("fake", unit="stair")
def stairs(_: Setting, *, height: int = 1, pace: str = "slow", lift: str = "none", careless: bool = False) -> Arm:
    """Stairs to climb; a careless climber does not get where the others do."""
    if height > 4:
        raise Unavailable("there are no more than 4 stairs")
    if lift == "absent":
        raise Unavailable("there is no lift here")
    stair_s = {"slow": 1e-3, "quick": 0.5e-3}[pace]

    def step() -> Any:
        device.launch(stair_s * (1 + height) / 2)
        return np.full(3, float(height) + 0.5 * careless)

    return Arm(step=step, items=height)


@technique("fake", levels=("1", "4", "9"), same_output=False)
def height(build: Build, level: str) -> Arm:
    """How many stairs at once."""
    return build(height=int(level))


@technique("fake", levels=("none", "absent"))
def lift(build: Build, level: str) -> Arm:
    """A lift."""
    return build(lift=level)


@technique("fake", levels=("slow", "quick"))
def gait(build: Build, level: str) -> Arm:
    """How to walk."""
    return build(pace=level)


@technique("fake", levels=("off", "on"))
def careless(build: Build, level: str) -> Arm:
    """Not to look."""
    return build(careless=level == "on")


START = {"height": "1", "lift": "none", "gait": "slow", "careless": "off"}
STEPS = [("height", "4"), ("height", "9"), ("lift", "absent"), ("careless", "on"), ("gait", "quick")]
UP = ladder("fake", "up", start=START, steps=STEPS)


RUNGS = tuple({"up": level} for level in UP.levels_on(None))  # type: ignore[arg-type]  # they depend on no host


def measured(arms: tuple[Levels, ...], **known: Any) -> list[ArmRecord]:
    """Measure these arms on the stairs; ``known`` is what earlier visits have shown."""
    trial = Trial(framework="fake", workload="stairs", arms=arms, plan=Plan(budget_s=0.5), **known)
    return TrialRun(trial, device, clock=clock, coin=Random(3)).run().arms


@pytest.fixture(scope="module")
def climbed() -> list[ArmRecord]:
    """The arms of a trial of the whole ladder."""
    return measured(RUNGS)


def test_a_rung_that_cannot_run_is_left_out_above_and_the_next_is_held_against_the_last_that_ran(
    climbed: list[ArmRecord],
) -> None:
    _, higher, highest, lifted, _, quicker = climbed
    assert str(highest.reason) == "there are no more than 4 stairs"
    assert (lifted.outcome, str(lifted.reason)) == ("unavailable", "there is no lift here")
    over_start, over_rung = quicker.effects
    assert over_rung.against == higher.levels == {"up": "+height 4"}
    assert (over_rung.verdict, round(over_rung.speedup, 1)) == ("faster", 2.0)
    assert round(over_start.speedup, 1) == 3.2


def test_a_rung_just_above_the_start_is_compared_with_the_start_alone(climbed: list[ArmRecord]) -> None:
    start, higher, *_ = climbed
    assert [effect.against for effect in higher.effects] == [start.levels]


def test_outputs_are_held_against_the_lowest_rung_that_computes_the_same(climbed: list[ArmRecord]) -> None:
    _, higher, _, _, wrong, quicker = climbed
    assert (wrong.outcome, wrong.effects) == ("wrong-output", [])
    assert higher.price is not None
    assert quicker.price is not None
    assert (higher.price.error, quicker.price.error) == (None, 0)


KNOWN = dict.fromkeys((2, 3, 4), ("unavailable", None))  # what the first visit has shown of the whole ladder


def test_a_rung_in_settled_contrasts_alone_is_not_measured_again() -> None:
    start, higher, *_, quicker = measured(RUNGS, failures=KNOWN, settled=frozenset({Contrast(1, 0), Contrast(5, 1)}))
    assert (higher.outcome, higher.timing, higher.effects) == ("measured", None, [])
    assert start.timing is not None
    assert [effect.against for effect in quicker.effects] == [start.levels]


def test_a_rung_against_which_another_one_is_not_settled_is_measured_again() -> None:
    _, higher, *_, quicker = measured(RUNGS, failures=KNOWN, settled=frozenset({Contrast(1, 0), Contrast(5, 0)}))
    assert higher.timing is not None
    assert higher.effects == []
    assert [effect.against for effect in quicker.effects] == [higher.levels]


def test_a_rung_counts_as_settled_if_the_only_one_to_be_compared_with_it_fails() -> None:
    known = {place: KNOWN[place] for place in (2, 3)}
    _, higher, *_, careless, _ = measured(
        RUNGS, failures=known, settled=frozenset({Contrast(1, 0), Contrast(4, 0), Contrast(5, 0), Contrast(5, 4)})
    )
    assert careless.outcome == "wrong-output"
    assert (higher.outcome, higher.timing) == ("measured", None)


def test_a_worker_that_is_lost_loses_no_arm_that_is_settled() -> None:
    settled = frozenset({Contrast(1, 0), Contrast(5, 1)})
    trial = Trial(framework="fake", workload="stairs", arms=RUNGS, failures=KNOWN, settled=settled)
    outcomes = [arm.outcome for arm in TrialResult.nothing(trial, "crashed", None).arms]
    assert [outcomes[place] for place in (0, 1, 5)] == ["crashed", "measured", "crashed"]
