"""Rates that arms imply, held against planted ceilings: what is believed, what is doubted, what gets no number."""

from collections.abc import Callable
from random import Random

import pytest
from fake_device import FakeClock, FakeDevice
from runs import arm

from accelbench.core import Arm, Plan, Setting, Trial, Work, Workload, technique
from accelbench.core.technique import Build
from accelbench.measuring.trial_result import StatedWork, TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.roofline.plausibility import check_arm, check_trial
from accelbench.schema.result import ArmRecord, Ceiling

GB = 1e9


def ceiling(name: str, per_s: float, working_set_bytes: float = 0) -> Ceiling:
    unit = "operation" if "matrix" in name else "byte"
    return Ceiling(name=name, per_s=per_s, unit=unit, working_set_bytes=working_set_bytes)


CEILINGS = [
    ceiling("fake:0 memory", 4000 * GB),
    ceiling("fake:0 memory", 900 * GB, 2**26),
    ceiling("fake:0 matrix fp32", 20e12),
    ceiling("fake:0 matrix tf32", 80e12),
    ceiling("fake:0 matrix bf16", 160e12),
    ceiling("cpu matrix fp32", 60e9),  # measured beside busy neighbours
    ceiling("cpu matrix fp32, cores apart", 100e9),
    ceiling("fake:0 to device pageable", 6 * GB),
    ceiling("fake:0 to device pinned", 24 * GB),
    ceiling("disk", 2 * GB),
    ceiling("page cache", 10 * GB),
    ceiling("cpu memory", 40 * GB),
]


@technique("fake", levels=("right", "wrong"), parallelism={"right": 1, "wrong": 4}.__getitem__)
def timing(build: Build, level: str) -> Arm:
    """Whether the device is waited for."""
    return build(timing=level)


@technique("fake", levels=("full", "half"), tolerance={"half": 1e-2})
def precision(build: Build, level: str) -> Arm:
    """How precisely is computed."""
    return build(timing=level)


def measure(
    work: Work | None,
    right_s: float,
    wrong_s: float | None = None,
    *,
    noise: Callable[[], float] = lambda: 1.0,
    device: str | None = "fake:0",
    name: str = "timing",
) -> TrialResult:
    """Measure an arm that takes so long, and one that seems to take another time, and judge them."""
    fake = FakeDevice(FakeClock(), noise=noise)
    times_s = {"right": right_s, "full": right_s, "wrong": wrong_s, "half": wrong_s}

    def build(_: Setting, *, timing: str) -> Arm:
        def step() -> float:
            fake.launch(times_s[timing] or 0.0)
            return 1.0

        return Arm(step=step, work=work, device=device)

    workload = Workload(name="w", frameworks=("fake",), unit="row", summary="", builder=build)
    levels = ("right", "wrong") if name == "timing" else ("full", "half")
    arms = tuple({name: level} for level in levels[: 1 if wrong_s is None else 2])
    trial = Trial(framework="fake", workload=workload, arms=arms, plan=Plan(budget_s=0.2))
    return check_trial(trial, TrialRun(trial, fake, clock=fake.clock, coin=Random(1)).run(), CEILINGS)


def test_a_missing_synchronise_gets_no_number() -> None:
    stack = Work(memory_bytes=2**30)
    honest, absurd = measure(stack, 2**30 / (800 * GB), 2**30 / (34_350 * GB)).arms
    assert [rate.ceiling for rate in honest.rates] == ["fake:0 memory"]
    assert honest.rates[0].share == pytest.approx(800 / 900, rel=0.01)
    assert (absurd.outcome, absurd.timing, absurd.effect) == ("impossible", None, None)
    assert "times the 900 GB/s that is the fastest seen here (fake:0 memory)" in str(absurd.reason)
    assert "look for a missing synchronise" in str(absurd.reason)


def test_an_impossible_baseline_leaves_nothing_to_compare_with() -> None:
    measured = measure(Work(memory_bytes=2**30), 1e-5, 2e-3)
    baseline, candidate = measured.arms
    assert (baseline.outcome, candidate.outcome) == ("impossible", "unavailable")
    assert str(candidate.reason).startswith("there is no baseline to compare with: its samples imply")
    assert measured.samples_s == [(), ()]


@pytest.mark.parametrize("share", [0.2, 0.8, 1.0])
def test_honest_noise_below_a_ceiling_is_never_called_impossible(share: float) -> None:
    random = Random(7)
    for _ in range(8):
        (arm,) = measure(
            Work(memory_bytes=2**30), 2**30 / (share * 900 * GB), noise=lambda: random.lognormvariate(0, 0.02)
        ).arms
        assert arm.outcome == "measured"


