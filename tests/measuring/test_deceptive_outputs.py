"""Outputs that hide an error, compute late, or say nothing of the inputs are named."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, DeferredOutput, Plan, Setting, Technique, Trial, Workload
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

ROWS, COLUMNS, OUTPUTS = 300, 6, 40
STEP_S = 1e-3
Spoil = Callable[[Arm, np.ndarray, np.ndarray], Arm]


def honest(batch: np.ndarray, weights: np.ndarray, device: FakeDevice) -> Arm:
    def step() -> np.ndarray:
        device.launch(STEP_S)
        return batch @ weights

    return Arm(step=step, items=ROWS, inputs=lambda: batch)


def measure(spoil: Spoil, *, tolerance: float = 0.0) -> ArmRecord:
    """Measure an honest arm and a spoiled one of it, and return the latter."""
    device = FakeDevice(FakeClock())

    def build(_: Setting, *, disguise: str) -> Arm:
        rng = np.random.default_rng(3)
        batch, weights = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(COLUMNS, OUTPUTS))
        arm = honest(batch, weights, device)
        return arm if disguise == "honest" else spoil(arm, batch, weights)

    def disguised(build: Build, level: str) -> Arm:
        return build(disguise=level)

    levels = ("honest", "spoiled")
    disguise = Technique(
        name="disguise",
        framework="fake",
        levels=levels,
        summary="",
        apply=disguised,
        tolerance={"spoiled": tolerance} if tolerance else {},
    )
    trial = Trial(
        framework="fake",
        workload=Workload(name="product", frameworks=("fake",), unit="row", summary="", builder=build),
        arms=tuple({"disguise": level} for level in levels),
        techniques=(disguise,),
        plan=Plan(budget_s=0.05, min_span_s=0),
    )
    baseline, spoiled = TrialRun(trial, device, clock=device.clock, coin=Random(5)).run().arms
    assert (baseline.outcome, baseline.flags) == ("measured", [])
    return spoiled


def measure_alone(build: Callable[[Setting], Arm], device: FakeDevice) -> list[ArmRecord]:
    trial = Trial(
        framework="fake",
        workload=Workload(name="alone", frameworks=("fake",), unit="row", summary="", builder=build),
        arms=({},),
        plan=Plan(budget_s=0.05, min_span_s=0),
    )
    return TrialRun(trial, device, clock=device.clock, coin=Random(5)).run().arms


def with_output(change: Callable[[np.ndarray], Any]) -> Spoil:
    return lambda arm, _, __: replace(arm, step=lambda: change(arm.step()))


def zero(place: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(output: np.ndarray) -> np.ndarray:
        output[place] = 0
        return output

    return change


@pytest.mark.parametrize(
    ("place", "words"),
    [(np.s_[17], "output[17]"), (np.s_[100], "output[100]")],
    ids=["a row", "another row"],
)
def test_a_wrong_row_is_named_although_the_tolerance_over_all_hides_it(place: Any, words: str) -> None:
    arm = measure(with_output(zero(place)), tolerance=8e-2)
    assert arm.outcome == "wrong-output"
    assert str(arm.reason).startswith(f"{words} differs from the baseline's by 1")


def test_a_wrong_column_is_named_although_the_tolerance_over_all_hides_it() -> None:
    arm = measure(with_output(zero(np.s_[:, 7])), tolerance=0.2)
    assert arm.outcome == "wrong-output"
    assert str(arm.reason).startswith("output[:, 7] differs from the baseline's by 1")


class ComputingMapping(Mapping[str, Any]):
    """A mapping that computes a value when it is read."""

    def __init__(self, compute: Callable[[], np.ndarray]) -> None:
        self._compute = compute

    def __getitem__(self, key: str) -> np.ndarray:
        return self._compute()

    def __iter__(self) -> Iterator[str]:
        return iter(["output"])

    def __len__(self) -> int:
        return 1


class ComputingDictionary(OrderedDict):  # type: ignore[type-arg]
    """A dictionary of functions that computes when it is read, whichever way."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key)()

    def values(self) -> Any:
        return [compute() for compute in super().values()]


class ComputingList(list):  # type: ignore[type-arg]
    """A list of functions that computes when it is walked through."""

    def __iter__(self) -> Iterator[Any]:
        return (compute() for compute in super().__iter__())


@dataclass
class ComputingResult:
    """A dataclass that computes a field when it is read."""

    output: Any

    def __post_init__(self) -> None:
        self.compute = self.__dict__.pop("output")

    def __getattr__(self, name: str) -> Any:
        return self.compute() if name == "output" else None


class ComputingArray:
    """What becomes an array when somebody asks for one."""

    def __init__(self, compute: Callable[[], np.ndarray]) -> None:
        self.compute = compute

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.compute()


