"""What an arm leaves changed in its process: nobody else is timed with it, and the next trial never finds it."""

import gc
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest
from examination import accusations
from fake_device import FakeClock, FakeDevice
from honest import arm as honest_arm

import accelbench
from accelbench.core import Arm, Build, Host, Plan, Setting, Technique, Trial, Workload, register_techniques
from accelbench.measuring.checks.process_state import ProcessSettings
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.measuring.workers.pool import Pool

Deed = Callable[[], object]
VARIABLE, PRIVATE = "OMP_NUM_THREADS", "TOKEN_OF_A_PROGRAM"


@pytest.fixture(scope="module")
def settings() -> ProcessSettings:
    return ProcessSettings(FakeDevice())


@pytest.fixture(autouse=True)
def _same_process_for_the_next_test(monkeypatch: pytest.MonkeyPatch, settings: ProcessSettings) -> Iterator[None]:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv(PRIVATE, raising=False)
    before = settings.read()
    yield
    os.environ.pop(PRIVATE, None)
    settings.write(before)


def set_variable(value: str = "7", name: str = VARIABLE) -> None:
    os.environ[name] = value


def ignore_division() -> None:
    np.seterr(divide="ignore")


DEEDS: dict[str, tuple[Deed, str]] = {
    "a variable": (set_variable, f"the environment variable {VARIABLE} changed from unset to 7"),
    "the folder": (lambda: os.chdir("/"), "the working directory changed from "),
    "division": (ignore_division, "numpy.geterr() changed from divide warn to divide ignore"),
    "collection": (gc.disable, "gc.isenabled() changed from True to False"),
    "thresholds": (lambda: gc.set_threshold(3, 3, 3), "gc.get_threshold() changed from "),
    "a profiler": (lambda: sys.setprofile(lambda *_: None), "sys.getprofile() changed from unset to "),
    "errors": (lambda: warnings.simplefilter("error", ImportWarning), "the warnings that are errors changed from "),
    "a patch": (lambda: setattr(np.linalg, "norm", lambda *_: 0.0), "numpy.linalg.norm changed from "),
}


class Program:
    """A program whose arms compute the same; ``at_build`` and ``in_step`` say what each does besides, by its level."""

    def __init__(self, *, at_build: dict[str, Deed] | None = None, in_step: dict[str, Deed] | None = None) -> None:
        self.at_build = at_build or {}
        self.in_step = in_step or {}
        self.contexts: dict[str, Any] = {}
        self.found_in_steps: dict[str, list[Any]] = {}
        self.look: Callable[[], Any] = lambda: None
        self.device = FakeDevice(FakeClock())

    def measure(self, *levels: str, concluded: bool = False, plan: Plan | None = None) -> TrialResult:
        technique = Technique(name="deed", framework="fake", levels=levels, summary="", apply=self._apply)
        trial = Trial(
            framework="fake",
            workload=Workload(name="program", frameworks=("fake",), unit="row", summary="", builder=self._build),
            arms=tuple({"deed": level} for level in levels),
            techniques=(technique,),
            plan=plan or Plan(budget_s=0.1),
        )
        run = TrialRun(trial, self.device, clock=self.device.clock, coin=Random(5))
        measured = run.run()
        return run.shared_state.conclude(measured) if concluded else measured

    def _apply(self, build: Build, level: str) -> Arm:
        arm = build(level=level)
        return arm.inside(self.contexts[level]) if level in self.contexts else arm

    def _build(self, setting: Setting, *, level: str = "") -> Arm:
        self.at_build.get(level, lambda: None)()
        numbers = np.random.default_rng(setting.seed).random((24, 3))

        def step() -> np.ndarray:
            self.found_in_steps.setdefault(level, []).append(self.look())
            self.in_step.get(level, lambda: None)()
            self.device.launch(1e-3)
            return numbers * 2

        return Arm(step=step, items=24, inputs=lambda: numbers)


@pytest.mark.parametrize("when", ["at_build", "in_step"])
@pytest.mark.parametrize("deed", DEEDS)
def test_an_arm_that_leaves_a_setting_changed_fails_alone_and_says_what_changed(
    deed: str, when: str, settings: ProcessSettings
) -> None:
    do, words = DEEDS[deed]
    before = settings.read()
    plain, leaver, other = Program(**{when: {"leaver": do}}).measure("plain", "leaver", "other").arms
    assert (leaver.outcome, leaver.timing, leaver.effect) == ("wrong-work", None, None)
    assert words in str(leaver.reason)
    assert (plain.outcome, plain.flags, other.outcome, other.flags) == ("measured", [], "measured", [])
    assert settings.changes_since(before) == []


