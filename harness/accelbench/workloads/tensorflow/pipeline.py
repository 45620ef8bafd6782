"""A tf.data pipeline over image files or TFRecord shards of the same bytes, each transformation of which is a switch.

Needs TensorFlow.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from accelbench.errors import BadInput
from accelbench.workloads.data.files import keep_folder, resident_share, scratch_folder
from accelbench.workloads.data.images import scan
from accelbench.workloads.tensorflow.stages import AUTOTUNE, CORES, WHOLE, Stages

LAPS = 5  # epochs over which shares are taken
Consume = Callable[[Any, Any], object]


class ImagePipeline:
    """Epochs over the same images, decoded and scaled to ``side`` × ``side``, as float32 batches with their labels."""

    def __init__(
        self, images: ImageSample, stages: Stages, *, side: int, batch_size: int, files: int, cores: int, seed: int
    ) -> None:
        self._images = images
        self._stages = stages
        self._side = side
        self._batch_size = batch_size
        self._cores = cores
        self._seed = seed
        self._sources = images.paths if stages.source == "jpeg" else shards(images, min(files, len(images.paths)))
        self._cache = scratch_folder(".cached-epoch-") if stages.cache == "file" else None
        self._caches = 0
        self.items = len(images.paths)
        self.count = -(-self.items // batch_size)
        self.dataset = self._new()

    def __iter__(self) -> Any:
        """Begin an epoch."""
        return _begun(self.dataset)

    feed = None

    def inputs(self) -> tuple[()]:
        """Return no inputs: they lie in files."""
        return ()

    def restart(self) -> None:
        """Do nothing: every epoch begins with the first image."""

    def close(self) -> None:
        """Drop the cache, in memory or in a file."""
        self.dataset = ()
        if self._cache is not None:
            self._cache.cleanup()

    def facts(self, consume: Consume | None = None) -> Mapping[str, float]:
        """Return how long a first epoch takes, where nothing is cached yet, and where the time of later ones goes.

        ``iterator_start_share`` and ``iterator_end_share`` are the shares of making an epoch's iterator and of ending
        it; with something that consumes the batches, ``wait_share`` is that of everything else than consuming them.
        ``page_cache_share`` is the share of the files that was in the page cache.
        """
        epochs = self._new()
        first_epoch_s = _time_epoch(epochs, consume)["whole_s"]
        laps = [_time_epoch(epochs, consume) for _ in range(LAPS)]
        spent_s = {name: sum(lap[name] for lap in laps) for name in laps[0]}
        whole_s = spent_s.pop("whole_s")
        facts = {f"{name.removesuffix('_s')}_share": part_s / whole_s for name, part_s in spent_s.items()}
        if (resident := resident_share(self._sources)) is not None:
            facts["page_cache_share"] = resident
        return {"first_epoch_s": first_epoch_s, **facts}

    def _new(self) -> Any:
        """Return the epochs with nothing cached yet."""
        with tf.device("CPU:0"):  # wherever the caller computes
            return self._batches().with_options(self._options())

    def _batches(self) -> Any:
        stages = self._stages
        images = self._records()
        if stages.cache == "off":
            images = self._shuffle(images)  # while they are small
        images = images.map(self._decode, num_parallel_calls=self._parallel_calls())
        if stages.cache != "off":
            self._caches += 1
            images = images.cache("" if self._cache is None else f"{self._cache.name}/{self._caches}")
            images = self._shuffle(images)  # behind the cache, or every epoch would have the first one's order
        if stages.vectorised:
            batches = images.batch(self._batch_size).map(_normalise)
        else:
            batches = images.map(_normalise).batch(self._batch_size)
        if stages.prefetch:
            batches = batches.prefetch(tf.data.AUTOTUNE if stages.prefetch == AUTOTUNE else int(stages.prefetch))
        return batches

    def _parallel_calls(self) -> int | None:
        """Return the calls of the decoding map as tf.data takes them, None for one after another."""
        wanted = self._stages.parallel_calls
        if wanted == AUTOTUNE:
            return int(tf.data.AUTOTUNE)
        calls = self._cores if wanted == CORES else int(wanted)
        return None if calls == 1 else calls

    def _records(self) -> Any:
        """Return the undecoded images: file names with labels, or serialised examples."""
        names = [str(path) for path in self._sources]
        if self._stages.source == "jpeg":
            return tf.data.Dataset.from_tensor_slices((names, tf.constant(self._images.labels, tf.int64)))
        if self._stages.interleave == "off":
            return tf.data.TFRecordDataset(names)
        return tf.data.Dataset.from_tensor_slices(names).interleave(
            tf.data.TFRecordDataset,
            cycle_length=len(names),
            num_parallel_calls=len(names) if self._stages.interleave == "parallel" else None,
        )

    def _shuffle(self, images: Any) -> Any:
        buffer = self._stages.shuffle_buffer
        if not buffer:
            return images
        return images.shuffle(len(self._images.paths) if buffer == WHOLE else int(buffer), seed=self._seed)

    def _decode(self, *record: Any) -> tuple[Any, Any]:
        """Return the pixels of a record, uint8, scaled, and its label."""
        if self._stages.source == "jpeg":
            name, label = record
            content = tf.io.read_file(name)
        else:
            example = tf.io.parse_single_example(record[0], FEATURES)
            content, label = example["image"], example["label"]
        scaled = tf.image.resize(decoded(content), (self._side, self._side))
        return tf.cast(tf.round(scaled), tf.uint8), label

    def _options(self) -> Any:
        """Return options that keep tf.data from parallelising and prefetching unasked."""
        options = tf.data.Options()
        options.deterministic = True
        options.experimental_optimization.apply_default_optimizations = self._stages.default_optimizations
        options.autotune.enabled = self._stages.autotuned
        options.autotune.cpu_budget = self._cores
        options.threading.private_threadpool_size = self._stages.threads(self._cores)
        options.threading.max_intra_op_parallelism = 1  # no operation spreads over more threads than these
        return options


def _normalise(pixels: Any, label: Any) -> tuple[Any, Any]:
    """Return the pixels of an image or of a batch in [-1, 1], float32, as many classifiers of Keras take them."""
    return tf.cast(pixels, tf.float32) / 127.5 - 1, label


def _begun(epochs: Any) -> Any:
    with tf.device("CPU:0"):
        return iter(epochs)


def _time_epoch(epochs: Any, consume: Consume | None) -> dict[str, float]:
    """Run an epoch and return how many seconds it took, and its parts."""
    used_s = 0.0
    began_s = time.perf_counter()
    iterator = _begun(epochs)
    made_s = time.perf_counter()
    for batch in iterator:
        if consume is not None:
            arrived_s = time.perf_counter()
            consume(*batch)
            used_s += time.perf_counter() - arrived_s
    drained_s = time.perf_counter()
    del iterator  # and with it the pipeline's threads
    ended_s = time.perf_counter()
    parts_s = {"iterator_start_s": made_s - began_s, "iterator_end_s": ended_s - drained_s}
    if consume is not None:
        parts_s["wait_s"] = ended_s - began_s - used_s
    return {"whole_s": ended_s - began_s, **parts_s}


FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


@dataclass(frozen=True, kw_only=True)
class ImageSample:
    """Image files in the order of an epoch, each with the index of its class, and how many classes there are."""

    paths: tuple[Path, ...]
    labels: tuple[int, ...]
    classes: int


@cache
def draw(folder: Path, count: int, seed: int) -> ImageSample:
    """Return up to ``count`` of the folder's images at random, none of them one that TensorFlow cannot decode.

    Raises:
        BadInput: there is no image that TensorFlow can decode.
    """
    found = scan(folder)
    order = np.random.default_rng(seed).permutation(len(found.paths))
    chosen = list(islice((int(index) for index in order if _decodes(found.paths[index])), count))
    if not chosen:
        raise BadInput(f"{folder}: TensorFlow can decode none of its images; give it JPEG, PNG, GIF or BMP files")
    return ImageSample(
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
def shards(images: ImageSample, count: int) -> tuple[Path, ...]:
    """Return ``count`` TFRecord files that hold the images' bytes in turn; they are written on first use and kept.

    Their folder's name is a digest of their content, so other images never pass for them.

    Raises:
        BadInput: the cache folder cannot be written to.
    """
    content = hashlib.sha256()
    for record in _records(images):
        content.update(hashlib.sha256(record).digest())
    home = keep_folder(f"tfrecords-{content.hexdigest()[:16]}-{count}", lambda folder: _write(folder, images, count))
    return tuple(sorted(home.glob("*.tfrecord")))


def _write(folder: Path, images: ImageSample, count: int) -> None:
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


def _records(images: ImageSample) -> Iterator[bytes]:
    for path, label in zip(images.paths, images.labels, strict=True):
        image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[path.read_bytes()]))
        number = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
        features = tf.train.Features(feature={"image": image, "label": number})
        yield tf.train.Example(features=features).SerializeToString(deterministic=True)


class EpochContents:
    """Drains an epoch and returns numbers that show whether every image came once, unchanged and with its label.

    They do not depend on the order, which differs by design where shards are interleaved or images shuffled.
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
