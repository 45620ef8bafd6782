"""The Inception block in Keras, its branches in turn or at once, and one convolution of about its cost.

Needs TensorFlow. Block 3a of GoogLeNet (Szegedy et al. 2015, arXiv 1409.4842, table 1) takes 192 channels of 28×28
pixels to 256 and does 163,328 multiply-adds per pixel. The convolution in its place is the usual 3×3, to 96 channels:
165,888, or 1.6 % more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import keras
import tensorflow as tf
from keras import layers

from accelbench.errors import check_choice
from accelbench.workloads.networks import INCEPTION_BRANCHES, INCEPTION_CHANNELS, INCEPTION_SIDE
from accelbench.workloads.tensorflow.training_step import LOSS, InitialState


class KerasInceptionBlock:
    """Branches over the same images, shape ``(images, 28, 28, 192)``, side by side in the output's channels.

    All branches are operations of one graph, which TensorFlow runs as soon as their inputs are there. In turn, each
    branch also waits for the one before, in the forward and in the backward pass.
    """

    def __init__(self, branches: str, *, seed: int) -> None:
        check_choice(branches, INCEPTION_BRANCHES, "way to run branches")
        keras.utils.set_random_seed(seed)
        self._in_turn = branches == "serial"
        self.branches = [keras.Sequential(made) for made in (_fuse() if branches == "fused" else _inception())]
        for branch in self.branches:
            branch.build((None, INCEPTION_SIDE, INCEPTION_SIDE, INCEPTION_CHANNELS))

    def forward(self, images: Any) -> Any:
        """Return the branches' outputs, put together."""
        outputs: list[Any] = []
        for branch in self.branches:
            with self._after(outputs):
                outputs.append(branch(images))
        return tf.concat(outputs, axis=-1)

    def recorded(self, images: Any) -> tuple[list[Any], list[Any]]:
        """Return the branches' outputs and, for each, the tape on which its operations are."""
        outputs: list[Any] = []
        tapes = []
        for branch in self.branches:
            with self._after(outputs), tf.GradientTape() as tape:
                outputs.append(branch(images))
            tapes.append(tape)
        return outputs, tapes

    def backward(self, outputs: Sequence[Any], tapes: Sequence[Any], upstream: Sequence[Any]) -> list[Any]:
        """Return the gradients of all weights from those of the outputs."""
        gradients: list[Any] = []
        for branch, output, tape, above in zip(self.branches, outputs, tapes, upstream, strict=True):
            with self._after(gradients):
                gradients += tape.gradient(output, branch.trainable_variables, output_gradients=above)
        return gradients

    @property
    def weights(self) -> list[Any]:
        """The weights of all branches, in their order."""
        return [weight for branch in self.branches for weight in branch.trainable_variables]

    def _after(self, results: Sequence[Any]) -> AbstractContextManager[Any]:
        """Let operations inside wait for the results, where branches run in turn."""
        return tf.control_dependencies(list(results)) if self._in_turn else nullcontext()


class BlockTrainer:
    """The block under the head of an image classifier, in training with SGD and momentum."""

    def __init__(self, branches: str, *, classes: int, seed: int) -> None:
        self._block = KerasInceptionBlock(branches, seed=seed)
        self._head = keras.Sequential([layers.GlobalAveragePooling2D(), layers.Dense(classes)])
        channels = sum(branch.output_shape[-1] for branch in self._block.branches)
        self._head.build((None, INCEPTION_SIDE, INCEPTION_SIDE, channels))
        self._weights = [*self._block.weights, *self._head.trainable_variables]
        self._optimizer = keras.optimizers.SGD(learning_rate=0.01, momentum=0.9)
        self._optimizer.build(self._weights)
        self.reset = InitialState([*self._weights, *self._optimizer.variables]).restore
        self.train_on = tf.function(self._train_on)

    def parameters(self) -> list[Any]:
        """Return the weights."""
        return self._weights

    def _train_on(self, images: Any, labels: Any) -> tuple[Any, Any]:
        """Learn from one batch; return the loss and the logits from before the weights changed."""
        outputs, tapes = self._block.recorded(images)
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            logits = self._head(tf.concat(outputs, axis=-1))
            loss = LOSS(labels, logits)
        upstream, top = tape.gradient(loss, [outputs, self._head.trainable_variables])
        self._optimizer.apply([*self._block.backward(outputs, tapes, upstream), *top], self._weights)
        return loss, logits


def _convolution(filters: int, side: int) -> Any:
    return layers.Conv2D(filters, side, padding="same", activation="relu")


def _inception() -> list[list[Any]]:
    return [
        [_convolution(64, 1)],
        [_convolution(96, 1), _convolution(128, 3)],
        [_convolution(16, 1), _convolution(32, 5)],
        [layers.MaxPooling2D(3, strides=1, padding="same"), _convolution(32, 1)],
    ]


def _fuse() -> list[list[Any]]:
    return [[_convolution(96, 3)]]
