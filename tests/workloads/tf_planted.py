"""Arms of tf.data with something planted in them, to be sent to a worker by value."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from accelbench.core import Arm, Build, Technique

LATER_S = 0.2  # long enough for a batch
OBSERVED = "first_epoch_s", "iterator_start_share", "wait_share"
TAMPERED: dict[str, Callable[[Any], Any]] = {
    "honest": lambda images: images,
    "drop": lambda images: images.skip(1),
    "double": lambda images: images.take(1).concatenate(images.skip(1).take(1)).concatenate(images.skip(1).take(8)),
    "mislabel": lambda images: images.map(lambda pixels, label: (pixels, 1 - label)),
    "mirror": lambda images: images.map(lambda pixels, label: (pixels[:, ::-1], label)),
    "darken": lambda images: images.map(lambda pixels, label: (pixels - 0.01, label)),
}


def plant(apply: Callable[[Build, str], Arm], *levels: str) -> Technique:
    return Technique(name="planted", framework="tensorflow", levels=levels, summary="", apply=apply)


def tampering(build: Build, level: str) -> Arm:
    """Build the arm with a pipeline that does something wrong to the images of an epoch."""
    from accelbench.workloads.tensorflow.pipeline import ImagePipeline

    honest = ImagePipeline._batches  # noqa: SLF001  what is tampered with

    def batches(pipeline: Any) -> Any:
        return TAMPERED[level](honest(pipeline).unbatch()).batch(5)

    ImagePipeline._batches = batches  # noqa: SLF001
    try:
        return build()
    finally:
        ImagePipeline._batches = honest  # noqa: SLF001


@contextmanager
def counted() -> Iterator[list[int]]:
    """Let pipelines built inside decode slowly, and list how many images are in decoding whenever one begins."""
    import threading

    import tensorflow as tf

    from accelbench.workloads.tensorflow import pipeline

    lock, decoding, seen = threading.Lock(), [], []

    def slow(_: Any) -> Any:
        with lock:
            decoding.append(1)
            seen.append(len(decoding))
        time.sleep(0.02)
        with lock:
            decoding.pop()
        return np.zeros((8, 8, 3), np.uint8)

    def decoded(content: Any) -> Any:
        pixels = tf.numpy_function(slow, [content], tf.uint8, stateful=False)  # else tf.data rewrites nothing
        pixels.set_shape((8, 8, 3))
        return pixels

    honest, pipeline.decoded = pipeline.decoded, decoded
    try:
        yield seen
    finally:
        pipeline.decoded = honest


def counting(build: Build, _: str) -> Arm:
    """Build an arm that counts what it decodes: how many at once at most, how many in all, how many after the step."""
    with counted() as seen:
        arm = build()

    def step() -> tuple[int, int, int]:
        seen.clear()
        arm.step()
        in_time = len(seen)
        time.sleep(LATER_S)
        return max(seen), in_time, len(seen) - in_time

    return replace(arm, step=step)


def peeking(build: Build, _: str) -> Arm:
    """Build an arm that takes an epoch's first batch only, and counts what has been decoded some time later."""
    from accelbench.workloads.tensorflow.pipeline import EpochContents

    with counted() as seen:
        arm = build()

    def first_batch(_: EpochContents, batches: Iterable[Any]) -> int:
        seen.clear()
        iterator = iter(batches)
        next(iterator)
        time.sleep(LATER_S)
        return len(seen)

    def step() -> Any:
        honest, EpochContents.of = EpochContents.of, first_batch
        try:
            return arm.step()
        finally:
            EpochContents.of = honest

    return replace(arm, step=step)


def observing(build: Build, _: str) -> Arm:
    """Build an arm whose output are the facts that it observes, -1 where it does not."""
    arm = build()
    assert arm.observe is not None
    observe = arm.observe

    def step() -> list[float]:
        facts = observe()
        return [facts.get(name, -1) for name in OBSERVED]

    return replace(arm, step=step)