def test_the_other_arms_never_run_with_what_one_arm_left() -> None:
    program = Program(at_build={"leaver": ignore_division})
    program.look = lambda: np.geterr()["divide"]
    program.measure("plain", "leaver", "other")
    assert {*program.found_in_steps["other"]} == {"warn"}
    assert program.found_in_steps["plain"].count("ignore") == 1  # an untimed step, to see whether it sets that itself
    assert program.found_in_steps["plain"].count("warn") > 50


def test_a_setting_that_only_the_baseline_leaves_costs_the_baseline() -> None:
    baseline, candidate = Program(at_build={"leaver": set_variable}).measure("leaver", "plain").arms
    assert (baseline.outcome, candidate.outcome) == ("wrong-work", "unavailable")
    assert "it left the environment variable" in str(candidate.reason)


def test_what_all_arms_set_holds_for_all_and_only_the_next_trial_gets_another_process() -> None:
    program = Program(at_build=dict.fromkeys(("one", "two"), ignore_division))
    program.look = lambda: np.geterr()["divide"]
    measured = program.measure("one", "two", concluded=True)
    assert [(arm.outcome, arm.flags) for arm in measured.arms] == [("measured", [])] * 2
    assert {*program.found_in_steps["one"], *program.found_in_steps["two"]} == {"ignore"}
    assert measured.changes_process
    assert str(measured.remarks[-1]) == (
        "the arms left numpy.geterr() changed from divide warn to divide ignore, so the next trial gets a fresh process"
    )


def test_what_a_context_sets_and_puts_back_is_no_change() -> None:
    program = Program()
    program.contexts = {"on": _divisions_ignored}
    program.look = lambda: np.geterr()["divide"]
    measured = program.measure("off", "on", concluded=True)
    assert [(arm.outcome, arm.flags) for arm in measured.arms] == [("measured", [])] * 2
    assert ({*program.found_in_steps["off"]}, {*program.found_in_steps["on"]}) == ({"warn"}, {"ignore"})
    assert not measured.changes_process


@contextmanager
def _divisions_ignored() -> Iterator[None]:
    with np.errstate(divide="ignore"):
        yield


@pytest.mark.parametrize("levels", [("plain", "importing"), ("importing", "plain"), ("importing",)])
def test_what_a_library_sets_only_when_it_is_first_used_is_no_fault_of_an_arm_and_holds_for_all(
    levels: tuple[str, ...],
) -> None:
    calls = count()
    program = Program(at_build={"importing": lambda: next(calls) or set_variable()})
    measured = program.measure(*levels, concluded=True)
    assert [(arm.outcome, arm.flags) for arm in measured.arms] == [("measured", [])] * len(levels)
    assert os.environ[VARIABLE] == "7"
    assert measured.changes_process


def test_arms_that_set_in_every_step_what_they_need_are_timed_with_it() -> None:
    program = Program(
        in_step={"one": lambda: np.seterr(divide="raise"), "two": lambda: np.seterr(divide="ignore")},
    )
    measured = program.measure("one", "two")
    assert [(arm.outcome, arm.flags) for arm in measured.arms] == [("measured", [])] * 2


def test_an_arm_that_cannot_be_built_leaves_nothing_to_the_others() -> None:
    def break_down() -> None:
        ignore_division()
        raise ZeroDivisionError

    program = Program(at_build={"broken": break_down})
    program.look = lambda: np.geterr()["divide"]
    measured = program.measure("plain", "broken", "other", concluded=True)
    assert [arm.outcome for arm in measured.arms] == ["measured", "failed", "measured"]
    assert {*program.found_in_steps["other"]} == {"warn"}
    assert measured.changes_process


def test_an_arm_that_changes_a_setting_only_after_many_steps_is_found_too() -> None:
    calls = count()
    program = Program(in_step={"late": lambda: next(calls) > 60 and ignore_division()})
    plain, late, other = program.measure("plain", "late", "other", plan=Plan(budget_s=0.5, builds=1)).arms
    assert (late.outcome, late.timing) == ("wrong-work", None)
    assert "divide warn to divide ignore" in str(late.reason)
    assert [flag.code for flag in plain.flags] == [flag.code for flag in other.flags] == ["changed-while-timed"]


def test_what_changed_once_while_arms_were_timed_is_a_doubt_about_each() -> None:
    calls = count()
    program = Program(in_step={"late": lambda: next(calls) == 60 and ignore_division()})
    arms = program.measure("plain", "late", plan=Plan(budget_s=0.5, builds=1)).arms
    assert [arm.outcome for arm in arms] == ["measured", "measured"]
    assert {str(flag) for arm in arms for flag in arm.flags} == {
        "numpy.geterr() changed from divide warn to divide ignore while the arms were timed"
    }


