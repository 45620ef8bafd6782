"""What can be switched in a tf.data pipeline, one thing at a time, and stacked in the order of its guide."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Build, technique


@technique("tensorflow", levels=("jpeg", "tfrecord"), recipe={"tfrecord": "tf.data.TFRecordDataset(files)"})
def source(build: Build, level: str) -> Arm:
    """A file per image, or the same bytes in a few TFRecord files."""
    return build(source=level)


@technique(
    "tensorflow",
    levels=("off", "serial", "parallel"),
    recipe={
        "serial": "dataset_of_names.interleave(tf.data.TFRecordDataset)",
        "parallel": "dataset_of_names.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)",
    },
)
def interleave(build: Build, level: str) -> Arm:
    """TFRecord files read one after another, in turn by one thread, or all at once."""
    return build(interleave=level)


@technique(
    "tensorflow",
    levels=("sequential", "2", "autotune"),
    recipe={
        "2": "dataset.map(decode, num_parallel_calls=2)",
        "autotune": "dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)",
    },
)
def parallel_map(build: Build, level: str) -> Arm:
    """Images decoded one by one, two at once, or as many as tf.data finds best."""
    return build(parallel_calls=1 if level == "sequential" else _amount(level))


@technique(
    "tensorflow",
    levels=("off", "32", "whole"),
    unadvised={"*": "images are shuffled for the sake of learning, not of speed"},
)
def shuffle_buffer(build: Build, level: str) -> Arm:
    """How many undecoded images wait to be drawn at random: none, 32, or the whole epoch."""
    return build(shuffle_buffer=0 if level == "off" else _amount(level))


@technique(
    "tensorflow",
    levels=("off", "memory", "file"),
    recipe={"memory": "dataset.cache()  # after decoding", "file": "dataset.cache(path)  # after decoding"},
)
def cache(build: Build, level: str) -> Arm:
    """Decoded images kept after the first epoch, which is not timed: its cost is the observed first epoch."""
    return build(cache=level)


@technique("tensorflow", levels=("off", "on"), recipe={"on": "dataset.batch(size).map(normalise)"})
def vectorised_map(build: Build, level: str) -> Arm:
    """Normalising whole batches instead of single images; decoding goes image by image either way."""
    return build(vectorised=level == "on")


@technique(
    "tensorflow",
    levels=("off", "1", "autotune"),
    recipe={"1": "dataset.prefetch(1)", "autotune": "dataset.prefetch(tf.data.AUTOTUNE)"},
)
def prefetch(build: Build, level: str) -> Arm:
    """Batches prepared while the one before is used: none, one, or as many as tf.data finds best."""
    return build(prefetch=0 if level == "off" else _amount(level))


@technique(
    "tensorflow",
    levels=("off", "on"),
    recipe={"on": "# nothing: tf.data does so unless its options forbid it"},
)
def default_optimizations(build: Build, level: str) -> Arm:
    """What tf.data does unasked: it makes maps parallel, appends a prefetch, and tunes both."""
    return build(default_optimizations=level == "on")


# What each level adds to those before it, in the order of https://www.tensorflow.org/guide/data_performance. Amounts
# are fixed, so that a level adds one thing; leaving them to tf.data comes last.
_STACK: dict[str, dict[str, Any]] = {
    "naive": {},
    "+prefetch": {"prefetch": 1},
    "+interleave": {"interleave": "parallel"},
    "+parallel-map": {"parallel_calls": "cores"},
    "+cache": {"cache": "memory"},
    "+vectorised": {"vectorised": True},
    "+autotune": {"prefetch": "autotune", "parallel_calls": "autotune"},
}


@technique("tensorflow", levels=tuple(_STACK))
def pipeline(build: Build, level: str) -> Arm:
    """A tf.data pipeline over TFRecord files that gains one technique after another.

    A ``+`` says that a level adds to the one before it: a report draws such levels as a ladder.
    """
    options: dict[str, Any] = {}
    for name, added in _STACK.items():
        options |= added
        if name == level:
            break
    return build(**options)


def _amount(level: str) -> int | str:
    return int(level) if level.isdigit() else level
