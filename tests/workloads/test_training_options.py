"""What a training step is made of: parts that add up, activations that are not kept, an optimiser that is observed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, find_workload
from harness.workloads.torch import models
from harness.workloads.torch.transformer_layers import with_layers

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
    model = with_layers(problem.model, **options)()
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


@pytest.mark.parametrize("option", [{"attention": "sdpa"}, {"activation_checkpointing": True}])
def test_a_network_without_such_layers_has_no_such_option(option: dict[str, Any]) -> None:
    with pytest.raises(Unavailable, match=f"workload resnet18-train has no option '{next(iter(option))}'"):
        built("resnet18-train", **option)


def test_unknown_ways_are_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown attention 'flash'; expected one of: eager, math, sdpa"):
        built("bert-train", attention="flash")
    with pytest.raises(BadInput, match="unknown implementation of the optimiser 'loop'; expected one of: for-loop"):
        built("mlp-train", optimizer="loop")
