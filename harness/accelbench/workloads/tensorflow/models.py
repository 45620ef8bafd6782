"""The Keras models that training workloads learn with, and the random inputs they are fed. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import keras
import numpy as np
from keras import layers

from accelbench.workloads import networks
from accelbench.workloads.networks import Network


@dataclass(frozen=True, kw_only=True)
class KerasProblem:
    """A classification problem: a model with random weights, its optimiser, and normally distributed inputs.

    ``shape`` is that of one input. Models put out logits in float32, whatever they compute in before, as Keras's guide
    to mixed precision advises. ``network`` counts the model's operations.
    """

    model: Callable[[], Any]
    optimizer: Callable[[], Any]
    shape: tuple[int, ...]
    classes: int
    network: Network

    @property
    def item_bytes(self) -> int:
        """The bytes of one input and its label."""
        return sum(part.nbytes for part in self.batch(1, np.random.default_rng(0)))

    def batch(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return one batch of inputs and labels, on the host."""
        inputs = rng.standard_normal((size, *self.shape), dtype=np.float32)
        return inputs, rng.integers(self.classes, size=size, dtype=np.int32)


def first_weights(problem: KerasProblem, seed: int) -> list[np.ndarray]:
    """Return the weights with which the problem's model begins at this seed."""
    keras.utils.set_random_seed(seed)
    weights: list[np.ndarray] = problem.model().get_weights()
    return weights


_SGD = partial(keras.optimizers.SGD, learning_rate=0.01, momentum=0.9)


def dense() -> KerasProblem:
    """The classifier 64-64-10 of introductory texts, for rows like those of scikit-learn's digits, with Adam."""

    def model() -> Any:
        return keras.Sequential([keras.Input((64,)), layers.Dense(64, activation="relu"), _logits(10)])

    network = networks.dense(64, 64, 10)
    return KerasProblem(model=model, optimizer=keras.optimizers.Adam, shape=(64,), classes=10, network=network)


def mish(*, units: int = 64, blocks: int = 4, classes: int = 10) -> KerasProblem:
    """Dense layers, normalised and activated by Mish (Misra 2019, arXiv 1908.08681): mostly elementwise work."""

    def model() -> Any:
        hidden = ((layers.Dense(units), layers.LayerNormalization(), layers.Activation("mish")) for _ in range(blocks))
        return keras.Sequential([keras.Input((units,)), *chain.from_iterable(hidden), _logits(classes)])

    network = networks.dense(*[units] * (blocks + 1), classes)
    return KerasProblem(model=model, optimizer=_SGD, shape=(units,), classes=classes, network=network)


def cnn(*, side: int = 32, classes: int = 10) -> KerasProblem:
    """Two convolutions, 3-16-32 channels, and two linear layers on images of ``side`` × ``side`` pixels."""
    shape = (side, side, 3)

    def model() -> Any:
        return keras.Sequential(
            [
                keras.Input(shape),
                layers.Conv2D(16, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(32, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dense(128, activation="relu"),
                _logits(classes),
            ]
        )

    network = networks.small_cnn(side, classes)
    return KerasProblem(model=model, optimizer=_SGD, shape=shape, classes=classes, network=network)


def resnet50(*, side: int, classes: int) -> KerasProblem:
    """ResNet-50 of `keras.applications` on images of ``side`` × ``side`` pixels.

    Its residual branches begin at zero, as in Goyal et al. 2017, arXiv 1706.02677, section 5.1. Without this, batch
    normalisation over a few small images amplifies rounding until no two precisions agree.
    """
    shape = (side, side, 3)

    def model() -> Any:
        trunk = keras.applications.ResNet50(weights=None, include_top=False, pooling="avg", input_shape=shape)
        for layer in trunk.layers:
            if layer.name.endswith("_3_bn"):  # the last of a residual branch
                layer.gamma.assign(np.zeros(layer.gamma.shape))
        return keras.Sequential([keras.Input(shape), trunk, _logits(classes)])

    network = networks.resnet(side, classes, [3, 4, 6, 3], bottleneck=True, early_stride=True)
    return KerasProblem(model=model, optimizer=_SGD, shape=shape, classes=classes, network=network)


def _logits(classes: int) -> Any:
    return layers.Dense(classes, dtype="float32")
