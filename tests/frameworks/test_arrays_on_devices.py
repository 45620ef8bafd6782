"""What every adapter tells of arrays, and how one of their items is changed."""

from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

from accelbench.errors import LazyOutput
from accelbench.frameworks import Framework, load
from accelbench.frameworks.tree import tree_leaves, tree_map


def changed_item(framework: Framework, array: Any) -> tuple[list[float], list[float], bool]:
    """Replace the last item by twice the first; return the array, what was there before, and if it is the same one."""
    before = framework.item(array, -1 % len(array))
    after = framework.put(array, -1 % len(array), framework.item(array, 0) * 2)
    return framework.to_host(after)[0].tolist(), framework.to_host(before)[0].tolist(), after is array


@pytest.mark.parametrize("name", ["numpy", "fake", "torch", "cupy"])
def test_an_item_is_written_in_place(name: str) -> None:
    framework = FakeDevice() if name == "fake" else load(name)
    assert changed_item(framework, np.array([[1.0, 2.0], [5.0, 6.0]])) == ([[1, 2], [2, 4]], [5, 6], True)


def test_a_read_only_array_is_copied() -> None:
    array = np.array([1.0, 2.0, 3.0])
    array.flags.writeable = False
    assert changed_item(load("numpy"), array) == ([1, 2, 2], 3, False)
    assert array.tolist() == [1, 2, 3]


@pytest.mark.parametrize("wrapped", ["leaf", "parameter", "inference"])
def test_an_item_of_any_tensor_is_written_in_place(wrapped: str) -> None:
    import torch

    with torch.inference_mode(wrapped == "inference"):
        tensor = torch.tensor([1.0, 2.0, 3.0])
    if wrapped == "parameter":
        tensor = torch.nn.Parameter(tensor)
    assert changed_item(load("torch"), tensor) == ([1, 2, 2], 3, True)


@pytest.mark.isolated_framework("tensorflow")
def test_an_item_of_a_variable_is_written_in_place_and_of_a_tensor_into_a_copy() -> None:
    import tensorflow as tf

    framework = load("tensorflow")
    assert changed_item(framework, tf.constant([1.0, 2.0, 3.0])) == ([1, 2, 2], 3, False)
    variable = tf.Variable([1.0, 2.0, 3.0])
    framework.put(variable, 2, framework.item(variable, 0))
    assert variable.numpy().tolist() == [1, 2, 1]
    leaf = framework.array_info(variable)
    assert leaf is not None
    assert (leaf.device, leaf.dtype, leaf.shape, leaf.nbytes) == ("cpu", "float32", (3,), 12)


def test_a_tensor_is_described_as_it_lies() -> None:
    import torch

    leaf = load("torch").array_info(torch.zeros(2, 3, dtype=torch.bfloat16))
    assert leaf is not None
    assert (leaf.device, leaf.dtype, leaf.shape, leaf.nbytes) == ("cpu", "bfloat16", (2, 3), 12)
    assert load("torch").array_info(3.0) is None


def test_the_fake_device_tells_its_arrays_from_those_of_the_host() -> None:
    device = FakeDevice()
    leaves = [device.array_info(array) for array in (device.array([1, 2]), np.ones(2))]
    assert [leaf.device for leaf in leaves if leaf] == ["fake:0", "cpu"]
    assert device.kernels(lambda: [device.launch(1), device.launch_unseen(1)]) == 2


@pytest.mark.parametrize("name", ["numpy", "fake", "torch", "cupy"])
def test_elements_that_are_rolled_beyond_the_end_come_first(name: str) -> None:
    framework = FakeDevice() if name == "fake" else load(name)
    assert framework.roll(np.arange(6).reshape(2, 3), 1, 1).tolist() == [[2, 0, 1], [5, 3, 4]]


def test_elements_of_a_tensor_are_rolled() -> None:
    import torch

    weights = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16))
    rolled = load("torch").roll(weights, -1, 0)
    assert (rolled.tolist(), rolled.dtype, weights.tolist()) == ([2, 3, 1], torch.bfloat16, [1, 2, 3])


@pytest.mark.isolated_framework("tensorflow")
def test_elements_of_a_variable_and_a_tensor_are_rolled() -> None:
    import tensorflow as tf

    for array in (tf.Variable([1.0, 2.0, 3.0]), tf.constant([1.0, 2.0, 3.0])):
        assert load("tensorflow").roll(array, 1, 0).numpy().tolist() == [3, 1, 2]


class Late:
    """An array that does its work when it is read."""

    def __array__(self) -> np.ndarray:
        return np.ones(3)


@pytest.mark.parametrize("output", [Late(), (number for number in [1]), lambda: 1], ids=["array", "generator", "call"])
def test_a_promise_is_refused_as_a_result(output: object) -> None:
    with pytest.raises(LazyOutput, match="may compute its values only when it is read"):
        load("numpy").to_host({"loss": output})


def test_nested_values_keep_their_shape_when_they_are_changed() -> None:
    nested = {"a": (1, [2, None]), "b": 3}
    assert list(tree_leaves(nested)) == [1, 2, 3]
    assert tree_map(nested, lambda number: number * 10) == {"a": (10, [20, None]), "b": 30}
