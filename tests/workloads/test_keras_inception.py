"""The Inception block in Keras: branches compute the same in turn and at once, and wait for each other only in turn."""

from typing import Any

import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check

pytestmark = [pytest.mark.isolated_framework("tensorflow"), pytest.mark.slow]
BOTH = ("inception-inference-keras", "inception-train-keras")


def built(name: str, branches: str) -> Arm:
    return find_workload(name).build(Setting(), device="cpu", batch_size=1, branches=branches)


def output(name: str, branches: str) -> Any:
    return check.output_of(built(name, branches), load("tensorflow"))


def earlier(function: Any, kind: str, *shapes: tuple[int, ...]) -> list[int]:
    """Return for every operation of a kind in the function's graph for how many others of its kind it waits."""
    import tensorflow as tf

    specs = [tf.TensorSpec(shape, dtype) for shape, dtype in zip(shapes, (tf.float32, tf.int32), strict=False)]
    operations = function.get_concrete_function(*specs).graph.get_operations()
    of_kind = {operation.name for operation in operations if operation.type == kind}

    def causes(operation: Any, found: set[str]) -> set[str]:
        for cause in (*operation.control_inputs, *(tensor.op for tensor in operation.inputs)):
            if cause.name not in found:
                found.add(cause.name)
                causes(cause, found)
        return found

    return sorted(len(causes(operation, set()) & of_kind) for operation in operations if operation.name in of_kind)


@pytest.mark.parametrize("name", BOTH)
def test_branches_compute_the_same_in_turn_and_at_once(name: str) -> None:
    serial = output(name, "serial")
    assert check.find_invalid_values(serial) is None
    assert relative_error(output(name, "parallel"), serial) < 1e-6


@pytest.mark.parametrize("branches", ["serial", "fused"])
@pytest.mark.parametrize("name", BOTH)
def test_a_reset_arm_repeats_its_output(name: str, branches: str) -> None:
    arm = built(name, branches)
    first = check.output_of(arm, load("tensorflow"))
    arm.step()
    assert relative_error(check.output_of(arm, load("tensorflow")), first) < 1e-6


def test_one_tape_per_branch_learns_what_one_tape_over_all_learns() -> None:
    import keras
    import numpy as np
    import tensorflow as tf

    from accelbench.workloads.tensorflow.inception import BlockTrainer, KerasInceptionBlock
    from accelbench.workloads.tensorflow.training_step import LOSS

    images = tf.random.stateless_normal((2, 28, 28, 192), (1, 2))
    labels = tf.constant([3, 7])
    block = KerasInceptionBlock("parallel", seed=0)
    head = keras.Sequential([keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)])
    head.build((None, 28, 28, 256))
    optimizer = keras.optimizers.SGD(learning_rate=0.01, momentum=0.9)
    trainer = BlockTrainer("serial", classes=10, seed=0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            logits = head(block.forward(images))
            loss = LOSS(labels, logits)
        weights = [*block.weights, *head.trainable_variables]
        optimizer.apply(tape.gradient(loss, weights), weights)
        learnt = trainer.train_on(images, labels)[1]
    assert np.allclose(learnt, logits, rtol=1e-4, atol=1e-5)
    assert not np.allclose(learnt, BlockTrainer("serial", classes=10, seed=0).train_on(images, labels)[1], rtol=1e-2)


def test_branches_wait_for_each_other_only_in_turn_and_then_in_both_passes() -> None:
    import tensorflow as tf

    from accelbench.workloads.tensorflow.inception import BlockTrainer, KerasInceptionBlock

    images, labels = (1, 28, 28, 192), (1,)
    for branches, forward, backward in (
        ("serial", [0, 1, 2, 3, 4, 5], [0, 1, 1, 3, 3, 5]),
        ("parallel", [0, 0, 0, 0, 1, 1], [0] * 6),
    ):
        assert earlier(tf.function(KerasInceptionBlock(branches, seed=0).forward), "Conv2D", images) == forward
        train_on = BlockTrainer(branches, classes=10, seed=0).train_on
        assert earlier(train_on, "Conv2DBackpropFilter", images, labels) == backward


def test_the_one_convolution_costs_about_what_the_branches_cost() -> None:
    from accelbench.workloads.networks import INCEPTION_CHANNELS
    from accelbench.workloads.tensorflow.inception import KerasInceptionBlock

    def multiply_adds(branches: str) -> int:
        """Count per pixel: every weight of a convolution that keeps the image's size is used once."""
        kernels = [weight for weight in KerasInceptionBlock(branches, seed=0).weights if len(weight.shape) == 4]
        return sum(int(weight.numpy().size) for weight in kernels)

    assert INCEPTION_CHANNELS == 192
    assert (multiply_adds("serial"), multiply_adds("fused")) == (163_328, 165_888)
    shapes = [output("inception-inference-keras", branches)[0].shape for branches in ("serial", "fused")]
    assert shapes == [(1, 28, 28, 256), (1, 28, 28, 96)]


def test_an_unknown_way_to_run_branches_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown way to run branches 'some'; expected one of: serial, parallel, fused"):
        built("inception-train-keras", "some")
