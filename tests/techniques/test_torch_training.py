"""Techniques of a training step: levels become options, whose combinations make the same step in other ways."""

from typing import Any

import pytest
import torch

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.experiment import Arm, Setting, find_technique, find_workload, stack
from harness.frameworks import load
from harness.measuring import check
from harness.techniques.torch.computing import thread_count
from harness.workloads.torch.optimizers import IMPLEMENTATIONS
from harness.workloads.torch.transformer_layers import ATTENTION


def output(name: str, **levels: str) -> Any:
    workload = find_workload(name)
    switches = [(find_technique("torch", technique), level) for technique, level in levels.items()]
    arm = stack(switches, lambda **options: workload.build(Setting(), device="cpu", **options))
    with thread_count(1), arm.entered():
        return check.output_of(arm, load("torch"))


def options_of(technique: str, level: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    find_technique("torch", technique).apply(build, level)
    return passed


def test_levels_are_those_of_the_workloads() -> None:
    assert find_technique("torch", "optimizer").levels == tuple(IMPLEMENTATIONS)
    assert find_technique("torch", "attention").levels == ATTENTION
    assert options_of("accumulation", "4") == {"accumulation": 4}
    assert options_of("activation_checkpointing", "on") == {"activation_checkpointing": True}


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("narrow-mlp-train", {"optimizer": "foreach"}),
        ("narrow-mlp-train", {"optimizer": "fused"}),
        ("cnn-train", {"optimizer": "fused", "accumulation": "4"}),
        ("bert-train", {"attention": "eager"}),
        ("bert-train", {"attention": "math", "activation_checkpointing": "on"}),
        ("bert-train", {"attention": "sdpa", "activation_checkpointing": "on", "accumulation": "4"}),
    ],
)
def test_every_way_makes_the_same_step(name: str, levels: dict[str, str]) -> None:
    tolerance = min(find_technique("torch", technique).tolerance_at(level) for technique, level in levels.items())
    assert check.relative_error(output(name, **levels), output(name)) < tolerance


def test_attention_is_held_to_its_formula_inside_a_block_only() -> None:
    build = find_workload("bert-train").build
    with build(Setting(), attention="math").entered():
        assert not torch.backends.cuda.flash_sdp_enabled()
    with build(Setting(), attention="sdpa").entered():
        assert torch.backends.cuda.flash_sdp_enabled()
