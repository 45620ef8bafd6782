"""What an arm says about itself: items, work and facts are held against the other arms, its inputs and the schema."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Plan, Setting, Technique, Trial, Work, Workload
from accelbench.measuring.trial_result import StatedWork, TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.measuring.workers.across_processes import alternate
from accelbench.roofline.plausibility import check_trial
from accelbench.schema.reasons import Reason
from accelbench.schema.result import Ceiling
from accelbench.schema.result_json import to_json

ROWS = 24
Change = Callable[[Arm], Arm]


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return a batch of rows and the weights that they are multiplied with, in float64."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(ROWS, 6)), rng.normal(size=(6, 4))


def honest(made: tuple[np.ndarray, np.ndarray], device: FakeDevice) -> Arm:
    """Return an arm that multiplies a batch by weights."""
    batch, weights = made

    def step() -> np.ndarray:
        device.launch(1e-3)
        return batch @ weights

    return Arm(step=step, items=ROWS, inputs=lambda: batch, parameters=lambda: weights)


def claiming(**claims: Any) -> Change:
    """Return a change of what an honest arm claims."""
    return lambda arm: replace(arm, **claims)


def run(
    builds: Mapping[str, Callable[[FakeDevice], Arm]], *, same_output: bool = True, workers: bool = False
) -> TrialResult:
    """Measure arms of a technique whose first level is the baseline; all must compute the same, unless it says not.

    They run in one process, or in ``workers`` of their own.
    """
    device = FakeDevice(FakeClock())

    def build(_: Setting, *, claim: str) -> Arm:
        return builds[claim](device)

    claim = Technique(
        name="claim",
        framework="fake",
        levels=tuple(builds),
        summary="",
        apply=lambda build, level: build(claim=level),
        same_output=same_output,
    )
    trial = Trial(
        framework="fake",
        workload=Workload(name="table", frameworks=("fake",), unit="row", summary="", builder=build),
        arms=tuple({"claim": level} for level in builds),
        techniques=(claim,),
        plan=Plan(budget_s=0.1),
    )

    def ask(part: Trial, *_: object) -> TrialResult:
        return TrialRun(part, device, clock=device.clock, coin=Random(5)).run()

    return alternate(trial, [{}] * len(builds), ask, lambda _: None) if workers else ask(trial)


def table(device: FakeDevice, **claims: Any) -> Arm:
    return replace(honest(data(), device), **claims)


def measure(change: Change, *, same_output: bool = True) -> TrialResult:
    """Measure an honest arm and a changed one."""
    return run({"honest": table, "changed": lambda device: change(table(device))}, same_output=same_output)


def failure(change: Change) -> tuple[str, str]:
    baseline, arm = measure(change).arms
    assert baseline.outcome == "measured"
    assert (arm.timing, arm.effect) == (None, None)
    return arm.outcome, str(arm.reason)


def flags(change: Change) -> list[str]:
    """Return the flags of an arm that need not compute the same as the honest baseline."""
    arms = measure(change, same_output=False).arms
    assert {arm.outcome for arm in arms} == {"measured"}
    return [flag.code for arm in arms for flag in arm.flags]


@pytest.mark.parametrize("items", [10 * ROWS, ROWS + 1, 1])
def test_an_arm_that_computes_the_same_and_claims_other_items_has_no_speed(items: int) -> None:
    assert failure(claiming(items=items)) == (
        "wrong-work",
        f"it claims {items} items an iteration, and an arm that must compute the same claims 24",
    )


def test_an_arm_in_a_worker_of_its_own_claims_the_same_items_too() -> None:
    builds = {"honest": table, "boasting": partial(table, items=10 * ROWS), "silent": table}
    result = run(builds, workers=True)
    assert [arm.outcome for arm in result.arms] == ["measured", "wrong-work", "measured"]
    assert str(result.arms[1].reason).startswith("it claims 240 items an iteration")


def test_an_arm_whose_items_grow_when_it_is_built_again_has_no_speed() -> None:
    builds: list[int] = []

    def growing(arm: Arm) -> Arm:
        builds.append(len(builds))
        return replace(arm, items=ROWS if len(builds) == 1 else 10 * ROWS)

    outcome, why = failure(growing)
    assert outcome == "wrong-work"
    assert why == "it claims 240 items an iteration, and claimed 24 when it was first built"


def test_an_arm_that_claims_ten_times_its_rows_is_doubted() -> None:
    (flag,) = measure(claiming(items=10 * ROWS), same_output=False).arms[1].flags
    assert str(flag) == (
        "it claims more items for what its inputs show than the baseline does: 240 for a first axis of 24, the "
        "baseline 24 for 24"
    )


def test_an_arm_that_counts_elements_beside_a_baseline_that_counts_rows_is_doubted() -> None:
    assert flags(claiming(items=6 * ROWS)) == ["items-unlike-baseline"]


def unshown(arm: Arm, **claims: Any) -> Arm:
    """Return an arm that shows no inputs."""
    return replace(arm, inputs=tuple, **claims)


def test_an_arm_without_inputs_that_claims_more_items_for_the_same_output_in_no_more_time_is_doubted() -> None:
    builds = {
        "honest": lambda device: unshown(table(device)),
        "boasting": lambda device: unshown(table(device, items=10 * ROWS)),
    }
    (flag,) = run(builds, same_output=False).arms[1].flags
    assert str(flag) == (
        "it claims 240 items an iteration where the baseline claims 24, and returns the same as the baseline in no "
        "more time"
    )


def test_an_arm_that_takes_longer_for_more_items_may_return_the_same() -> None:
    def repeating(device: FakeDevice) -> Arm:
        arm = table(device)
        return unshown(arm, items=10 * ROWS, step=lambda: [arm.step() for _ in range(10)][-1])

    builds = {"honest": lambda device: unshown(table(device)), "repeating": repeating}
    assert run(builds, same_output=False).arms[1].flags == []


def test_an_arm_that_returns_a_status_may_do_more_in_the_same_time() -> None:
    def status(device: FakeDevice, items: int) -> Arm:
        arm = table(device)
        return unshown(arm, items=items, step=lambda: arm.step().size)

    builds = {"one": partial(status, items=1), "eight": partial(status, items=8)}
    assert run(builds, same_output=False).arms[1].flags == []


def test_an_arm_that_keeps_the_items_of_a_larger_batch_is_doubted() -> None:
    def halved(device: FakeDevice) -> Arm:
        batch, weights = data()
        arm, half = table(device), batch[: ROWS // 2].copy()

        def step() -> np.ndarray:
            arm.step()  # which takes its time
            return half @ weights

        return replace(arm, step=step, inputs=lambda: half)

    arms = run({"whole": table, "half": halved}, same_output=False).arms
    assert [flag.code for arm in arms for flag in arm.flags] == ["items-unlike-baseline"]


@pytest.mark.parametrize("items", [1, 6, ROWS - 1])
def test_an_arm_may_claim_fewer_items_than_it_shows(items: int) -> None:
    assert flags(claiming(items=items)) == []


def test_an_arm_may_have_its_items_along_another_axis() -> None:
    def transposed(arm: Arm) -> Arm:
        batch, weights = data()
        columns = np.ascontiguousarray(batch.T)

        def step() -> np.ndarray:
            arm.step()  # which takes its time
            return (weights.T @ columns).T

        return replace(arm, step=step, inputs=lambda: columns)

    assert flags(transposed) == []


@pytest.mark.parametrize(
    ("items", "bigger_items"),
    [(8 * ROWS**2, 8 * (2 * ROWS) ** 2), (8 * ROWS, 16 * ROWS), (6 * ROWS, 12 * ROWS), (7, 48), (100, 100)],
    ids=["interactions", "time steps", "elements", "part", "steps"],
)
def test_arms_of_several_sizes_may_count_as_they_like_if_they_count_alike(items: int, bigger_items: int) -> None:
    def bigger(device: FakeDevice) -> Arm:
        return doubled(table(device, items=bigger_items))

    arms = run({"small": partial(table, items=items), "bigger": bigger}, same_output=False).arms
    assert [(arm.outcome, arm.flags) for arm in arms] == [("measured", [])] * 2


def doubled(arm: Arm) -> Arm:
    """Return an arm that computes with twice as many rows."""
    batch, weights = data()
    twice = np.concatenate([batch, 2 * batch])

    def step() -> np.ndarray:
        arm.step()  # which takes its time
        return twice @ weights

    return replace(arm, step=step, inputs=lambda: twice)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"items": float("nan")}, "items is nan; expected a number above 0, at most 10^18"),
        ({"items": "24"}, "items is '24'; expected a number above 0, at most 10^18"),
        ({"items": -24}, "items is -24; expected a number above 0, at most 10^18"),
        ({"items": 2e18}, "items is 2e+18; expected a number above 0, at most 10^18"),
        ({"work": 3}, "work is 3; expected an accelbench.Work or None"),
        ({"work": Work(operations=-1)}, "work.operations is -1; expected a finite number from 0"),
        ({"work": Work(saving=0)}, "work.saving is 0; expected a finite number from 1"),
        ({"observe": lambda: None}, "what observe returned is None; expected a mapping from names to numbers"),
        ({"observe": lambda: {"loss": None}}, "'loss' in what observe returned is None; expected a finite number"),
        (
            {"verify": lambda _: np.False_},
            "what verify returned is of type bool; expected a sentence, a reason, or None where the answer is right",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_fits_into_no_result_file_costs_the_arm_that_reports_it(claims: Mapping[str, Any], why: str) -> None:
    assert failure(claiming(**claims)) == ("failed", why.replace("type bool;", f"type {type(np.False_).__name__};"))


def test_a_reason_of_the_arms_own_that_fits_into_no_file_costs_that_arm() -> None:
    strange = Reason(code="message", values={"message": threading.Lock()})  # type: ignore[dict-item]
    result = measure(claiming(verify=lambda _: strange))
    assert [arm.outcome for arm in result.arms] == ["measured", "failed"]
    assert str(result.arms[1].reason).startswith("what the arm reported does not fit into a result file: ")
    assert to_json(result.arms[1])["outcome"] == "failed"


def test_items_may_be_a_scalar_of_numpy() -> None:
    _, arm = measure(claiming(items=np.int64(ROWS))).arms
    assert (arm.outcome, arm.items, type(arm.items)) == ("measured", 24, float)


WORK = Work(operations=2 * 24 * 6 * 4, memory_bytes=8 * 24 * 10, disk_bytes=1000, precision="fp32")


def stated_work(*stated: Work | None, **how: bool) -> list[Work | None]:
    """Return the work that arms are held against which state this work."""
    builds = {str(place): partial(table, work=work) for place, work in enumerate(stated)}
    return [each.work if each else None for each in run(builds, **how).stated_work]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [False, True], ids=["one process", "workers"])
def test_an_arm_that_states_no_work_is_held_against_that_of_an_arm_that_must_compute_the_same(workers: bool) -> None:
    assert stated_work(WORK, None, Work(), workers=workers) == [WORK, *[replace(WORK, disk_bytes=0)] * 2]


def test_bytes_of_memory_are_not_asked_of_an_arm_that_may_compute_in_another_precision() -> None:
    silent = StatedWork(work=WORK).of_another_arm(device="cpu", any_precision=True)
    assert silent == StatedWork(
        work=Work(operations=WORK.operations, precision="fp32"), device="cpu", any_precision=True
    )


def test_an_arm_that_states_no_work_and_is_faster_than_the_machine_can_be_has_no_speed() -> None:
    ceilings = [
        Ceiling(name="fake:0 matrix fp32", per_s=2e9, unit="operation"),
        Ceiling(name="fake:0 memory", per_s=1e12, unit="byte"),
    ]

    def slow(device: FakeDevice) -> Arm:
        arm = table(device, work=Work(operations=1e7, precision="fp32"))  # in ten milliseconds

        def step() -> Any:
            device.launch(9e-3)
            return arm.step()

        return replace(arm, step=step)

    builds = {"honest": slow, "skipping": table}
    result = run(builds)
    trial = Trial(framework="fake", workload="", arms=tuple(arm.levels for arm in result.arms))
    baseline, arm = check_trial(trial, result, ceilings).arms
    assert (baseline.outcome, arm.outcome) == ("measured", "impossible")
    assert "times the 2.00 G operations/s that is the fastest seen here" in str(arm.reason)


def test_an_arm_that_states_other_work_is_held_against_its_own() -> None:
    own = replace(WORK, memory_bytes=100)
    assert stated_work(WORK, own) == [WORK, own]


def test_an_arm_that_computes_something_else_is_not_held_against_the_baselines_work() -> None:
    assert stated_work(WORK, None, same_output=False) == [WORK, None]


def test_a_baseline_that_states_no_work_is_not_held_against_a_candidates() -> None:
    assert stated_work(None, WORK) == [None, WORK]
