"""What a training step is made of: parts that add up, activations that are not kept, an optimiser that is observed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch import models
from accelbench.workloads.torch.training_step import ProblemTask, Trainer

pytestmark = pytest.mark.usefixtures("one_thread")


def built(name: str, **options: Any) -> Arm:
    return find_workload(name).build(Setting(), device="cpu", **options)


@contextmanager
def counted_bytes() -> Iterator[dict[int, int]]:
    """Count what autograd keeps of the operations inside, each tensor's memory once."""
    kept: dict[int, int] = {}

    def keep(tensor: Any) -> Any:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield kept


def kept_bytes(*, parts: int = 1, **options: Any) -> int:
    """Return what one part of a batch of long sequences keeps for its backward pass."""
    problem = models.bert(layers=4, hidden=64, vocabulary=100, tokens=128)
    model = Trainer(ProblemTask(problem, 0), device=torch.device("cpu"), **options).model
    inputs, _ = problem.batch(4 // parts, torch.Generator())
    with counted_bytes() as kept:
        logits = model(inputs).logits
    logits.sum().backward()
    return sum(kept.values()) - sum(weight.nbytes for weight in model.parameters())


def test_checkpointing_fused_attention_and_parts_keep_less_for_the_backward_pass() -> None:
    eager = kept_bytes(attention="eager")
    assert kept_bytes(attention="sdpa") < 0.9 * eager
    assert kept_bytes(attention="eager", activation_checkpointing=True) < 0.2 * eager
    assert kept_bytes(attention="eager", parts=4) < 0.3 * eager


def test_a_batch_is_not_divided_into_unequal_parts() -> None:
    with pytest.raises(Unavailable, match="a batch of 6 cannot be learnt in 4 equal parts"):
        built("mlp-train", batch_size=6, accumulation=4)


def test_only_the_whole_batch_is_learnt_from_once() -> None:
    seen: list[int] = []
    arm = built("mlp-train", batch_size=8, accumulation=4)
    handle = torch.nn.modules.module.register_module_forward_hook(
        lambda module, inputs, _: seen.append(len(inputs[0])) if isinstance(module, torch.nn.Sequential) else None
    )
    try:
        _, logits = arm.step()
    finally:
        handle.remove()
    assert seen == [2, 2, 2, 2]
    assert logits.shape == (8, 10)


def test_the_optimisers_share_is_observed_where_it_is_switched() -> None:
    assert built("narrow-mlp-train").observe is None
    observe = built("narrow-mlp-train", optimizer="for-loop").observe
    assert observe is not None
    assert 0 < observe()["optimizer_share"] < 1


def test_attention_is_an_option_of_models_that_attend() -> None:
    with pytest.raises(Unavailable, match="the model has no attention of transformers"):
        built("resnet18-train", attention="sdpa")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("resnet18-train", "batch normalisation would normalise by a part of the batch"),
        ("house-prices-train", "the loss is not a mean over items"),
    ],
)
def test_a_step_that_parts_would_change_is_not_taken_in_parts(name: str, reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        built(name, accumulation=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn-train", "narrow-mlp-train", "regnet-train"])
def test_activations_computed_twice_are_not_kept_and_change_nothing(name: str) -> None:
    framework = load("torch")
    outputs, kept_bytes = [], []
    for again in (False, True):
        arm = built(name, activation_checkpointing=again)
        with counted_bytes() as kept:
            outputs.append(check.output_of(arm, framework))
        kept_bytes.append(sum(kept.values()))
    assert relative_error(*outputs) < 1e-5
    assert kept_bytes[1] < kept_bytes[0]


@pytest.mark.parametrize(
    "option",
    [{"workers": 1}, {"pin_memory": False}, {"non_blocking": True}, {"loading": "thread"}, {"prefetch_factor": 4}],
)
def test_how_batches_arrive_is_a_question_where_they_are_sent(option: dict[str, Any]) -> None:
    with pytest.raises(Unavailable, match=f"so {next(iter(option))} changes nothing: set data_location to round-trip"):
        built("mlp-train", **option)
    arm = built("mlp-train", data_location="round-trip", **option)
    assert arm.items in (256, 4 * 256)
    arm.step()
    arm.close()


def test_unknown_ways_are_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown attention 'flash'; expected one of: eager, math, sdpa"):
        built("bert-train", attention="flash")
    with pytest.raises(BadInput, match="unknown implementation of the optimiser 'loop'; expected one of: for-loop"):
        built("mlp-train", optimizer="loop")
