"""Wrong work never gets a number: every mutant is named, and no honest arm is."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from time import perf_counter

import pytest
from bench import STEP_S, Bench, Product
from examination import Examination, Examined, accusations
from fake_device import FakeClock, FakeDevice
from honest import arm as honest_arm
from mutants import MUTANTS, SEEN_BY, with_a_secret_device, with_the_wrong_device
from unusual import ACCUSED_BY, HONEST

from accelbench.core import Arm, Plan, Setting, Trial, Workload
from accelbench.frameworks import load
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.reasons import reason
from accelbench.schema.result import ArmRecord

SEED = 0


def names(arms: dict[str, Examination]) -> list[str]:
    """Return the arms that go by the fake clock; those of PyTorch have a module of their own."""
    return [sentence for sentence, each in arms.items() if each.framework == "fake"]


@pytest.mark.slow
@pytest.mark.parametrize("sentence", names(MUTANTS))
def test_a_mutant_gets_the_reason_of_the_table_and_no_number(sentence: str) -> None:
    examined = MUTANTS[sentence].of(SEED)
    assert examined.codes[:1] == tuple(filter(None, [SEEN_BY.get(sentence)])), examined.wording
    assert all(arm.timing is None and arm.effect is None for arm in examined.arms if arm.outcome != "measured")


@pytest.mark.slow
@pytest.mark.parametrize("sentence", names(HONEST))
def test_an_unusual_honest_arm_gets_no_reason_but_that_of_the_table(sentence: str) -> None:
    examined = HONEST[sentence].of(SEED)
    assert examined.codes[:1] == tuple(filter(None, [ACCUSED_BY.get(sentence)])), examined.wording


def test_the_tables_name_arms_that_exist() -> None:
    assert (SEEN_BY.keys() - MUTANTS.keys(), ACCUSED_BY.keys() - HONEST.keys()) == (set(), set())


def test_there_are_enough_mutants_and_honest_arms() -> None:
    assert (len(MUTANTS) >= 60, len(HONEST) >= 40) == (True, True)


ZEROS = "Computes on zeros, which hardware multiplies faster"
OVERWRITTEN = "Overwrites its inputs, so that later calls compute on easier ones"


@pytest.mark.parametrize("sentence", [ZEROS, OVERWRITTEN])
def test_a_baseline_whose_inputs_are_not_right_has_no_number_either(sentence: str) -> None:
    baseline, candidate = replace(MUTANTS[sentence], swapped=True).of(SEED).arms
    assert baseline.outcome == "wrong-work"
    assert baseline.reason is not None
    assert baseline.reason.code == SEEN_BY[sentence]
    assert (candidate.outcome, candidate.effect) == ("unavailable", None)


def launched(bench: Bench) -> Arm:
    """Return an honest arm that launches its work, which goes on when the step has returned."""
    arm = Product(bench)

    def step() -> object:
        bench.device.launch(STEP_S)
        return arm.batch @ arm.weights

    return replace(arm.arm(), step=step)


def examine(candidate: Callable[[Bench], Arm], device: type[FakeDevice] = FakeDevice) -> Examined:
    return Examination(candidate=candidate, baseline=launched).on(Bench(SEED, device=device))


def test_a_missing_synchronise_is_named() -> None:
    class Unsynchronised(FakeDevice):
        def synchronize(self) -> None:
            """Return before the queue is empty."""

    baseline, _ = examine(launched, Unsynchronised).arms
    assert baseline.outcome == "wrong-work"
    assert "a synchronise is missing" in str(baseline.reason)


def test_compilation_inside_the_window_is_flagged_and_counted() -> None:
    baseline, compiled = MUTANTS["Compiles in its fiftieth call"].of(SEED).arms
    assert baseline.flags[0].code == "compiled-while-timed"
    assert baseline.flags[0].values["graphs"] >= 1
    assert "stalled-block" in [flag.code for flag in compiled.flags]
    assert compiled.outcome == "measured"


def test_work_on_a_stream_that_nothing_waits_for_is_flagged() -> None:
    _, arm = MUTANTS["Works on a stream for which the current one does not wait"].of(SEED).arms
    assert arm.outcome == "measured"
    assert str(arm.flags[0]).startswith("other streams go on after the current one has ended, for ")


def on_the_device(bench: Bench) -> Arm:
    """Return an honest arm whose arrays lie on the device."""
    batch, weights = map(bench.device.array, bench.data())

    def step() -> object:
        bench.device.launch(STEP_S)
        return batch @ weights

    return Arm(step=step, items=bench.rows, device="fake:0", inputs=lambda: batch, parameters=lambda: weights)


@pytest.mark.parametrize(("arm", "place"), [(launched, "cpu"), (on_the_device, "fake:0")])
def test_an_honest_arm_shows_where_its_work_ran(arm: Callable[[Bench], Arm], place: str) -> None:
    _, record = examine(arm).arms
    assert record.outcome == "measured"
    assert record.placement is not None
    assert record.placement.outputs == [place]
    assert record.placement.kernels == 1


class Pooled(FakeDevice):
    """A device whose kernels nobody counts, and whose memory grows where work is launched."""

    def kernels(self, run: Callable[[], object]) -> int | None:  # noqa: ARG002
        return None

    def allocations(self, run: Callable[[], object]) -> list[str]:
        return ["fake:0"] if super().kernels(run) else []


def there_and_back(bench: Bench) -> Arm:
    """Return an arm that sends its arrays to the device and brings the output back in every step."""
    return replace(launched(bench), device="fake:0", parameters=lambda: ())


@pytest.mark.parametrize(("arm", "is_there"), [(there_and_back, True), (with_the_wrong_device, False)])
def test_memory_shows_where_an_arm_runs_whose_kernels_are_not_counted(
    arm: Callable[[Bench], Arm], is_there: bool
) -> None:
    _, record = examine(arm, Pooled).arms
    assert record.placement is not None
    assert record.placement.outputs == ["cpu"]
    assert record.placement.allocations == (["fake:0"] if is_there else [])
    assert [flag.code for flag in record.flags] == ([] if is_there else ["placement-unproven"])


def test_memory_betrays_an_arm_of_the_cpu_that_works_on_the_device() -> None:
    _, record = examine(with_a_secret_device, Pooled).arms
    assert (record.outcome, record.reason) == (
        "misplaced",
        reason("arrays-elsewhere", label="cpu", devices="fake:0"),
    )


@pytest.mark.parametrize(
    ("framework", "seeds"),
    [
        ("fake", range(100)),
        pytest.param("numpy", range(50), marks=pytest.mark.slow),
    ],
    ids=["fake-100", "numpy-50"],
)
def test_no_honest_trial_raises_a_flag(framework: str, seeds: range) -> None:
    accused = [
        f"seed {seed}: {arm.outcome} {arm.reason} {arm.flags}"
        for seed in seeds
        for arm in honest_trial(framework, seed)
        if arm.outcome != "measured" or accusations(arm.flags)
    ]
    assert accused == []


def honest_trial(framework: str, seed: int) -> list[ArmRecord]:
    coin = Random(seed)
    noise = coin.choice((0.0, 0.02, 0.2))
    device = FakeDevice(FakeClock(), noise=lambda: coin.lognormvariate(0, noise)) if framework == "fake" else None

    def build(_: Setting) -> Arm:
        return honest_arm(Random(seed), device)

    drawn = Workload(name="drawn", frameworks=(framework,), unit="row", summary="", builder=build)
    plan = Plan(budget_s=2e-3 if device is None else 0.01, min_span_s=0, builds=1)
    trial = Trial(framework=framework, workload=drawn, arms=({}, {}), plan=plan)
    conduct = TrialRun(trial, device or load(framework), clock=device.clock if device else perf_counter, coin=coin)
    return conduct.run().arms
