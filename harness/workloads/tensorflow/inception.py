"""The Inception block in Keras, whose four branches over the same images do not depend on one another."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, workload
from harness.workloads.networks import inception

CLASSES = 10


@workload("tensorflow", unit="image")
def inception_inference_keras(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, branches: str = "serial"
) -> Arm:
    """Forward pass of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, on 28×28 images."""
    import tensorflow as tf

    from harness.workloads.data.rotation import Rotation
    from harness.workloads.tensorflow import devices
    from harness.workloads.tensorflow.inception_block import Block

    place = devices.chosen(device)
    batches = _batches(setting, batch_size, place)
    rotation = Rotation([images for images, _ in batches])
    items = len(batches[0][1])
    with tf.device(place):
        block = Block(branches, seed=setting.seed)
        forward = tf.function(block.forward)

    arm = Arm(
        step=lambda: forward(rotation.take()),
        items=items,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=rotation.shown,
        parameters=lambda: block.weights,
        feed=rotation.feed,
        work=inception(fused=branches == "fused").answering(items),
    )
    return arm.inside(tf.device, place)


@workload("tensorflow", unit="image")
def inception_train_keras(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, branches: str = "serial"
) -> Arm:
    """Training step of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, under a small head.

    At once, branches run on TensorFlow's inter-op threads; a GPU has one stream for all of them.
    """
    import tensorflow as tf

    from harness.workloads.data.rotation import Rotation
    from harness.workloads.tensorflow import devices
    from harness.workloads.tensorflow.inception_block import BlockTrainer

    place = devices.chosen(device)
    batches = _batches(setting, batch_size, place)
    rotation = Rotation(batches)
    items = len(batches[0][1])
    with tf.device(place):
        trainer = BlockTrainer(branches, classes=CLASSES, seed=setting.seed)

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    # Gradients end at the weights, since nothing below the block learns.
    network = inception(fused=branches == "fused", classes=CLASSES, learns_below=False)
    arm = Arm(
        step=lambda: trainer.train_on(*rotation.take()),
        items=items,
        reset=reset,
        checked_steps=2,  # the second step's output shows what the first one learnt
        device=devices.label(place),
        inputs=rotation.shown,
        parameters=trainer.parameters,
        feed=rotation.feed,
        work=network.learning(items),
    )
    return arm.inside(tf.device, place)


def _batches(setting: Setting, batch_size: int | None, place: str) -> list[tuple[Any, Any]]:
    """Return batches of images and labels on the device."""
    import numpy as np
    import tensorflow as tf

    from harness.workloads.data.rotation import VARIANTS
    from harness.workloads.tensorflow.inception_block import CHANNELS, SIDE

    size = batch_size or setting.choose(small=2, full=32)
    rng = np.random.default_rng(setting.seed)

    def batch() -> tuple[Any, Any]:
        images = rng.standard_normal((size, SIDE, SIDE, CHANNELS), dtype=np.float32)
        return tf.constant(images), tf.constant(rng.integers(CLASSES, size=size, dtype=np.int32))

    with tf.device(place):
        return [batch() for _ in range(VARIANTS)]
