"""What an epoch of images held, in whatever order they came. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf


class EpochContents:
    """Drains an epoch and returns what tells whether every image came once, unchanged and with its label.

    Order by design differs where shards are interleaved or images shuffled, so nothing here depends on it.
    """

    def __init__(self, *, side: int, classes: int, seed: int) -> None:
        self._classes = classes
        # Random, so that no pixel can take another's place unseen; positive, so that rounding stays small.
        weights = np.random.default_rng(seed).random(side * side * 3, dtype=np.float32)
        with tf.device("CPU:0"):
            self._weights = tf.constant(weights / weights.sum())

    def of(self, batches: Iterable[Any]) -> tuple[Any, Any]:
        """Return the images' weighted means, sorted, shape ``(images,)``, and per class their number and sum.

        The second has the shape ``(classes, 2)``.
        """
        means, labels = [], []
        with tf.device("CPU:0"):  # where the batches are; an accelerator would have to be sent every one
            for images, label in batches:
                means.append(tf.linalg.matvec(tf.reshape(images, (len(label), -1)), self._weights))
                labels.append(label)
            mean, label = tf.concat(means, axis=0), tf.concat(labels, axis=0)
            counted = tf.stack([tf.ones_like(mean), mean], axis=1)
            return tf.sort(mean), tf.math.unsorted_segment_sum(counted, label, self._classes)