def test_a_variable_that_changes_no_speed_is_no_fault_but_the_next_trial_does_not_find_it() -> None:
    program = Program(at_build={"on": lambda: set_variable("a secret", PRIVATE)})
    measured = program.measure("off", "on", concluded=True)
    assert [(arm.outcome, arm.flags) for arm in measured.arms] == [("measured", [])] * 2
    assert measured.changes_process
    assert "process-changed" not in [remark.code for remark in measured.remarks]


def test_several_changes_are_one_reason_that_counts_them() -> None:
    def change_three() -> None:
        ignore_division()
        gc.disable()
        set_variable()

    _, leaver = Program(at_build={"leaver": change_three}).measure("plain", "leaver").arms
    assert leaver.reason is not None
    assert leaver.reason.brief.endswith("from unset to 7 (and 2 more) for the other arms")


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 70), marks=pytest.mark.slow)])
def test_an_honest_trial_leaves_its_process_as_it_was(seeds: range) -> None:
    accused = [f"seed {seed}: {measured.remarks}" for seed in seeds if (measured := honest_trial(seed)).changes_process]
    assert accused == []


def honest_trial(seed: int) -> TrialResult:
    device = FakeDevice(FakeClock())
    workload = Workload(
        name="honest", frameworks=("fake",), unit="row", summary="", builder=lambda _: honest_arm(Random(seed), device)
    )
    same = Technique(name="same", framework="fake", levels=("a", "b"), summary="", apply=lambda build, _: build())
    arms = {"same": "a"}, {"same": "b"}
    trial = Trial(framework="fake", workload=workload, arms=arms, techniques=(same,), plan=Plan(budget_s=0.1))
    run = TrialRun(trial, device, clock=device.clock, coin=Random(seed))
    measured = run.shared_state.conclude(run.run())
    assert [(arm.outcome, arm.flags) for arm in measured.arms] == [("measured", [])] * 2
    return measured


def _deed(build: Build, level: str) -> Arm:
    return build(deed=level)


def _numbers(setting: Setting, *, deed: str = "none") -> Arm:
    """Sum some numbers; the deed is done when the arm is built, or left over when it is closed."""
    if deed == "division":
        np.seterr(divide="ignore")
    numbers = np.random.default_rng(setting.seed).random(2000)
    found = {"process": float(os.getpid()), "divide": float(np.geterr()["divide"] == "ignore")}
    close: Deed = (lambda: np.seterr(divide="ignore")) if deed == "closing" else (lambda: None)
    return Arm(step=lambda: numbers.sum(), items=2000, observe=lambda: found, close=close)


NUMBERS = Workload(name="numbers", frameworks=("numpy",), unit="number", summary="Sum numbers.", builder=_numbers)
DEED = {
    name: Technique(name="deed", framework=name, levels=("none",), summary="", apply=_deed)
    for name in ("numpy", "torch")
}
PLAN = Plan(budget_s=0.1, builds=1, min_span_s=0.02, prices=False)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    monkeypatch.setattr(sys.modules["accelbench.core.technique"], "_TECHNIQUES", {})
    register_techniques(*DEED.values())
    pool = Pool(PLAN)
    yield pool
    pool.close()


def measure(pool: Pool, *levels: str, framework: str = "numpy", plan: Plan = PLAN) -> TrialResult:
    arms, workload = tuple({"deed": level} for level in levels), WORKLOADS[framework]
    return pool.measure(
        Trial(framework=framework, workload=workload, arms=arms, techniques=(DEED[framework],), plan=plan)
    )


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["division", "closing"])
def test_the_next_trial_of_a_run_is_measured_in_a_fresh_worker_and_the_run_says_so(pool: Pool, deed: str) -> None:
    first = measure(pool, "none")
    second = measure(pool, "none", deed)
    third = measure(pool, "none")
    processes = [each.arms[0].observed["process"] for each in (first, second, third)]
    assert processes[0] == processes[1] != processes[2]
    assert third.arms[0].observed["divide"] == 0
    assert [each.changes_process for each in (first, second, third)] == [False, True, False]
    assert second.remarks[-1].code == "process-changed"
    assert "numpy.geterr() changed from divide warn to divide ignore" in str(second.remarks[-1])


def _careless(build: Build, level: str) -> Arm:
    np.seterr(divide="ignore" if level == "on" else "warn")
    return build()


def test_asking_which_techniques_apply_changes_nothing_for_the_trials_that_follow(pool: Pool) -> None:
    careless = Technique(
        name="careless", framework="numpy", levels=("off", "on"), summary="", apply=_careless, snippet={"on": "x"}
    )
    trial = Trial(framework="numpy", workload=NUMBERS, arms=({},), techniques=(careless,), plan=PLAN)
    assert [found.technique for found in pool.applicable(trial, Host())][-1] == "careless"
    assert measure(pool, "none").arms[0].observed["divide"] == 0


