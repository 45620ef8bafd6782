"""Wrong work in PyTorch, where it has ways of its own; with CUDA also what only a real queue can show."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from mutants import MUTANTS, SEEN_BY
from unusual import ACCUSED_BY, HONEST

from accelbench.core import Arm, Plan, Setting, Trial, Workload
from accelbench.frameworks.torch import Torch
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and PyTorch sees none")


def trial(build: Callable[[Setting], Arm], framework: Torch | None = None) -> TrialRun:
    drawn = Workload(name="drawn", frameworks=("torch",), unit="row", summary="", builder=build)
    trial = Trial(framework="torch", workload=drawn, arms=({},), plan=Plan(budget_s=0.5, min_span_s=0, builds=1))
    return TrialRun(trial, framework or Torch())


def measure(build: Callable[[Setting], Arm], framework: Torch | None = None) -> ArmRecord:
    return trial(build, framework).run().arms[0]


def prove(build: Callable[[Setting], Arm]) -> ArmRecord:
    return trial(build).prove([0])[0]


def product(device: str = "cpu", **facts: Any) -> Arm:
    left, right = torch.randn(64, 64, device=device), torch.randn(64, 64, device=device)
    return Arm(**{"step": lambda: left @ right, "inputs": lambda: (left, right), "device": device} | facts)


def test_a_tensor_without_values_is_no_result() -> None:
    arm = measure(lambda _: product(step=lambda: torch.empty(3, device="meta")))
    assert arm.outcome == "wrong-work"
    assert "nothing was computed" in str(arm.reason)


def test_a_label_of_a_device_that_never_worked_is_contradicted() -> None:
    arm = prove(lambda _: replace(product(), device="cuda:0"))
    assert arm.outcome == "misplaced"
    assert "no kernel was started on an accelerator, and the arrays lie on cpu" in str(arm.reason)


def test_a_model_of_which_a_part_lies_elsewhere_is_misplaced() -> None:
    arm = measure(lambda _: replace(product(), parameters=lambda: torch.empty(3, device="meta")))
    assert arm.outcome == "misplaced"
    assert "parameters lie on meta" in str(arm.reason)


def test_an_input_that_a_compiled_step_has_baked_in_is_seen() -> None:
    left, right = torch.randn(64, 64), torch.randn(64, 64)
    baked = left.clone() @ right
    arm = measure(lambda _: Arm(step=lambda: baked + 0, inputs=lambda: {"left": left, "right": right}))
    assert arm.outcome == "wrong-work"
    assert "it was cached, or computed beforehand" in str(arm.reason)


def test_graphs_that_are_compiled_are_counted() -> None:
    framework = Torch()
    doubled = torch.compile(lambda tensor: tensor * 2, backend="eager", dynamic=False)
    doubled(torch.ones(2))
    before = framework.compilations()
    doubled(torch.ones(2))
    assert framework.compilations() == before
    doubled(torch.ones(3))
    assert framework.compilations() == before + 1


@needs_cuda
def test_an_honest_product_on_cuda_shows_its_kernels() -> None:
    arm = prove(lambda _: product("cuda:0"))
    assert arm.outcome == "measured"
    assert arm.placement is not None
    assert (arm.placement.inputs, arm.placement.outputs) == (["cuda:0"], ["cuda:0"])
    assert arm.placement.kernels is None or arm.placement.kernels > 0


@needs_cuda
def test_a_product_that_is_said_to_run_on_the_cpu_but_does_not_is_misplaced() -> None:
    arm = measure(lambda _: replace(product("cuda:0"), device="cpu"))
    assert arm.outcome == "misplaced"


@needs_cuda
def test_a_missing_synchronise_on_cuda_is_named() -> None:
    class Unsynchronised(Torch):
        def synchronize(self) -> None:
            """Return before the device has finished."""

    factor = torch.randn(4096, 4096, device="cuda:0") / 64
    arm = measure(lambda _: product("cuda:0", step=_long_step(factor), inputs=lambda: factor), Unsynchronised())
    assert arm.outcome == "wrong-work"
    assert "a synchronise is missing" in str(arm.reason)


def _long_step(factor: torch.Tensor) -> Callable[[], torch.Tensor]:
    def step() -> torch.Tensor:
        output = factor
        for _ in range(20):
            output = output @ factor
        return output[0]  # read in no time, once it is there

    return step


@pytest.mark.parametrize("sentence", [name for name, each in MUTANTS.items() if each.framework == "torch"])
def test_a_mutant_in_pytorch_gets_the_reason_of_the_table(sentence: str) -> None:
    examined = MUTANTS[sentence].of(0)
    assert examined.codes[:1] == tuple(filter(None, [SEEN_BY.get(sentence)])), examined.wording


@pytest.mark.parametrize("sentence", [name for name, each in HONEST.items() if each.framework == "torch"])
def test_an_honest_arm_in_pytorch_gets_no_reason(sentence: str) -> None:
    examined = HONEST[sentence].of(0)
    assert examined.codes[:1] == tuple(filter(None, [ACCUSED_BY.get(sentence)])), examined.wording
