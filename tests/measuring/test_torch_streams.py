"""Two clocks on real streams: what a fake device says of them must be true of CUDA."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from accelbench.core import Arm, Plan, Trial, Workload
from accelbench.frameworks.torch import Torch
from accelbench.measuring.trial_run import TrialRun
from accelbench.roofline.plausibility import check_trial
from accelbench.schema.result import ArmRecord

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and PyTorch sees none")

SIDE = 4096
LINKS = 4  # some milliseconds of work


def measure(step_of: Callable[[torch.Tensor], Callable[[], Any]]) -> ArmRecord:
    """Measure a step made for a square matrix on the device, and hold it against nothing but its two clocks."""

    def build(_: object) -> Arm:
        factor = torch.randn(SIDE, SIDE, device="cuda:0") / SIDE**0.5
        return Arm(step=step_of(factor), parameters=lambda: factor, device="cuda:0")

    drawn = Workload(name="drawn", frameworks=("torch",), unit="row", summary="", builder=build)
    trial = Trial(framework="torch", workload=drawn, arms=({},), plan=Plan(budget_s=0.2, min_span_s=0, builds=1))
    return check_trial(trial, TrialRun(trial, Torch()).run(), []).arms[0]


def chain(factor: torch.Tensor) -> torch.Tensor:
    product = factor
    for _ in range(LINKS):
        product = product @ factor
    return product


def device_s(arm: ArmRecord) -> float | None:
    assert arm.outcome == "measured", arm.reason
    assert arm.timing is not None
    return arm.timing.device_s


def test_both_clocks_agree_on_products_that_keep_the_device_busy() -> None:
    arm = measure(lambda factor: lambda: chain(factor))
    assert device_s(arm)
    assert arm.flags == []


def test_a_host_that_is_slow_is_seen() -> None:
    def step_of(factor: torch.Tensor) -> Callable[[], Any]:
        numbers = torch.arange(200_000)

        def step() -> torch.Tensor:
            numbers.tolist()  # milliseconds of the host's, some microseconds of the device's
            return factor[0] + 1

        return step

    arm = measure(step_of)
    assert device_s(arm)
    assert any(str(flag).startswith("host-bound: the device was busy for") for flag in arm.flags)


def test_nothing_is_said_of_a_step_that_reads_its_result() -> None:
    arm = measure(lambda factor: lambda: chain(factor).sum().item())
    assert device_s(arm) is None
    assert arm.flags == []


def test_work_on_a_side_stream_that_nothing_waits_for_is_flagged() -> None:
    def step_of(factor: torch.Tensor) -> Callable[[], Any]:
        side = torch.cuda.Stream()

        def step() -> torch.Tensor:
            with torch.cuda.stream(side):
                return chain(factor)

        return step

    arm = measure(step_of)
    assert device_s(arm) is None
    assert arm.flags[0].code == "works-beside-stream"


def test_work_on_a_side_stream_that_the_current_one_waits_for_is_honest() -> None:
    def step_of(factor: torch.Tensor) -> Callable[[], Any]:
        side = torch.cuda.Stream()

        def step() -> torch.Tensor:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                product = chain(factor)
            torch.cuda.current_stream().wait_stream(side)
            product.record_stream(torch.cuda.current_stream())
            return product

        return step

    arm = measure(step_of)
    assert device_s(arm)
    assert arm.flags == []
