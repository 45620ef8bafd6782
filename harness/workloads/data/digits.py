"""Handwritten digits, and how well a network must know them before its training has a speed.

They are the test images of the UCI set "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998), which
scikit-learn carries: 1,797 images of 8×8 pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import Unavailable
from harness.experiment import Arm
from harness.units import percent
from harness.workloads.networks import dense

TARGET = 0.95  # of the test images
MOST_EPOCHS = 20  # five times what training in float32 takes
TEST_SHARE = 0.25
BATCH = 32
NETWORK = dense(64, 64, 10)
ORDERS = 4  # of the images: by how many a training is observed beside the one that is timed


@dataclass(frozen=True, kw_only=True)
class Digits:
    """Standardised float32 pixels, shape ``(images, 64)``, and labels, to learn from and to be tested on."""

    pixels: np.ndarray
    labels: np.ndarray
    test_pixels: np.ndarray
    test_labels: np.ndarray

    @property
    def epoch(self) -> int:
        """How many images an epoch learns from: whole batches of all there are."""
        return len(self.pixels) // BATCH * BATCH


def digits() -> Digits:
    """Return the digits, always split in the same way.

    Raises:
        Unavailable: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"{error.name} is not installed, and the digits come with it: pip install scikit-learn"
        ) from None
    pixels, labels = load_digits(return_X_y=True)
    pixels = ((pixels - pixels.mean()) / pixels.std()).astype(np.float32)
    parts = train_test_split(pixels, labels, test_size=TEST_SHARE, stratify=labels, random_state=0)
    return Digits(pixels=parts[0], test_pixels=parts[1], labels=parts[2], test_labels=parts[3])


def training_arm(
    split: Digits,
    *,
    seed: int,
    reset: Callable[[], None],
    learn: Callable[[np.ndarray], None],
    test: Callable[[], float],
    **facts: Any,
) -> Arm:
    """Return the arm each of whose steps trains from the start until the test accuracy reaches the target.

    ``learn`` goes through an epoch, which is given as the rows of each batch, shape ``(batches, 32)``; ``test`` returns
    the share of the test images that are recognised. The arm's output is the accuracy at which the training ended, to
    which a single image may not matter; so no inputs are shown. A training takes at least the work of one epoch.
    """

    def train(order: int) -> dict[str, float]:
        reset()
        rng = np.random.default_rng(order)
        accuracies: list[float] = []
        while len(accuracies) < MOST_EPOCHS and max(accuracies, default=0) < TARGET:
            learn(rng.permutation(len(split.pixels))[: split.epoch].reshape(-1, BATCH))
            accuracies.append(test())
        return {"test_accuracy": accuracies[-1], "epochs": len(accuracies)}

    def observe() -> Mapping[str, float]:
        trainings = [train(seed + number) for number in range(1, ORDERS + 1)]
        return {name: float(np.mean([training[name] for training in trainings])) for name in trainings[0]}

    return Arm(step=lambda: train(seed)["test_accuracy"], verify=missed, observe=observe, **facts)


def missed(output: Sequence[np.ndarray]) -> str | None:
    """Return a sentence where a training did not reach the target."""
    accuracy = float(output[0])
    if accuracy >= TARGET:
        return None
    return f"{MOST_EPOCHS} epochs end at a test accuracy of {percent(accuracy)}, {percent(TARGET)} must be reached"
