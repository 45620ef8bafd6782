"""The images of an epoch, as the files they are and as TFRecord shards of the same bytes. Needs TensorFlow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import tensorflow as tf

from harness.errors import BadInput
from harness.workloads.data.cache_folder import kept
from harness.workloads.data.image_folder import scan

FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Image files in the order of an epoch, each with the index of its class, and how many classes there are."""

    paths: tuple[Path, ...]
    labels: tuple[int, ...]
    classes: int


@cache
def draw(folder: Path, count: int, seed: int) -> Drawn:
    """Return up to ``count`` of the folder's images at random, none of them one that TensorFlow cannot decode.

    Raises:
        BadInput: there is no image that TensorFlow can decode.
    """
    found = scan(folder)
    order = np.random.default_rng(seed).permutation(len(found.paths))
    chosen = list(islice((int(index) for index in order if _decodes(found.paths[index])), count))
    if not chosen:
        raise BadInput(f"{folder}: TensorFlow can decode none of its images; give it JPEG, PNG, GIF or BMP files")
    return Drawn(
        paths=tuple(found.paths[index] for index in chosen),
        labels=tuple(found.labels[index] for index in chosen),
        classes=len(found.classes),
    )


def decoded(content: tf.Tensor) -> tf.Tensor:
    """Return a file's pixels, uint8, shape ``(height, width, 3)``."""
    return tf.io.decode_image(content, channels=3, expand_animations=False)


def _decodes(path: Path) -> bool:
    try:
        with tf.device("CPU:0"):
            decoded(path.read_bytes())
    except (tf.errors.OpError, ValueError):
        return False
    return True


@cache
def shards(images: Drawn, count: int) -> tuple[Path, ...]:
    """Return ``count`` TFRecord files that hold the images' bytes in turn; they are written on first use and kept.

    Their folder's name comes from what they hold, so other images never pass for them.

    Raises:
        BadInput: the cache folder cannot be written to.
    """
    content = hashlib.sha256()
    for record in _records(images):
        content.update(hashlib.sha256(record).digest())
    home = kept(f"tfrecords-{content.hexdigest()[:16]}-{count}", lambda folder: _write(folder, images, count))
    return tuple(sorted(home.glob("*.tfrecord")))


def _write(folder: Path, images: Drawn, count: int) -> None:
    folder.mkdir()
    names = [folder / f"{number:04d}.tfrecord" for number in range(count)]
    try:
        writers = [tf.io.TFRecordWriter(str(name)) for name in names]
        for number, record in enumerate(_records(images)):
            writers[number % count].write(record)
        for writer in writers:
            writer.close()
    except tf.errors.OpError as error:
        raise OSError(None, error.message) from None  # as Python's own files say it


def _records(images: Drawn) -> Iterator[bytes]:
    for path, label in zip(images.paths, images.labels, strict=True):
        image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[path.read_bytes()]))
        number = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
        features = tf.train.Features(feature={"image": image, "label": number})
        yield tf.train.Example(features=features).SerializeToString(deterministic=True)