def _tensors(setting: Setting, *, deed: str = "none") -> Arm:
    """Multiply some matrices, after a deed that outlives the arm."""
    import torch

    deeds: dict[str, Deed] = {
        "none": lambda: None,
        "dtype": lambda: torch.set_default_dtype(torch.float64),
        "device": lambda: torch.set_default_device("cpu"),
        "gradients": lambda: torch.set_grad_enabled(False),
        "inference": lambda: _kept.append(torch.inference_mode()) or _kept[-1].__enter__(),
        "anomalies": lambda: torch.autograd.set_detect_anomaly(True),
        "threads": lambda: torch.set_num_threads(1 + torch.get_num_threads()),
        "deterministic": lambda: torch.use_deterministic_algorithms(True),
        "tf32": lambda: torch.set_float32_matmul_precision("high"),
        "denormal": lambda: torch.set_flush_denormal(True),
        "hook": lambda: torch.nn.modules.module.register_module_forward_hook(lambda *_: None),
        "function": lambda: setattr(torch, "matmul", lambda a, b: a @ b),
        "method": lambda: setattr(torch.Tensor, "matmul", lambda a, b: a @ b),
    }
    deeds[deed]()
    numbers = torch.rand(24, 24, dtype=torch.float32, generator=torch.Generator("cpu").manual_seed(setting.seed))
    return Arm(
        step=lambda: torch.matmul(numbers, numbers),
        items=24,
        device="cpu",
        inputs=lambda: numbers,
        observe=lambda: {"process": float(os.getpid())},
    )


_kept: list[Any] = []
TENSORS = Workload(name="tensors", frameworks=("torch",), unit="row", summary="Multiply.", builder=_tensors)
WORKLOADS = {"numpy": NUMBERS, "torch": TENSORS}
TORCH_DEEDS = {
    "dtype": "torch.get_default_dtype() changed from torch.float32 to torch.float64",
    "device": "torch.overrides.TorchFunctionMode changed from 0 to 1",
    "gradients": "torch.is_grad_enabled() changed from True to False",
    "inference": "torch.is_inference_mode_enabled() changed from False to True",
    "anomalies": "torch.is_anomaly_enabled() changed from False to True",
    "threads": "torch.get_num_threads() changed from ",
    "deterministic": "torch.get_deterministic_debug_mode() changed from 0 to 2",
    "tf32": "the precision of float32 changed from products highest",
    "denormal": "torch.set_flush_denormal() changed from False to True",
    "hook": "the hooks of all torch.nn.Module changed from ",
    "function": "torch.matmul changed from ",
    "method": "torch.Tensor.matmul changed from ",
}


@pytest.mark.slow
def test_pytorchs_settings_are_kept_from_other_arms_and_from_the_next_trial(pool: Pool) -> None:
    # The first call of an arm may take long on a busy machine; three pairs are enough.
    patient = replace(PLAN, budget_s=2.0, alpha=0.5, noise=1e6, half_width=math.inf)
    measured = measure(pool, "none", *TORCH_DEEDS, "none", framework="torch", plan=patient)
    baseline, *leavers, other = measured.arms
    assert [arm.outcome for arm in leavers] == ["wrong-work"] * len(TORCH_DEEDS)
    found = {deed: str(arm.reason) for deed, arm in zip(TORCH_DEEDS, leavers, strict=True)}
    assert {deed: text for deed, text in found.items() if TORCH_DEEDS[deed] not in text} == {}
    assert [(arm.outcome, accusations(arm.flags)) for arm in (baseline, other)] == [("measured", [])] * 2
    assert "so the next trial gets a fresh process" in str(measured.remarks[-1])
    assert measured.changes_process


def test_what_an_arm_of_a_comparison_sets_in_every_call_does_not_hold_for_the_baseline(clock: FakeClock) -> None:
    numbers = np.random.default_rng(0).random(1000)

    def plain() -> np.ndarray:
        clock.advance(1e-3)
        return numbers * 2

    def leaver() -> np.ndarray:
        np.seterr(divide="ignore")
        return plain()

    result = accelbench.compare({"plain": plain, "leaver": leaver}, budget_s=0.2)["leaver"]
    assert (result.verdict, np.geterr()["divide"]) == (None, "warn")
    assert result.reason.startswith("it left numpy.geterr() changed from divide warn to divide ignore")


def test_what_a_program_sets_once_in_its_first_call_stays_set(clock: FakeClock) -> None:
    numbers, calls = np.random.default_rng(0).random(1000), count()

    def first() -> np.ndarray:
        clock.advance(1e-3)
        if next(calls) == 0:
            np.seterr(divide="ignore")
        return numbers * 2

    def second() -> np.ndarray:
        clock.advance(1e-3)
        return numbers * 2

    result = accelbench.compare({"first": first, "second": second}, budget_s=0.2, by_value=False)["second"]
    assert (result.verdict, np.geterr()["divide"]) == ("same", "ignore")
