"""The techniques of tf.data pass on what they say, and the stack grows by one thing at a time."""

from itertools import pairwise
from typing import Any

import pytest

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.experiment import Arm, Host, find_technique, find_workload

ALONE = {
    "source": "jpeg",
    "interleave": "off",
    "parallel_map": "sequential",
    "shuffle_buffer": "off",
    "cache": "off",
    "vectorised_map": "off",
    "prefetch": "off",
    "default_optimizations": "off",
}


def options_of(technique: str, level: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    find_technique("tensorflow", technique).apply(build, level)
    return passed


@pytest.mark.parametrize(("technique", "baseline"), ALONE.items())
def test_a_technique_alone_starts_from_what_the_loader_does_by_itself(technique: str, baseline: str) -> None:
    declared = find_technique("tensorflow", technique)
    builder = find_workload("tf-image-loading").builder
    assert declared.levels_on(Host())[0] == baseline
    assert options_of(technique, baseline).items() <= builder.__kwdefaults__.items()


@pytest.mark.parametrize(
    ("technique", "level", "options"),
    [
        ("parallel_map", "2", {"parallel_calls": 2}),
        ("parallel_map", "autotune", {"parallel_calls": "autotune"}),
        ("shuffle_buffer", "32", {"shuffle_buffer": 32}),
        ("shuffle_buffer", "whole", {"shuffle_buffer": "whole"}),
        ("prefetch", "1", {"prefetch": 1}),
        ("cache", "file", {"cache": "file"}),
        ("vectorised_map", "on", {"vectorised": True}),
    ],
)
def test_a_level_becomes_the_loaders_option(technique: str, level: str, options: dict[str, Any]) -> None:
    assert options_of(technique, level) == options


def test_every_level_of_the_stack_keeps_what_came_before_it_and_adds_one_thing_until_tf_data_chooses() -> None:
    levels = find_technique("tensorflow", "pipeline").levels_on(Host())
    assert levels[0] == "naive"
    assert options_of("pipeline", "naive") == {}
    stack = [options_of("pipeline", level) for level in levels]
    for before, after in pairwise(stack[:-1]):
        assert before.items() < after.items()
        assert len(after) == len(before) + 1
    chosen = {name for name, value in stack[-1].items() if value != stack[-2][name]}
    assert chosen == {"prefetch", "parallel_calls"}


def test_training_has_every_option_of_the_stack() -> None:
    last = find_technique("tensorflow", "pipeline").levels_on(Host())[-1]
    assert options_of("pipeline", last).keys() <= find_workload("tf-image-training").options