def test_work_that_is_skipped_in_one_of_five_calls_is_found() -> None:
    random = Random(5)
    (arm,) = measure(
        Work(memory_bytes=2**32), 2**32 / (800 * GB), noise=lambda: 0.01 if random.random() < 0.2 else 1.0
    ).arms
    assert arm.outcome == "impossible"


def test_a_problem_that_fits_into_a_cache_may_run_as_fast_as_the_cache() -> None:
    work = Work(memory_bytes=2**24)
    assert measure(work, 2**24 / (3000 * GB)).arms[0].outcome == "measured"
    assert measure(Work(memory_bytes=2**27), 2**27 / (3000 * GB)).arms[0].outcome == "impossible"


@pytest.mark.parametrize(
    ("work", "seconds", "held_against"),
    [
        (Work(operations=15e9, precision="fp32"), 1e-3, "fake:0 matrix fp32"),
        (Work(operations=60e9, precision="fp32"), 1e-3, "fake:0 matrix tf32"),
        (Work(operations=120e9, precision="fp32"), 1e-3, None),
        (Work(operations=120e9, precision="fp32", saving=2.25), 1e-3, "fake:0 matrix tf32"),
        (Work(operations=120e9), 1e-3, "fake:0 matrix bf16"),
        (Work(operations=120e9, precision="int8"), 1e-3, "fake:0 matrix bf16"),
        (Work(to_device_bytes=5e6), 1e-3, "fake:0 to device pageable"),
        (Work(to_device_bytes=20e6), 1e-3, "fake:0 to device pinned"),
        (Work(to_device_bytes=40e6), 1e-3, None),
        (Work(disk_bytes=1e6), 1e-3, "disk"),
        (Work(disk_bytes=30e6), 1e-3, "cpu memory"),
        (Work(disk_bytes=60e6), 1e-3, None),
    ],
)
def test_every_kind_of_work_is_held_against_what_bounds_it(
    work: Work, seconds: float, held_against: str | None
) -> None:
    (arm,) = measure(work, seconds).arms
    assert [rate.ceiling for rate in arm.rates] == ([held_against] if held_against else [])
    assert arm.outcome == ("measured" if held_against else "impossible")


def test_a_technique_that_may_change_the_precision_is_held_against_every_precision() -> None:
    work = Work(operations=15e9, precision="fp32")
    _, half = measure(work, 1e-3, 0.12e-3, name="precision").arms
    assert (half.outcome, half.rates[0].ceiling) == ("measured", "fake:0 matrix bf16")
    _, wrong = measure(work, 1e-3, 0.12e-3).arms
    assert wrong.outcome == "impossible"


def test_where_neighbours_held_up_the_cores_together_what_each_does_apart_is_the_bound() -> None:
    def arm_at(per_s: float) -> ArmRecord:
        claim = StatedWork(work=Work(operations=per_s * 1e-3, precision="fp32"), device="cpu")
        return check_arm(arm({"threads": "all"}, 1e-3), claim, CEILINGS)

    assert arm_at(50e9).rates[0].ceiling == "cpu matrix fp32"
    assert arm_at(90e9).rates[0].ceiling == "cpu matrix fp32, cores apart"
    assert arm_at(120e9).outcome == "impossible"


def test_an_arm_that_does_not_say_where_it_runs_is_held_against_the_fastest_device() -> None:
    (arm,) = measure(Work(memory_bytes=2**30), 2**30 / (800 * GB), device=None).arms
    assert arm.rates[0].ceiling == "fake:0 memory"


def test_a_slow_baseline_is_doubted_where_a_candidate_on_its_device_is_many_times_as_fast() -> None:
    work = Work(memory_bytes=2**30)
    baseline, _ = measure(work, 0.1, 0.01, name="precision").arms
    assert str(baseline.flags[0]).startswith("the baseline reaches 1.2 % of fake:0 memory")
    assert measure(work, 0.1, 0.03, name="precision").arms[0].flags == []
    assert measure(work, 0.1, 0.01).arms[0].flags == []  # four times the cores explain most of it
    assert measure(work, 0.02, 0.002, name="precision").arms[0].flags == []


def test_more_than_linear_scaling_is_doubted_with_the_number_of_cores() -> None:
    _, linear = measure(None, 4e-3, 1e-3).arms
    _, more = measure(None, 4e-3, 0.5e-3).arms
    assert linear.flags == []
    assert "times as fast with 4.00 times the cores" in str(more.flags[0])
    assert more.outcome == "measured"


def test_an_arm_that_claims_nothing_is_believed() -> None:
    (arm,) = measure(None, 1e-9).arms
    assert (arm.outcome, arm.rates) == ("measured", [])
