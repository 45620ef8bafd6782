"""TensorFlow's techniques: levels that fit the machine, options passed on, and what needs a GPU skipped aloud."""

from typing import Any

import pytest

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Arm, Host, find_technique, stack


def options_of(**levels: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    stack([(find_technique("tensorflow", name), level) for name, level in levels.items()], build)
    return passed


def test_devices_are_the_cpu_and_every_gpu() -> None:
    device = find_technique("tensorflow", "device")
    assert device.levels_on(Host(accelerators=("GPU:0", "GPU:1"))) == ("cpu", "GPU:0", "GPU:1")
    assert device.levels_on(Host()) == ("cpu", "accelerator")


@pytest.mark.apart("tensorflow")
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
    assert options_of(log_interval="never", branches="fused") == {"log_interval": None, "branches": "fused"}
    assert options_of(log_interval="every-10") == {"log_interval": 10}
    assert [options_of(xla=level) for level in ("off", "jit-compile")] == [{"loop": "function"}, {"loop": "xla"}]


def test_one_convolution_in_place_of_the_branches_computes_something_else_by_design() -> None:
    branches = find_technique("tensorflow", "branches")
    assert [branches.compared_at(level) for level in ("parallel", "fused")] == [True, False]
