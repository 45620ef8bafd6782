"""One arm: how far it may stray, what it does not pay for, and what it holds when it was stopped."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import numpy as np
import pytest

import harness.techniques
import harness.workloads  # noqa: F401  importing fills the catalogue
from harness.experiment import ROUNDING, Arm, Plan, Trial, Workload, find_technique
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.conduct import Conduct
from harness.measuring.entrant import Entrant, entrants
from harness.measuring.stopped import StoppedError


def test_what_is_switched_may_stray_as_far_as_the_precision_that_every_arm_has() -> None:
    trial = Trial(framework="torch", workload="bert-train", arms=({"attention": "eager"}, {"attention": "math"}))
    _, alone = entrants(trial)
    _, beside = entrants(replace(trial, fixed={"amp": "bf16", "threads": "all"}))
    assert alone.tolerance == ROUNDING
    assert beside.tolerance == ROUNDING + find_technique("torch", "amp").tolerance_at("bf16")


def test_no_arm_pays_for_the_start_of_the_device() -> None:
    device = FakeDevice(FakeClock())
    device.asleep_s = 3.0
    work = Workload(
        name="walk",
        frameworks=("fake",),
        unit="step",
        summary="Walk.",
        builder=lambda _: Arm(step=lambda: device.launch(1e-3) or np.ones(3)),
    )
    trial = Trial(framework="fake", workload=work, arms=({}, {}), plan=Plan(budget_s=0.1))
    arms = Conduct(trial, device, clock=device.clock).run().arms
    assert [arm.outcome for arm in arms] == ["measured", "measured"]
    assert all(arm.timing and arm.timing.build_s + arm.timing.cold_s < 0.1 for arm in arms)


class Array:
    """What takes memory."""


class Device(FakeDevice):
    """A device that looks, when memory is to be given back, whether an array is still held."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.array: Callable[[], Array | None] = lambda: None
        self.held: bool | None = None

    def free(self) -> None:
        self.held = self.array() is not None


def entrant(device: Device) -> Entrant:
    """Return an arm that makes an array and finds no room for more."""

    def step() -> NoReturn:
        array = Array()
        device.array = weakref.ref(array)
        raise MemoryError("no room")

    arm = Arm(step=step)
    return Entrant(levels={}, build=lambda: arm, tolerance=0.0, computes=tuple, arm=arm)


@pytest.mark.parametrize("by_way_of_the_referee", [False, True])
def test_what_ran_out_of_memory_holds_none_when_it_is_given_back(by_way_of_the_referee: bool) -> None:
    device = Device()
    failing = entrant(device)

    def raised() -> None:
        try:
            with StoppedError.naming(0):
                failing.built.step()
        except StoppedError as stopped:
            with failing.withdrawing(device):
                raise stopped.error from None

    if by_way_of_the_referee:
        raised()
    else:
        with failing.withdrawing(device):
            failing.built.step()
    assert (failing.outcome, failing.reason) == ("out-of-memory", "MemoryError: no room")
    assert device.held is False
