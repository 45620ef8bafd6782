"""One arm: its tolerances, what is never a sample, its record, and how often it is built and where."""

import weakref
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from random import Random
from statistics import median
from typing import NoReturn

import numpy as np
import psutil
import pytest
from fake_device import FakeClock, FakeDevice

import accelbench.techniques
import accelbench.workloads  # noqa: F401  importing fills the catalogue
from accelbench.core import ROUNDING, Arm, Plan, Trial, Workload, find_technique
from accelbench.measuring import malloc
from accelbench.measuring.arm_run import ArmRun, LayoutRandomization, arm_runs_of, built_often
from accelbench.measuring.referee import StoppedError
from accelbench.measuring.trial_run import TrialRun


def test_what_is_switched_may_stray_as_far_as_the_precision_that_every_arm_has() -> None:
    trial = Trial(framework="torch", workload="bert-train", arms=({"attention": "eager"}, {"attention": "math"}))
    _, alone = arm_runs_of(trial)
    _, beside = arm_runs_of(replace(trial, fixed={"amp": "bf16", "threads": "all"}))
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
    arms = TrialRun(trial, device, clock=device.clock).run().arms
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

    def empty_cache(self) -> None:
        self.held = self.array() is not None


def arm_run(device: Device) -> ArmRun:
    """Return an arm that makes an array and finds no room for more."""

    def step() -> NoReturn:
        array = Array()
        device.array = weakref.ref(array)
        raise MemoryError("no room")

    arm = Arm(step=step)
    return ArmRun(levels={}, build=lambda: arm, tolerance=0.0, computes=tuple, arm=arm)


@pytest.mark.parametrize("by_way_of_the_referee", [False, True])
def test_what_ran_out_of_memory_holds_none_when_it_is_given_back(by_way_of_the_referee: bool) -> None:
    device = Device()
    failing = arm_run(device)

    def raised() -> None:
        try:
            with StoppedError.naming(0):
                failing.built.step()
        except StoppedError as stopped:
            with failing.failing(device):
                raise stopped.error from None

    if by_way_of_the_referee:
        raised()
    else:
        with failing.failing(device):
            failing.built.step()
    assert (failing.outcome, str(failing.reason)) == (
        "out-of-memory",
        "MemoryError: no room (test_arm_run.py, line 72)",
    )
    assert device.held is False


def test_what_is_cheap_to_build_is_built_often_and_timed_longer_in_all() -> None:
    plan = built_often(Plan(budget_s=2.0), arms=2, again_s=0.1)
    assert (plan.builds, plan.min_span_s) == (plan.max_builds, 2 * Plan().min_span_s)


@pytest.mark.parametrize(
    ("plan", "arms", "again_s"),
    [
        (Plan(budget_s=2.0), 2, 0.2),
        (Plan(builds=1), 2, 0.0),
        (Plan(), 1, 0.0),
    ],
    ids=["dear", "built once", "a single arm"],
)
def test_other_plans_stay_as_they_are(plan: Plan, arms: int, again_s: float) -> None:
    assert built_often(plan, arms, again_s) is plan


SIZES_BYTES = (2_000, 80_000, 1_000_000, 4_000_000)


@pytest.fixture(scope="module")
def distinct_places() -> list[dict[int, int]]:
    """In how many places arrays of each size lay, in three processes: where one begins to allocate is chance."""
    found = []
    for _ in range(3):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:  # other tests left holes in this heap
            found.append(fresh.submit(places_of_each_size).result())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size_bytes", SIZES_BYTES)
def test_arrays_built_again_come_to_lie_elsewhere(size_bytes: int, distinct_places: list[dict[int, int]]) -> None:
    assert median(distinct[size_bytes] for distinct in distinct_places) > 8 / 2


@pytest.mark.slow
def test_gaps_between_arrays_take_no_memory() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        assert fresh.submit(taken_by_moves, 100).result() < 2**20 * 100 / 4


def taken_by_moves(moves: int) -> int:
    """Return the bytes of memory that gaps take where malloc keeps what was freed."""
    malloc.raise_thresholds()
    elsewhere, before = LayoutRandomization(Random(3)), psutil.Process().memory_info().rss
    for _ in range(moves):
        elsewhere.move()
    return psutil.Process().memory_info().rss - before


def places_of_each_size() -> dict[int, int]:
    """Return in how many places arrays of each size came to lie, for each in a copy of this process."""
    return {size_bytes: _in_a_copy(places_of, size_bytes) for size_bytes in SIZES_BYTES}


def _in_a_copy(function: Callable[[int], int], size_bytes: int) -> int:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as copy:
        return copy.submit(function, size_bytes).result()


def places_of(size_bytes: int) -> int:
    """Return in how many places an array of this size came to lie when it was built eight times."""
    elsewhere, places = LayoutRandomization(Random(3)), set[int]()
    for _ in range(8):
        elsewhere.move()
        array = np.empty(size_bytes, dtype=np.uint8)
        places.add(array.ctypes.data)
        del array
    return len(places)
