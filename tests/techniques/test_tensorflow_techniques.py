"""TensorFlow's techniques: levels that fit the machine become options, and the tf.data stack grows step by step."""

from itertools import pairwise
from typing import Any

import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Host, apply_all, find_technique, find_workload
from accelbench.errors import Unavailable
from accelbench.workloads.tensorflow.stages import Stages

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


def options_of(**levels: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    apply_all([(find_technique("tensorflow", name), level) for name, level in levels.items()], build)
    return passed


def test_devices_are_the_cpu_and_every_gpu() -> None:
    device = find_technique("tensorflow", "device")
    assert device.levels_on(Host(accelerators=("GPU:0", "GPU:1"))) == ("cpu", "GPU:0", "GPU:1")
    assert device.levels_on(Host()) == ("cpu", "accelerator")


@pytest.mark.isolated_framework("tensorflow")
def test_without_a_gpu_its_level_is_skipped_with_the_reason() -> None:
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    with pytest.raises(Unavailable, match=r"tensorflow \S+ sees no GPU"):
        options_of(device="accelerator")


def test_batch_sizes_are_powers_of_four_up_to_the_limit() -> None:
    batch_size = find_technique("tensorflow", "batch_size")
    assert batch_size.levels_on(Host(max_batch=64)) == ("1", "4", "16", "64")
    assert batch_size.levels_on(Host(max_batch=63)) == ("1", "4", "16")
    assert batch_size.levels_on(Host(max_batch=1)) == ("1",)
    assert not batch_size.same_output


def test_levels_become_the_workloads_options() -> None:
    assert options_of(device="cpu", mixed_precision="mixed_bfloat16", batch_size="8", loop="xla") == {
        "device": "cpu",
        "dtype_policy": "mixed_bfloat16",
        "batch_size": 8,
        "loop": "xla",
    }
    assert options_of(log_interval="never", branches="fused") == {"log_interval": 0, "branches": "fused"}
    assert options_of(log_interval="every-10") == {"log_interval": 10}
    assert [options_of(xla=level) for level in ("off", "jit-compile")] == [{"loop": "function"}, {"loop": "xla"}]


def test_one_convolution_in_place_of_the_branches_computes_something_else_by_design() -> None:
    branches = find_technique("tensorflow", "branches")
    assert [branches.compared_at(level) for level in ("parallel", "fused")] == [True, False]


@pytest.mark.parametrize(("technique", "baseline"), ALONE.items())
def test_a_technique_alone_starts_from_what_the_loader_does_by_itself(technique: str, baseline: str) -> None:
    declared = find_technique("tensorflow", technique)
    assert declared.levels_on(Host())[0] == baseline
    assert options_of(**{technique: baseline}).items() <= vars(Stages()).items()


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
    assert options_of(**{technique: level}) == options


def test_every_level_of_the_stack_keeps_what_came_before_it_and_adds_one_thing_until_tf_data_chooses() -> None:
    levels = find_technique("tensorflow", "pipeline").levels_on(Host())
    assert levels[0] == "naive"
    assert options_of(pipeline="naive") == {}
    stack = [options_of(pipeline=level) for level in levels]
    for before, after in pairwise(stack[:-1]):
        assert before.items() < after.items()
        assert len(after) == len(before) + 1
    chosen = {name for name, value in stack[-1].items() if value != stack[-2][name]}
    assert chosen == {"prefetch", "parallel_calls"}


def test_training_has_every_option_of_the_stack() -> None:
    last = find_technique("tensorflow", "pipeline").levels_on(Host())[-1]
    assert options_of(pipeline=last).keys() <= find_workload("tf-image-training").options
