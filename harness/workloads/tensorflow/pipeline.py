"""A tf.data pipeline over image files, each of whose transformations can be switched. Needs TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from harness.errors import BadInput, Unavailable
from harness.workloads.data.cache_folder import scratch
from harness.workloads.data.page_cache import resident_share
from harness.workloads.tensorflow.tfrecords import FEATURES, Drawn, decoded, shards

AUTOTUNE, CORES, WHOLE = "autotune", "cores", "whole"  # amounts that are no number
CHOICES = {
    "source": ("jpeg", "tfrecord"),
    "interleave": ("off", "serial", "parallel"),
    "cache": ("off", "memory", "file"),
}
LAPS = 5  # epochs over which shares are taken
Consume = Callable[[Any, Any], object]


@dataclass(frozen=True, kw_only=True)
class Stages:
    """What an epoch consists of. An amount is a number, or ``"autotune"``, with which tf.data chooses it as it runs.

    ``source`` is ``"jpeg"`` or ``"tfrecord"``. ``interleave`` reads TFRecord shards one after another (``"off"``) or
    in turn, in one thread (``"serial"``) or all at once (``"parallel"``). ``parallel_calls`` images are decoded at
    once, ``"cores"`` one per core. ``shuffle_buffer`` images, or the ``"whole"`` epoch, wait to be drawn at random.
    ``cache`` keeps decoded images in memory or in a file. ``vectorised`` normalises batches instead of images.
    ``prefetch`` batches are prepared ahead. ``default_optimizations`` lets tf.data rewrite the pipeline as it does
    unasked.
    """

    source: str = "jpeg"
    interleave: str = "off"
    parallel_calls: int | str = 1
    shuffle_buffer: int | str = 0
    cache: str = "off"
    vectorised: bool = False
    prefetch: int | str = 0
    default_optimizations: bool = False

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise BadInput(f"unknown {name} {getattr(self, name)!r}; expected one of: {', '.join(known)}")
        if self.interleave == "parallel" and self.source == "jpeg":
            raise Unavailable("several files are read at once from TFRecord shards only: measure(…, source='tfrecord')")

    @property
    def autotuned(self) -> bool:
        """Whether anything is left to tf.data to choose."""
        return self.default_optimizations or AUTOTUNE in (self.parallel_calls, self.prefetch)

    def threads(self, cores: int) -> int:
        """Return how many threads decode: as many as there are parallel calls, one per core where tf.data chooses."""
        per_core = self.default_optimizations or self.parallel_calls in (AUTOTUNE, CORES)
        return cores if per_core else int(self.parallel_calls)

    def calls(self, cores: int) -> int | None:
        """Return the calls of the decoding map as tf.data takes them, None for one after another."""
        if self.parallel_calls == AUTOTUNE:
            return int(tf.data.AUTOTUNE)
        calls = cores if self.parallel_calls == CORES else int(self.parallel_calls)
        return None if calls == 1 else calls


class ImagePipeline:
    """Epochs over the same images, decoded and scaled to ``side`` × ``side``, as float32 batches with their labels."""

    def __init__(
        self, images: Drawn, stages: Stages, *, side: int, batch_size: int, files: int, cores: int, seed: int
    ) -> None:
        self._images = images
        self._stages = stages
        self._side = side
        self._batch_size = batch_size
        self._cores = cores
        self._seed = seed
        self._sources = images.paths if stages.source == "jpeg" else shards(images, min(files, len(images.paths)))
        self._cache = scratch(".cached-epoch-") if stages.cache == "file" else None
        self._caches = 0
        self._epochs = self._new()

    def __iter__(self) -> Any:
        """Begin an epoch."""
        return _begun(self._epochs)

    def close(self) -> None:
        """Drop what is cached, in memory or in a file."""
        self._epochs = ()
        if self._cache is not None:
            self._cache.cleanup()

    def facts(self, consume: Consume | None = None) -> Mapping[str, float]:
        """Return how long a first epoch takes, where nothing is cached yet, and where the time of later ones goes.

        ``iterator_start_share`` and ``iterator_end_share`` are the shares of making an epoch's iterator and of ending
        it; with something that consumes the batches, ``wait_share`` is that of everything else than consuming them.
        ``page_cache_share`` is the share of the files that was in the page cache.
        """
        epochs = self._new()
        first_epoch_s = _drained(epochs, consume)["whole_s"]
        laps = [_drained(epochs, consume) for _ in range(LAPS)]
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
            images = self._shuffled(images)  # while they are small
        images = images.map(self._decode, num_parallel_calls=stages.calls(self._cores))
        if stages.cache != "off":
            self._caches += 1
            images = images.cache("" if self._cache is None else f"{self._cache.name}/{self._caches}")
            images = self._shuffled(images)  # behind the cache, or every epoch would have the first one's order
        if stages.vectorised:
            batches = images.batch(self._batch_size).map(_normalised)
        else:
            batches = images.map(_normalised).batch(self._batch_size)
        if stages.prefetch:
            batches = batches.prefetch(tf.data.AUTOTUNE if stages.prefetch == AUTOTUNE else int(stages.prefetch))
        return batches

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

    def _shuffled(self, images: Any) -> Any:
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
        """Return options under which a level means what it says: tf.data would parallelise and prefetch unasked."""
        options = tf.data.Options()
        options.deterministic = True
        options.experimental_optimization.apply_default_optimizations = self._stages.default_optimizations
        options.autotune.enabled = self._stages.autotuned
        options.autotune.cpu_budget = self._cores
        options.threading.private_threadpool_size = self._stages.threads(self._cores)
        options.threading.max_intra_op_parallelism = 1  # no operation spreads over more threads than these
        return options


def _normalised(pixels: Any, label: Any) -> tuple[Any, Any]:
    """Return the pixels of an image or of a batch in [-1, 1], float32, as many classifiers of Keras take them."""
    return tf.cast(pixels, tf.float32) / 127.5 - 1, label


def _begun(epochs: Any) -> Any:
    with tf.device("CPU:0"):
        return iter(epochs)


def _drained(epochs: Any, consume: Consume | None) -> dict[str, float]:
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
