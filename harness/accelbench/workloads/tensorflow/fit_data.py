"""The data of a user's Keras program, in each of the forms that ``Model.fit`` takes, and its first batches.

Needs TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import keras
import tensorflow as tf

# fit's own; not exported
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

from accelbench.core import KerasProgram
from accelbench.errors import BadInput, Unavailable
from accelbench.schema.reasons import reason
from accelbench.text import join_names

USUAL_BATCH = 32  # of Model.fit


@dataclass(frozen=True, kw_only=True)
class IterationData:
    """The data of an iteration, with the number of steps and of items; ``is_cut`` says that there are more."""

    data: Any
    steps: int
    items: int
    epochs: int
    is_cut: bool = False


def open_data(program: KerasProgram) -> DatasetBatches | Arrays | PythonBatches:
    """Return a program's data.

    Raises:
        BadInput: ``Model.fit`` does not take them, or not in batches.
    """
    data = program.data
    makes_batches = isinstance(data, tf.data.Dataset | keras.utils.PyDataset)
    if makes_batches and program.batch_size is not None:
        raise BadInput("the program's data set yields batches already, so batch_size does not apply to it")
    if isinstance(data, tf.data.Dataset):
        if tf.nest.flatten(data.element_spec)[0].shape.rank == 0:
            raise BadInput("the program's data set yields single items; expected batches: dataset.batch(size)")
        return DatasetBatches(data)
    if makes_batches:
        return PythonBatches(data)
    if not all(map(_is_array, _leaves(data))):
        raise BadInput(
            f"the program's data are of type {type(data).__name__}; expected a tf.data.Dataset of batches, a "
            "keras.utils.PyDataset or arrays; tf.data.Dataset.from_generator makes one of a generator function"
        )
    return Arrays(program)


class DatasetBatches:
    """A ``tf.data.Dataset`` of batches, of which only the last of an epoch may be smaller.

    ``caches``: it keeps what it has computed, which works if a whole epoch is read.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._length = int(dataset.cardinality())
        self._known: dict[int, tuple[int, int]] = {}
        self.caches = self._length != tf.data.INFINITE_CARDINALITY and _caches(dataset)

    def first(self) -> Any:
        """Return the first batch.

        Raises:
            BadInput: there is none.
        """
        for batch in self._dataset.take(1):
            return batch
        raise BadInput("the program's data set yields no batch; expected at least one")

    @cached_property
    def batch_size(self) -> int:
        """The items of the first batch."""
        static = tf.nest.flatten(self._dataset.element_spec)[0].shape[0]
        return int(static or _items_in(self.first()))

    def count_batches(self, batches: int) -> int:
        """Return the number of batches that can be read, at most ``batches``; if it caches them, that of all."""
        if self._length >= 0:
            return self._length if self.caches else min(batches, self._length)
        return batches if self._length == tf.data.INFINITE_CARDINALITY else self._count(batches)[0]

    def facts(self) -> dict[str, Any]:
        """Return what the data set does without any option."""
        options = self._dataset.options()
        return {
            "data": "dataset",
            "batch_size": self.batch_size,
            "most_items": self._length * self.batch_size if self._length >= 0 else None,
            "prefetch": _prefetch_of(self._dataset),
            "default_optimizations": options.experimental_optimization.apply_default_optimizations is not False,
            "data_threads": options.threading.private_threadpool_size or 0,
            "deterministic": options.deterministic is not False,
        }

    def take(self, batches: int, epochs: int, options: Any) -> IterationData:
        """Return the first batches, with the options of the pipeline that are set."""
        size = options.batch_size or self.batch_size
        batches = max(batches, math.ceil(size / self.batch_size))
        steps, items = self._count(batches)
        dataset = first = self._first(batches)
        if size != self.batch_size:
            if size > items:
                raise Unavailable(reason("too-few-items", items=items, unit="item", batch=size))
            steps, items = items // size, items // size * size
            dataset = dataset.rebatch(size, drop_remainder=True)
        if options.prefetch:
            dataset = dataset.prefetch(tf.data.AUTOTUNE if options.prefetch == "autotune" else options.prefetch)
        dataset = _of_length(dataset, steps).with_options(_pipeline_options(options))
        is_cut = first is not self._dataset
        return IterationData(data=dataset, steps=steps, items=items * epochs, epochs=epochs, is_cut=is_cut)

    def close(self) -> None:
        """Drop the data set, and with it what it caches."""
        self._dataset = None

    def _first(self, batches: int) -> Any:
        return self._dataset if self.caches or 0 <= self._length <= batches else self._dataset.take(batches)

    def _count(self, batches: int) -> tuple[int, int]:
        """Return the number of batches that there are, at most ``batches``, and the number of their items."""
        if batches not in self._known:
            sizes = [_items_in(batch) for batch in self._first(batches)]
            self._known[batches] = len(sizes), sum(sizes)
        return self._known[batches]