LAZY: dict[str, Callable[[Callable[[], np.ndarray]], Any]] = {
    "mapping": ComputingMapping,
    "dictionary": lambda compute: ComputingDictionary(output=compute),
    "list": lambda compute: ComputingList([compute]),
    "dataclass": ComputingResult,
    "array": ComputingArray,
    "array of objects": lambda compute: np.array([ComputingArray(compute), None], dtype=object),
    "function": lambda compute: compute,
    "generator": lambda compute: (row for row in compute()),
    "iterator": lambda compute: map(np.sum, compute()),
}


@pytest.mark.parametrize("kind", LAZY)
def test_what_computes_when_it_is_read_is_no_output(kind: str) -> None:
    arm = measure(with_output(lambda output: LAZY[kind](lambda: output * 1)))
    assert arm.outcome == "wrong-work"
    assert re.search("compute.* only when (it is|they are) read, after the clock has stopped", str(arm.reason))


def test_a_deferred_output_that_is_computed_from_the_inputs_when_it_is_read_is_named() -> None:
    def spoil(arm: Arm, batch: np.ndarray, weights: np.ndarray) -> Arm:
        def step() -> DeferredOutput:
            arm.step()
            return DeferredOutput(lambda: {"output": batch @ weights})

        return replace(arm, step=step)

    arm = measure(spoil)
    assert (arm.outcome, arm.reason.code if arm.reason else "") == ("wrong-work", "output-computed-late")


def test_a_deferred_output_that_the_step_has_made_is_an_honest_one() -> None:
    def spoil(arm: Arm, _: np.ndarray, __: np.ndarray) -> Arm:
        def step() -> DeferredOutput:
            product = arm.step()
            return DeferredOutput(lambda: {"output": product})

        return replace(arm, step=step)

    arm = measure(spoil)
    assert (arm.outcome, arm.flags) == ("measured", [])


def test_a_deferred_output_that_takes_far_longer_to_read_than_to_make_is_flagged() -> None:
    device = FakeDevice(FakeClock())

    def build(_: Setting) -> Arm:
        batch = np.random.default_rng(3).normal(size=(ROWS, COLUMNS))

        def step() -> DeferredOutput:
            device.launch(STEP_S)
            kept = batch.copy()

            def read() -> dict[str, np.ndarray]:
                device.clock.advance(30 * STEP_S)
                return {"output": kept * 2}

            return DeferredOutput(read)

        return Arm(step=step, items=ROWS, inputs=lambda: batch)

    (arm,) = measure_alone(build, device)
    assert arm.outcome == "measured"
    assert [flag.code for flag in arm.flags] == ["slow-reading"]
    assert "30.0 ms, 30 times as long as the step" in str(arm.flags[0])


def test_an_output_that_hardly_depends_on_the_inputs_is_flagged_with_the_numbers() -> None:
    def spoil(arm: Arm, batch: np.ndarray, weights: np.ndarray) -> Arm:
        remembered = batch @ weights
        calls = iter(range(10**9))
        return replace(arm, step=lambda: (arm.step(), remembered * (1 + 1e-12 * next(calls)))[1])

    arm = measure(spoil)
    assert [flag.code for flag in arm.flags] == ["output-insensitive"]
    assert str(arm.flags[0]).startswith("changing the inputs moves the output by 0.0000")
    assert "less than the tolerance of 0.010 %" in str(arm.flags[0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_arm_that_remembers_the_product_of_some_rows_skips_them(share: float) -> None:
    kept = int(share * ROWS)

    def spoil(arm: Arm, batch: np.ndarray, weights: np.ndarray) -> Arm:
        rest = batch[kept:] @ weights
        return with_output(lambda output: np.concatenate([output[:kept], rest]))(arm, batch, weights)

    arm = measure(spoil)
    assert (arm.outcome, arm.reason.code if arm.reason else "") == ("wrong-work", "item-skipped")


@pytest.mark.parametrize("statistic", [np.max, np.median, np.mean], ids=["maximum", "median", "mean"])
def test_a_statistic_of_all_rows_but_the_last_skips_it(statistic: Callable[..., Any]) -> None:
    device = FakeDevice(FakeClock())

    def build(_: Setting) -> Arm:
        batch = np.random.default_rng(3).normal(size=(ROWS, COLUMNS))

        def step() -> Any:
            device.launch(STEP_S)
            return statistic(batch[:-1], axis=0)

        return Arm(step=step, items=ROWS, inputs=lambda: batch)

    (arm,) = measure_alone(build, device)
    assert (arm.outcome, arm.reason.code if arm.reason else "") == ("wrong-work", "item-skipped")
