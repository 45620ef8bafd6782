"""Wrong work never gets a number: every mutant is named, and no honest arm is."""

import gc
from collections.abc import Iterator
from random import Random
from time import perf_counter

import pytest
from honest import arm as honest_arm
from mutants import DISGUISES, MUTANTS, data, honest

from harness.experiment import Arm, Build, Plan, Setting, Technique, Trial, Workload
from harness.frameworks import load
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.conduct import Conduct
from harness.record import ArmRecord


def table(device: FakeDevice) -> Workload:
    def build(_: Setting, *, disguise: str = "honest") -> Arm:
        made = data()
        arm = honest(made, device)
        spoil = MUTANTS[disguise].spoil if disguise in MUTANTS else DISGUISES.get(disguise)
        return spoil(arm, made, device) if spoil else arm

    return Workload(name="table", frameworks=("fake",), unit="row", summary="", builder=build)


def _disguised(build: Build, level: str) -> Arm:
    return build(disguise=level)


def measure(*levels: str, device: FakeDevice | None = None, plan: Plan | None = None) -> list[ArmRecord]:
    device = device or FakeDevice(FakeClock())
    disguise = Technique(name="disguise", framework="fake", levels=levels, summary="", apply=_disguised)
    trial = Trial(
        framework="fake",
        workload=table(device),
        arms=tuple({"disguise": level} for level in levels),
        techniques=(disguise,),
        plan=plan or Plan(budget_s=0.1),
    )
    return Conduct(trial, device, clock=device.clock, coin=Random(5)).run().arms


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_gets_a_sentence_that_names_it_and_no_number(mutant: str) -> None:
    baseline, candidate = measure("honest", mutant)
    assert baseline.outcome == "measured"
    assert candidate.outcome.startswith(MUTANTS[mutant].outcome)
    assert MUTANTS[mutant].names in candidate.reason
    assert (candidate.timing, candidate.effect) == (None, None)


@pytest.mark.parametrize("mutant", ["all-zero data", "mutated input"])
def test_a_baseline_whose_inputs_are_not_right_has_no_number_either(mutant: str) -> None:
    baseline, candidate = measure(mutant, "honest")
    assert baseline.outcome == "wrong-work"
    assert MUTANTS[mutant].names in baseline.reason
    assert (candidate.outcome, candidate.effect) == ("unavailable", None)


def test_a_missing_synchronise_is_named() -> None:
    class Unsynchronised(FakeDevice):
        def synchronize(self) -> None:
            """Return before the queue is empty."""

    (arm,) = measure("honest", device=Unsynchronised(FakeClock()))
    assert arm.outcome == "wrong-work"
    assert "a synchronise is missing" in arm.reason


def test_compilation_inside_the_window_is_flagged_and_counted() -> None:
    device = FakeDevice(FakeClock())
    baseline, compiled = measure("honest", "compiling late", device=device, plan=Plan(budget_s=0.5))
    assert "during the timed blocks of this trial: 1 graph" in baseline.flags[0]
    assert "times the median" in " ".join(compiled.flags)
    assert compiled.outcome == "measured"


def test_work_on_a_stream_that_nothing_waits_for_is_flagged() -> None:
    _, arm = measure("honest", "on a side stream")
    assert arm.outcome == "measured"
    assert arm.flags[0].startswith("works beside its stream: other streams go on for 1.00 ms after the current one")


@pytest.mark.parametrize("mutant", ["honest", "on the device"])
def test_an_honest_arm_shows_where_its_work_ran(mutant: str) -> None:
    _, arm = measure("honest", mutant)
    assert arm.outcome == "measured"
    assert arm.placement is not None
    assert arm.placement.outputs == (["fake:0"] if mutant == "on the device" else ["cpu"])
    assert arm.placement.kernels == 1


@pytest.fixture(scope="module")
def small_heap() -> Iterator[None]:
    """Keep what other tests left out of the collections around every arm."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize(("framework", "trials"), [("fake", 700), ("numpy", 300)])
def test_no_honest_trial_raises_a_flag(framework: str, trials: int) -> None:
    accused = [
        f"seed {seed}: {arm.outcome} {arm.reason} {arm.flags}"
        for seed in range(trials)
        for arm in honest_trial(framework, seed)
        if arm.outcome != "measured" or arm.flags
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
    conduct = Conduct(trial, device or load(framework), clock=device.clock if device else perf_counter, coin=coin)
    return conduct.run().arms
