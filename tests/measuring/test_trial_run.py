"""One trial from building to price, on the fake asynchronous device: what becomes of each arm."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Contrast, Plan, Setting, Trial, technique, workload
from accelbench.errors import Unavailable
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun

clock = FakeClock()
device = FakeDevice(clock)
state: dict[str, Any] = {}


@workload("fake", unit="row")
def bench_table(_: Setting, *, speed: str = "plain") -> Arm:
    """A table that takes a millisecond to compute, or misbehaves on request."""
    behaviours = {
        "plain": lambda: _step(1e-3),
        "double": lambda: _step(0.5e-3),
        "unphysical": lambda: _step(0.5e-3, 1.00001),
        "wrong": lambda: _step(0.5e-3, 1.5),
        "nan": lambda: _step(0.5e-3, float("nan")),
        "slow": lambda: _step(60.0),
        "compiled": _compiled(),
        "recorded": _compiled(30.0, 30.0, 30.0),
        "endless": _compiled(*[30.0] * 50),
        "burst": _compiled(0.4, 0.4),
        "spoilt": _spoilt(),
        "missing": lambda: _raise(Unavailable("the fake chip has no such unit")),
        "hungry": lambda: _raise(MemoryError("cannot allocate 1 PB")),
        "straying": _straying(),
        "second-build": lambda: _step(0.5e-3),
        "broken": lambda: _raise(ZeroDivisionError("division by zero")),
        "talkative": lambda: _raise(ValueError(f"{list(range(1000))}\nand so on")),
    }
    if speed == "second-build":
        state["builds"] = state.get("builds", 0) + 1
        if state["builds"] > 1:
            raise MemoryError("no room for another build")
    if speed == "missing":
        _raise(Unavailable("the fake chip has no such unit"))
    return Arm(step=behaviours[speed], items=4, verify=_above_one)


def _above_one(output: Sequence[np.ndarray]) -> str | None:
    state["checks"] = state.get("checks", 0) + 1
    lost = float(output[0].sum() - output[0].size)
    return f"energy is not conserved: {lost:.5f} appeared" if 0 < lost < 0.1 else None


def _step(seconds: float, value: float = 1.0) -> np.ndarray:
    device.launch(seconds)
    return np.full(3, value)


def _compiled(*slow_s: float) -> Any:
    calls = iter(slow_s or [30.0])
    return lambda: _step(next(calls, 0.25e-3))


def _spoilt() -> Any:
    values = iter([1.0] * 20)
    return lambda: _step(1e-3, next(values, 2.0))


def _straying() -> Any:
    values = iter([1.0] * 20)
    return lambda: _step(1e-3, next(values, 0.999))


def _raise(error: Exception) -> np.ndarray:
    raise error


@technique(
    "fake",
    levels=(
        "plain",
        "double",
        "unphysical",
        "wrong",
        "nan",
        "slow",
        "compiled",
        "recorded",
        "endless",
        "burst",
        "spoilt",
        "missing",
        "hungry",
        "broken",
        "talkative",
        "straying",
        "second-build",
    ),
    compiles=("compiled", "recorded", "endless"),
)
def speed(build: Build, level: str) -> Arm:
    """How fast the table is."""
    return build(speed=level)


@technique("fake", levels=("off", "on"))
def lever(build: Build, level: str) -> Arm:
    """A global lever, which must be back where it was after every block."""
    return build().inside(_lever_at, level)


@technique("fake", levels=("fine", "coarse"), tolerance={"coarse": 0.01})
def grain(build: Build, level: str) -> Arm:
    """How finely numbers are rounded."""
    return build().inside(_lever_at, level)


@contextmanager
def _lever_at(level: str) -> Iterator[None]:
    before, state["lever"] = state.get("lever", "rest"), level
    yield
    state["lever"] = before


def measure(*levels: str, name: str = "speed", **fields: Any) -> TrialResult:
    arms = tuple({name: level} for level in levels)
    trial = Trial(framework="fake", workload="bench-table", arms=arms, **{"plan": Plan(budget_s=0.5)} | fields)
    return TrialRun(trial, device, clock=clock, coin=Random(3)).run()


def test_a_faster_arm_is_measured_with_its_price() -> None:
    baseline, candidate = measure("plain", "double").arms
    assert baseline.effect is None
    assert candidate.effect is not None
    assert candidate.effect.verdict == "faster"
    assert candidate.effect.speedup == pytest.approx(2, rel=0.05)
    assert candidate.price is not None
    assert candidate.price.error == 0
    assert candidate.items == 4


def test_arms_that_are_cheap_to_build_are_built_often_and_the_interval_says_so() -> None:
    *_, cheap = measure("plain", "double", plan=Plan(budget_s=2.0)).arms
    *_, dear = measure("plain", "compiled", plan=Plan(budget_s=2.0)).arms
    assert cheap.effect is not None
    assert dear.effect is not None
    assert (cheap.effect.builds, dear.effect.builds) == (8, 1)


@pytest.mark.parametrize(
    ("level", "outcome", "reason"),
    [
        ("wrong", "wrong-output", "differs from the baseline's by 0.500 relative"),
        ("unphysical", "wrong-output", "energy is not conserved: 0.00003 appeared"),
        ("nan", "wrong-output", "NaN"),
        ("missing", "unavailable", "the fake chip has no such unit"),
        ("hungry", "out-of-memory", "MemoryError: cannot allocate 1 PB"),
        ("broken", "failed", "ZeroDivisionError: division by zero"),
        ("slow", "given-up", "one step takes 60.0 s, so the 11 pairs"),
    ],
)
def test_an_arm_that_cannot_be_measured_says_why_and_costs_only_itself(level: str, outcome: str, reason: str) -> None:
    _, lost, other = measure("plain", level, "double").arms
    assert (lost.outcome, lost.timing, lost.effect) == (outcome, None, None)
    assert reason in str(lost.reason)
    assert other.effect is not None
    assert other.effect.verdict == "faster"


def test_of_a_long_error_the_beginning_is_kept() -> None:
    _, lost = measure("plain", "talkative").arms
    assert str(lost.reason).startswith("ValueError: [0, 1, 2, 3,")
    assert len(str(lost.reason)) < 360


def test_an_arm_that_cannot_be_built_again_is_lost_and_the_others_are_measured_without_it() -> None:
    _, lost, other = measure("plain", "second-build", "double").arms
    said = "MemoryError: no room for another build (test_trial_run.py, line 48)"
    assert (lost.outcome, str(lost.reason)) == ("out-of-memory", said)
    assert other.effect is not None
    assert other.effect.speedup == pytest.approx(2, rel=0.05)


def test_an_output_that_changes_during_the_timing_takes_the_speed_away() -> None:
    _, spoilt = measure("plain", "spoilt").arms
    assert spoilt.outcome == "wrong-output"
    assert "before the timing" in str(spoilt.reason)
    assert spoilt.effect is None


@pytest.mark.parametrize(("grain", "outcome"), [("fine", "wrong-output"), ("coarse", "measured")])
def test_a_baseline_may_stray_from_itself_as_far_as_it_is_rounded(grain: str, outcome: str) -> None:
    baseline, _ = measure("straying", "double", fixed={"grain": grain}).arms
    assert baseline.outcome == outcome


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores are not told apart here")
@pytest.mark.parametrize(("level", "told"), [("double", True), ("missing", False)])
def test_what_cores_are_worth_is_told_where_something_was_timed(level: str, told: bool) -> None:
    cores = len(os.sched_getaffinity(0))
    measured = measure(level, level, setting=Setting(cores=cores), plan=Plan(budget_s=0.1))
    assert ("cores_worth" in measured.disturbance) == (told and cores > 1)


def test_a_baseline_whose_candidates_are_missing_is_checked_before_its_timing_alone() -> None:
    def checks(*levels: str) -> int:
        before = state.get("checks", 0)
        assert measure(*levels, plan=Plan(budget_s=0.1, builds=1, prices=False)).arms[0].timing is not None
        return int(state["checks"]) - before

    assert checks("plain") - checks("plain", "missing") == 1


def test_a_timed_output_that_is_wrong_fails_a_baseline_without_candidates_too() -> None:
    baseline, _ = measure("spoilt", "missing").arms
    assert baseline.outcome == "wrong-output"


def test_compilation_is_cold_cost_and_never_a_sample() -> None:
    measured = measure("plain", "compiled")
    timing = measured.arms[1].timing
    assert timing is not None
    assert timing.cold_s == pytest.approx(30, rel=0.01)
    assert max(measured.samples_s[1]) < 1e-3


def test_what_compiles_may_record_in_its_next_calls_before_it_is_too_slow() -> None:
    _, recorded, endless = measure("plain", "recorded", "endless").arms
    assert recorded.timing is not None, recorded.reason
    assert recorded.timing.median_s == pytest.approx(0.25e-3, rel=0.05)
    assert (endless.outcome, endless.timing) == ("given-up", None)
    assert "one step takes 30.0 s" in str(endless.reason)


def test_a_burst_of_other_work_makes_no_step_too_slow() -> None:
    plan = Plan(budget_s=0.1, builds=1, visits=4, prices=False)
    _, burst, slow = measure("plain", "burst", "slow", plan=plan).arms
    assert burst.timing is not None, burst.reason
    assert slow.outcome == "given-up"


def test_without_a_baseline_nothing_is_compared_and_every_arm_says_so() -> None:
    baseline, candidate = measure("broken", "plain").arms
    assert baseline.outcome == "failed"
    assert candidate.outcome == "unavailable"
    assert "there is no baseline to compare with: ZeroDivisionError" in str(candidate.reason)


def test_a_baseline_that_is_wrong_in_itself_has_no_speed_and_nobody_is_measured_by_it() -> None:
    baseline, near, far = measure("unphysical", "plain", "wrong").arms
    assert (baseline.outcome, baseline.timing) == ("wrong-output", None)
    for candidate in (near, far):
        assert candidate.outcome == "unavailable"
        assert str(candidate.reason).endswith("no baseline to compare with: energy is not conserved: 0.00003 appeared")


def test_a_baseline_whose_candidates_cannot_run_is_timed_all_the_same() -> None:
    baseline, _ = measure("plain", "missing").arms
    assert baseline.timing is not None
    assert baseline.timing.median_s == pytest.approx(1e-3, rel=0.05)


def test_a_rehearsal_runs_and_checks_every_arm_and_times_none() -> None:
    baseline, wrong = measure("plain", "wrong", plan=Plan(rehearse=True)).arms
    assert (baseline.outcome, baseline.timing) == ("measured", None)
    assert wrong.outcome == "wrong-output"


def test_global_state_is_where_it_was_after_a_trial() -> None:
    state["lever"] = "rest"
    measured = measure("off", "on", name="lever")
    assert state["lever"] == "rest"
    assert measured.arms[1].effect is not None
    assert measured.arms[1].effect.verdict == "same"


def test_samples_stand_beside_their_arms() -> None:
    measured = measure("plain", "missing", "double")
    assert [bool(samples) for samples in measured.samples_s] == [True, False, True]
    assert len(measured.pairs[Contrast(2, 0)].log_ratios) <= len(measured.samples_s[0])
