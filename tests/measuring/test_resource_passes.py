"""What is seen of an arm that runs alone after the timing, and that only those arms run which ask for it."""

import itertools
import re
from collections import Counter
from collections.abc import Collection
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Trial, technique, workload
from accelbench.measuring.costs import resources
from accelbench.measuring.costs.resources import COUNTED_LEAST_S
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

STEP_S = 20e-3
FEW = 10  # steps that an arm makes while no other is built, beside those in which it is watched

clock = FakeClock()
device = FakeDevice(clock)
open_arms: list[Arm] = []
alone: Counter[str] = Counter()


@workload("fake", unit="row")
def guarded_table(_: Setting, *, guard: str = "off") -> Arm:
    """A table that takes 20 milliseconds, or breaks after a while alone."""

    def step() -> np.ndarray:
        alone[guard] += open_arms == [arm]
        if guard == "frail" and alone[guard] > FEW:
            raise ZeroDivisionError("division by zero")
        device.launch(STEP_S)
        return np.ones(3)

    arm = Arm(
        step=step,
        watched=guard != "off",
        observe=lambda: {"wait_share": 0.25},
        close=lambda: open_arms.remove(arm),
    )
    open_arms.append(arm)
    return arm


@technique("fake", levels=("off", "on", "frail"))
def guard(build: Build, level: str) -> Arm:
    """Whether the arm asks to be watched."""
    return build(guard=level)


@pytest.fixture(autouse=True)
def _nobody_is_left(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(resources, "gpu_counters", lambda _: [])  # of this machine, whose time is not the fake clock's
    alone.clear()
    yield
    assert open_arms == []


def measure(*levels: str, **plan: Any) -> list[ArmRecord]:
    arms = tuple({"guard": level} for level in levels)
    plan = {"budget_s": 0.5} | plan
    trial = Trial(framework="fake", workload="guarded-table", arms=arms, setting=Setting(cores=2), plan=Plan(**plan))
    return TrialRun(trial, device, clock=clock, coin=Random(3)).run().arms


def test_an_arm_that_asks_for_it_is_watched_beside_what_it_observes_itself() -> None:
    unwatched, watched = measure("off", "on")
    assert unwatched.observed == {"wait_share": 0.25}
    assert watched.observed["wait_share"] == 0.25
    assert watched.observed["rss_bytes"] > 0
    assert watched.observed["cpu_utilisation"] >= 0


def test_it_runs_alone_for_as_long_as_it_is_watched_and_others_hardly() -> None:
    measure("off", "on")
    assert alone["on"] >= COUNTED_LEAST_S / STEP_S
    assert alone["off"] < FEW


def test_a_plan_may_do_without_utilisation() -> None:
    _, watched = measure("off", "on", utilisation=False)
    assert watched.observed == {"wait_share": 0.25}
    assert alone["on"] < FEW


def test_an_arm_that_stops_while_it_is_watched_says_so() -> None:
    _, frail = measure("off", "frail")
    assert frail.outcome == "failed"
    assert re.fullmatch(
        r"ZeroDivisionError: division by zero \(test_resource_passes\.py, line \d+\)", str(frail.reason)
    )


def test_a_rehearsal_watches_nothing() -> None:
    assert [arm.observed for arm in measure("off", "on", rehearse=True)] == [{}, {}]


POWER_W = 300.0


def counting(gpus: Collection[str]) -> list[resources.Counter]:
    """Return the counter of the device, which takes 300 W and counts every 20 ms."""
    assert gpus == {"fa4e"}
    return [resources.Counter(read_j=lambda: POWER_W * 0.02 * (clock() // 0.02))]


def test_energy_is_told_per_item_with_the_device_that_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "gpu_counters", counting)
    for arm in measure("off", "on"):
        assert arm.price is not None
        assert arm.price.energy_j_per_item == pytest.approx(POWER_W * STEP_S, rel=0.1)
        assert arm.price.energy_of == "GPU"


def test_without_a_counter_nothing_is_said_of_energy() -> None:
    for arm in measure("off", "on"):
        assert arm.price is not None
        assert (arm.price.energy_j_per_item, arm.price.energy_of) == (None, "")


def test_an_arm_that_stops_while_its_energy_is_counted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "gpu_counters", counting)
    _, frail = measure("off", "frail")
    assert frail.outcome == "failed"
    assert re.fullmatch(
        r"ZeroDivisionError: division by zero \(test_resource_passes\.py, line \d+\)", str(frail.reason)
    )


def test_what_another_arm_left_on_the_device_is_not_the_memory_of_one_that_allocates_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "peak_bytes", 512)
    assert [arm.price.allocator_peak_bytes for arm in measure("off", "on")] == [None, None]
    rising = itertools.count(512, 100)
    monkeypatch.setattr(device, "peak_memory_bytes", lambda: next(rising))
    assert [arm.price.allocator_peak_bytes for arm in measure("off", "on")] == [612, 812]
