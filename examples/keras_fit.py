"""A convolutional network that Keras teaches to read scikit-learn's digits, shifted at random."""

from typing import Any

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

from accelbench import KerasProgram

BATCH_SIZE = 32


def shift(image: Any, label: Any) -> tuple[Any, Any]:
    """Move an image by up to two pixels."""
    return tf.image.random_crop(tf.pad(image, [[2, 2], [2, 2], [0, 0]]), (8, 8, 1)), label


def make_data() -> Any:
    digits = load_digits()
    data = tf.data.Dataset.from_tensor_slices((digits.images[..., None].astype("float32") / 16, digits.target))
    return data.shuffle(len(digits.target)).map(shift).batch(BATCH_SIZE)


def make_model() -> Any:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Conv2D(64, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dropout(0.25),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


def build() -> KerasProgram:
    """A convolutional network that Keras teaches to read digits."""
    return KerasProgram(model=make_model(), data=make_data())


if __name__ == "__main__":
    make_model().fit(make_data(), epochs=5)