class Arrays:
    """Arrays as ``Model.fit`` takes them: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``, in the host's memory.

    Keras makes a ``tf.data.Dataset`` of them at the beginning of every call of ``fit``, which takes a sixth of a
    second. Here it is made once.
    """

    caches = False

    def __init__(self, program: KerasProgram) -> None:
        parts = program.data if isinstance(program.data, tuple) else (program.data,)
        self._parts: Any = parts
        self._shuffle = bool(program.fit.get("shuffle", True)) and program.learns
        self.batch_size = program.batch_size or USUAL_BATCH
        lengths = {len(leaf) for leaf in tf.nest.flatten(parts) if leaf is not None}
        if len(lengths) != 1 or not lengths - {0}:
            found = join_names([str(length) for length in sorted(lengths)])
            raise BadInput(f"the program's arrays have {found} items; expected one number above 0")
        (self._items,) = lengths

    def first(self) -> Any:
        """Return the first batch."""
        return self._rows(self.batch_size)

    def count_batches(self, batches: int) -> int:
        """Return the number of batches that there are, at most ``batches``."""
        return min(batches, -(-self._items // self.batch_size))

    def facts(self) -> dict[str, Any]:
        """Return what Keras does with the arrays."""
        return {"data": "arrays", "batch_size": self.batch_size, "most_items": self._items}

    def take(self, batches: int, epochs: int, options: Any) -> IterationData:
        """Return the batches that Keras makes of the first items."""
        size = options.batch_size or self.batch_size
        items = min(self._items, max(size, batches * self.batch_size))
        if size > items:
            raise Unavailable(reason("too-few-items", items=items, unit="item", batch=size))
        if size != self.batch_size:
            items = items // size * size
        adapter = ArrayDataAdapter(*self._rows(items), batch_size=size, shuffle=self._shuffle)
        steps = -(-items // size)
        data = _of_length(adapter.get_tf_dataset(), steps)
        return IterationData(data=data, steps=steps, items=items * epochs, epochs=epochs)

    def close(self) -> None:
        """Drop the arrays."""
        self._parts = ()

    def _rows(self, items: int) -> Any:
        return tf.nest.map_structure(lambda leaf: leaf if leaf is None else leaf[:items], self._parts)


class PythonBatches:
    """A ``keras.utils.PyDataset``, whose batches Python makes, in workers of its own if it has some.

    ``Model.fit`` makes a ``tf.data.Dataset`` of it, too. All epochs have the order of the first one.

    Raises:
        BadInput: it has no batch.
    """

    caches = False

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._length: int | None = dataset.num_batches
        if self._length == 0:
            raise BadInput("the program's PyDataset has no batch; expected at least one")
        self._sizes: dict[int, int] = {}  # of the batches that were counted, since making them takes time

    def first(self) -> Any:
        """Return the first batch."""
        return self._dataset[0]

    @property
    def batch_size(self) -> int:
        """The items of the first batch."""
        return self._count_items(0)

    def count_batches(self, batches: int) -> int:
        """Return the number of batches that there are, at most ``batches``."""
        return batches if self._length is None else min(batches, self._length)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the batches."""
        most = None if self._length is None else self._length * self.batch_size
        return {"data": "PyDataset", "batch_size": self.batch_size, "most_items": most}

    def take(self, batches: int, epochs: int, options: Any) -> IterationData:  # noqa: ARG002  none of the options applies
        """Return the first batches, as ``Model.fit`` makes them."""
        steps = self.count_batches(batches)
        data = _of_length(_EpochAdapter(_FirstBatches(self._dataset, steps)).get_tf_dataset(), steps)
        items = sum(self._count_items(number) for number in range(steps)) * epochs
        return IterationData(data=data, steps=steps, items=items, epochs=epochs, is_cut=steps != self._length)

    def close(self) -> None:
        """Drop the data."""
        self._dataset = None

    def _count_items(self, number: int) -> int:
        if number not in self._sizes:
            self._sizes[number] = _items_in(self._dataset[number])
        return self._sizes[number]


class _FirstBatches(keras.utils.PyDataset):  # type: ignore[misc]  # Keras ships no types
    """The first batches of another data set, made by as many workers."""

    def __init__(self, dataset: Any, batches: int) -> None:
        super().__init__(dataset.workers, dataset.use_multiprocessing, dataset.max_queue_size)
        self._dataset, self._batches = dataset, batches

    def __len__(self) -> int:
        return self._batches

    def __getitem__(self, index: int) -> Any:
        return self._dataset[index]


class _EpochAdapter(PyDatasetAdapter):  # type: ignore[misc]  # Keras ships no types
    """Begins every epoch with new workers.

    At the end of an epoch, ``Model.fit`` waits a tenth of a second until no batch is left in the queue. An iteration is
    shorter than an epoch, so that is left out of it.
    """

    def _get_iterator(self) -> Iterator[Any]:
        workers = PyDatasetAdapter(self.py_dataset).enqueuer
        return self._finite_generator() if workers is None else self._iterate_over_epoch(workers)

    def _iterate_over_epoch(self, workers: Any) -> Iterator[Any]:
        workers.start()
        try:
            yield from map(self._standardize_batch, islice(workers.get(), self.num_batches))
        finally:
            workers.stop(drain_queue_and_join=False)


def keep_in_memory(dataset: Any) -> Any:
    """Return a data set whose batches lie in memory already."""
    kept = dataset.cache()
    for _ in kept:
        pass
    return kept


def _leaves(data: Any) -> list[Any]:
    return [leaf for leaf in tf.nest.flatten(data) if leaf is not None] or [None]


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "__len__") and hasattr(leaf, "shape")


def _of_length(dataset: Any, batches: int) -> Any:
    """Return a data set that knows how many batches it has.

    At the end of one that does not, ``Model.fit`` begins a step without a batch, and counts it.
    """
    is_known = int(dataset.cardinality()) == batches
    return dataset if is_known else dataset.apply(tf.data.experimental.assert_cardinality(batches))


def _items_in(batch: Any) -> int:
    leaf = tf.nest.flatten(batch)[0]
    return int(leaf.nrows() if isinstance(leaf, tf.RaggedTensor) else leaf.shape[0])


def inputs_of(dataset: Any) -> Iterator[Any]:
    """Yield a data set and those from which it is made."""
    yield dataset
    for each in getattr(dataset, "_inputs", tuple)():  # TensorFlow offers no other way to see them
        yield from inputs_of(each)


def _caches(dataset: Any) -> bool:
    return any("CacheDataset" in type(each).__name__ for each in inputs_of(dataset))


def _prefetch_of(dataset: Any) -> int | str | None:
    """Return how many batches a data set prefetches at its end."""
    for each in inputs_of(dataset):
        if "PrefetchDataset" in type(each).__name__:
            size = int(getattr(each, "_buffer_size", tf.data.AUTOTUNE))
            return "autotune" if size == tf.data.AUTOTUNE else size
        if "OptionsDataset" not in type(each).__name__:
            return None
    return None


def _pipeline_options(options: Any) -> tf.data.Options:
    made = tf.data.Options()
    if options.default_optimizations is not None:
        made.experimental_optimization.apply_default_optimizations = options.default_optimizations
    if options.data_threads is not None:
        made.threading.private_threadpool_size = options.data_threads
    if options.deterministic is not None:
        made.deterministic = options.deterministic
    return made
