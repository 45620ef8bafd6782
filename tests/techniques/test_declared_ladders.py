"""The ladders that come with accelbench: what they start from, and what is left of them on this machine."""

from typing import Any

import pytest
import torch

import accelbench.techniques  # noqa: F401  importing declares them
from accelbench.core import Arm, Ladder, find_technique
from accelbench.errors import Unavailable

NAIVE = {
    "log_interval": 1,
    "pin_memory": False,
    "non_blocking": False,
    "amp": "fp32",
    "memory_format": "contiguous",
    "batch_size": 32,
    "compile": "eager",
}


@pytest.fixture
def ladder() -> Ladder:
    found = find_technique("torch", "accelerator_ladder")
    assert isinstance(found, Ladder)
    return found


def options_at(ladder: Ladder, rung: str) -> dict[str, Any]:
    options: dict[str, Any] = {}

    def build(**given: Any) -> Arm:
        options.update(given)
        return Arm(step=dict)

    ladder.apply(build, rung)
    return options


def test_the_ladder_of_an_accelerator_begins_with_float32_that_is_float32(ladder: Ladder) -> None:
    assert options_at(ladder, "start") == NAIVE
    arm = ladder.apply(lambda **_: Arm(step=torch.get_float32_matmul_precision), "start")
    with arm.enter():
        assert (arm.step(), torch.backends.cudnn.allow_tf32) == ("highest", False)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
def test_without_an_accelerator_its_rungs_are_left_out_and_all_others_stand_on_each_other(ladder: Ladder) -> None:
    refused: dict[str, str] = {}
    for rung in ladder.levels:
        try:
            options_at(ladder.without(refused), rung)
        except Unavailable as error:
            refused[rung] = str(error)
    assert list(refused) == ["+tf32 high", "+pin-memory on", "+non-blocking on"]
    assert all("sees no accelerator" in reason for reason in refused.values())
    assert options_at(ladder.without(refused), "+compile default") == NAIVE | {
        "log_interval": 0,
        "amp": "bf16",
        "memory_format": "channels-last",
        "batch_size": 256,
        "compile": "default",
    }
