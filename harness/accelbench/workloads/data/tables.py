"""Tables to learn from: handwritten digits, and house prices that are generated.

The digits are the "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998), which scikit-learn carries:
1,797 images of 8×8 pixels.

The house prices have the shape of the Ames table, and a truth that is known. The Ames table (De Cock 2011, Journal of
Statistics Education 19(3)) as it is mostly taught has 1,460 rows of 79 features; 36 numeric ones and the categorical
ones, one column per category, make 331 columns (Zhang et al., Dive into Deep Learning, section 5.7). Its numbers are
not used here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accelbench.core.workload import import_installed
from accelbench.errors import Unavailable
from accelbench.schema.reasons import Reason, reason

TARGET = 0.95  # of the test images
MOST_EPOCHS = 40  # ten times what training takes in batches of the usual size
TEST_SHARE = 0.25
BATCH = 32
OBSERVED = 4  # trainings, each with first weights and an order of the images of its own: a single one may be lucky


@dataclass(frozen=True, kw_only=True)
class Digits:
    """Standardised float32 pixels, shape ``(images, 64)``, and labels, to learn from and to be tested on."""

    pixels: np.ndarray
    labels: np.ndarray
    test_pixels: np.ndarray
    test_labels: np.ndarray

    def epoch(self, batch_size: int = BATCH) -> int:
        """Return how many images an epoch learns from: whole batches of all there are."""
        return len(self.pixels) // batch_size * batch_size


def split_digits() -> Digits:
    """Return the digits, always split in the same way.

    Raises:
        Unavailable: scikit-learn is not installed.
    """
    pixels, labels = import_installed("sklearn.datasets", "scikit-learn").load_digits(return_X_y=True)
    pixels = ((pixels - pixels.mean()) / pixels.std()).astype(np.float32)
    split = import_installed("sklearn.model_selection", "scikit-learn").train_test_split
    parts = split(pixels, labels, test_size=TEST_SHARE, stratify=labels, random_state=0)
    return Digits(pixels=parts[0], test_pixels=parts[1], labels=parts[2], test_labels=parts[3])


def training_facts(
    split: Digits,
    *,
    seed: int,
    reset: Callable[[int], None],
    learn: Callable[[np.ndarray], None],
    wait: Callable[[], None],
    test: Callable[[], float],
    batch_size: int = BATCH,
    trainings: int = 1,
    learns_otherwise: bool = False,
) -> dict[str, Any]:
    """Return the facts of the arm whose steps train from the start until the test accuracy reaches the target.

    A step has several ``trainings``, which differ in their first weights and in the order of the images. ``reset``
    returns to the first weights of the training of a number. ``learn`` is given the rows of each batch of an epoch,
    shape ``(batches, batch_size)``, and ``wait`` waits until the device has learnt them; ``test`` returns the share of
    test images that are recognised. The arm's output are the accuracies at which the trainings ended. A single image
    may not change them, so no inputs are shown. An arm that ``learns_otherwise`` than its baseline by design is
    unavailable if it does not reach the target; the output of any other one is then wrong.

    Observed are the accuracy and the epochs of at least `OBSERVED` trainings, and ``images_per_s``, the rate at which
    they learn, without tests: the median over their epochs.
    """
    images = split.epoch(batch_size)

    def train(number: int, epochs_s: list[float] | None = None) -> tuple[float, int]:
        reset(number)
        rng = np.random.default_rng((seed, number))
        accuracies: list[float] = []
        while len(accuracies) < MOST_EPOCHS and max(accuracies, default=0) < TARGET:
            rows = rng.permutation(len(split.pixels))[:images].reshape(-1, batch_size)
            start_s = time.perf_counter()
            learn(rows)
            if epochs_s is not None:
                wait()
                epochs_s.append(time.perf_counter() - start_s)
            accuracies.append(test())
        return accuracies[-1], len(accuracies)

    def step() -> tuple[float, ...]:
        accuracies = []
        for number in range(trainings):
            accuracy, _ = train(number)
            accuracies.append(accuracy)
            if learns_otherwise and (missed := check_target(accuracies)):
                raise Unavailable(missed)
        return tuple(accuracies)

    def observe() -> Mapping[str, float]:
        epochs_s: list[float] = []
        numbers = range(max(trainings, OBSERVED))
        accuracies, epochs = zip(*(train(number, epochs_s) for number in numbers), strict=True)
        return {
            "trainings": len(numbers),
            "test_accuracy": float(np.mean(accuracies)),
            "epochs": float(np.mean(epochs)),
            "fewest_epochs": min(epochs),
            "most_epochs": max(epochs),
            "images_per_s": images / float(np.median(epochs_s)),
        }

    return {"step": step, "items": trainings, "verify": check_target, "observe": observe}


def check_target(output: Sequence[Any]) -> Reason | None:
    """Return a reason if a training did not reach the target."""
    accuracy = min(map(float, output))
    if accuracy >= TARGET:
        return None
    return reason("target-missed", epochs=MOST_EPOCHS, accuracy=accuracy, target=TARGET)


ROWS = 1460
NUMERIC = 36
# Categories of each of the 43 categorical features, missing values being one of them: 295 together.
CATEGORIES = (26, 17, 16, 16, 10, *[9] * 3, *[8] * 5, *[7] * 6, *[6] * 7, *[5] * 4, *[4] * 4, *[3] * 5, *[2] * 4)
MISSING = 0.06  # share of the numeric values
NOISE = 0.1  # standard deviation of the log price that no feature explains


@dataclass(frozen=True, kw_only=True)
class Houses:
    """What is known of houses, shape ``(rows, 331)``, and the natural logarithm of their prices, ``(rows,)``."""

    features: np.ndarray
    log_prices: np.ndarray


def generate_houses(seed: int) -> Houses:
    """Return the table, float32: numeric columns standardised, missing values at their mean, categories as 0 and 1.

    The log price is a saturating function of the first numeric feature, times a linear one of the second, and a sum of
    small effects of all of them and of the categories, of which those of the first categorical feature weigh most.
    """
    rng = np.random.default_rng(seed)
    # Half of them skewed, as areas and distances are.
    numeric = rng.normal(size=(ROWS, NUMERIC))
    numeric[:, ::2] = np.exp(0.5 * numeric[:, ::2])
    numeric = (numeric - numeric.mean(axis=0)) / numeric.std(axis=0)
    area = np.tanh(numeric[:, 0])
    log_prices = 12 + 0.3 * area + 0.25 * area * numeric[:, 1]
    log_prices += numeric @ rng.normal(scale=0.02, size=NUMERIC)
    columns = [np.where(rng.random(numeric.shape) < MISSING, 0, numeric)]
    for number, count in enumerate(CATEGORIES):
        category = rng.choice(count, size=ROWS, p=rng.dirichlet(np.ones(count)))
        log_prices += rng.normal(scale=0.02 if number else 0.15, size=count)[category]
        columns.append(np.eye(count)[category])
    log_prices += rng.normal(scale=NOISE, size=ROWS)
    return Houses(features=np.hstack(columns).astype(np.float32), log_prices=log_prices.astype(np.float32))
