"""Evaluation answers the same whatever it records, and its answer needs the whole model."""

from typing import Any

import pytest
import torch

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch import models
from accelbench.workloads.torch.inference import INFERENCE
from accelbench.workloads.torch.models import as_trained, logits_of

framework = load("torch")
NAMES = ("cnn-evaluation", "resnet18-evaluation", pytest.param("resnet50-evaluation", marks=pytest.mark.slow))


def built(name: str, **options: Any) -> Arm:
    return find_workload(name).build(Setting(), batch_size=2, device="cpu", **options)


@pytest.mark.parametrize("name", NAMES)
def test_recording_gradients_or_not_changes_no_answer(name: str) -> None:
    recorded, *others = (check.output_of(built(name, inference=how), framework) for how in INFERENCE)
    assert check.find_invalid_values(recorded) is None
    assert [relative_error(other, recorded) for other in others] == [0, 0]


@pytest.mark.parametrize(
    ("inference", "recorded", "inferred"),
    [("grad", True, False), ("no-grad", False, False), ("inference-mode", False, True)],
)
def test_only_the_baseline_records_gradients_and_only_inference_mode_gives_up_on_them(
    inference: str, recorded: bool, inferred: bool
) -> None:
    arm = built("cnn-evaluation", inference=inference)
    with arm.enter():
        _, logits = arm.step()
    assert (logits.requires_grad, logits.is_inference()) == (recorded, inferred)


def test_batches_vary_and_the_same_batch_has_the_same_answer() -> None:
    arm = built("resnet18-evaluation")  # in training mode, statistics would move
    first = check.output_of(arm, framework)
    assert relative_error(framework.to_host(arm.step()), first) > 0.01
    assert relative_error(check.output_of(arm, framework), first) == 0


def test_a_residual_branch_that_does_nothing_shows_in_the_answer() -> None:
    problem = models.resnet18(side=32, classes=10)
    images, _ = problem.batch(2, torch.Generator().manual_seed(0))
    whole, broken = (as_trained(problem, seed=0) for _ in "ab")
    with torch.no_grad():
        broken.resnet.encoder.stages[0].layers[0].layer[0].convolution.weight.zero_()
    answers = [framework.to_host(logits_of(model, images)) for model in (broken, whole)]
    assert relative_error(*answers) > 0.01


def test_an_unknown_treatment_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="'off'; expected one of: grad, no-grad, inference-mode"):
        built("cnn-evaluation", inference="off")
