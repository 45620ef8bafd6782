"""A user's Keras model and data as ``Model.fit`` and ``predict`` run them, from the same start again and again.

Random numbers are normal in a program: weights, dropout, augmentation, the order of a data set. All of them start from
one seed. A reset restores the weights, the optimizer, the metrics and every ``keras.random.SeedGenerator``. A data set
that shuffles draws its order once, so that each pass has the same one; it shuffles each time all the same. What is left
are random numbers that parallel calls of ``Dataset.map`` draw in the order in which they happen to run, and generators
of the user's own: :meth:`FittedProgram.spread` measures what they change. Needs TensorFlow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter  # fit's own; not exported

from accelbench.core import KerasProgram
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.schema.reasons import reason
from accelbench.text import join_names
from accelbench.workloads.tensorflow.iterators import HeldIterators
from accelbench.workloads.tensorflow.training_step import InitialState

# That an iteration lasts, if it has more than one batch. On two cores all steps of a call of `fit` may take twice as
# long as those of the next one, since threads that wait keep a core. Many short calls average over that, few long ones
# do not.
LONGEST_S = 0.25
SHORT_START_S = 0.1  # until a first batch is there: making an iterator takes some hundredths of a second
READINGS = 3
USUAL_BATCH = 32  # of Model.fit
FIT_ARGUMENTS = ("callbacks", "class_weight", "shuffle")


@dataclass(frozen=True, kw_only=True)
class ProgramFacts:
    """What a program has and does without any option.

    ``data`` says in what form it has its data. ``batch_size`` is None if it is not known, ``most_items`` if they are
    unknown or endless. ``prefetch`` is the number of batches, or ``"autotune"``, with which its data set ends, None
    without one.
    """

    data: Literal["dataset", "arrays", "PyDataset"]
    batch_size: int | None
    most_items: int | None
    learns: bool
    dtype_policy: str
    jit_compile: bool
    supports_jit: bool
    runs_eagerly: bool
    steps_per_execution: int
    prefetch: int | str | None = None
    default_optimizations: bool = True
    data_threads: int = 0
    deterministic: bool = True

    @property
    def recipes(self) -> dict[str, dict[str, str]]:
        """What a user writes for techniques, by technique and level, where they say something else themselves."""
        if self.data != "arrays":
            return {}
        called = "fit(x, y" if self.learns else "predict(x"
        return {"batch_size": {"*": f"model.{called}, batch_size={{level}})"}}


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The data of an iteration, with the number of steps and of items; ``is_cut`` says that there are more."""

    data: Any
    steps: int
    items: int
    epochs: int
    is_cut: bool = False


class FittedProgram:
    """A program that was built from a seed, with other settings of its model where they are given.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
        Unavailable: the model does not follow Keras's dtype policy.
    """

    def __init__(
        self,
        build: Callable[[], KerasProgram],
        *,
        seed: int,
        dtype_policy: str | None = None,
        jit_compile: bool | None = None,
        steps_per_execution: int | None = None,
    ) -> None:
        self._seed, self._number = seed, 0
        self.iterators = HeldIterators()
        with _policy(dtype_policy), _repeatable(seed) as generators:
            program: Any = build()
            self.program = _check(program)
            self._data = _open_data(program)
            self._make_variables()
        self.facts = self._facts()
        if dtype_policy is not None and self.facts.dtype_policy != dtype_policy:
            raise Unavailable(
                f"the program's model has the dtype policy {self.facts.dtype_policy} under Keras's global policy "
                f"{dtype_policy} as well: make it inside the function, and set no policy there"
            )
        if jit_compile is not None:
            self.model.jit_compile = jit_compile
        if steps_per_execution is not None:
            self.model.steps_per_execution = steps_per_execution
        # Keras traces them with the settings when they are first called; the function may have called them before.
        self.model.train_function = self.model.predict_function = None
        variables = list(self.model.variables)
        if self.program.learns:
            self.model.optimizer.build(self.model.trainable_variables)
            variables += [variable for optimizer in optimizers_of(self.model) for variable in optimizer.variables]
        self._seeds = generators  # as they were before the data set was read
        states = {id(state) for state, _ in generators}
        self._initial = InitialState(each for each in variables if id(each) not in states)

    def _make_variables(self) -> None:
        """Make the model's weights by a call; where it has none, or optimizers of its own, by a first batch of ``fit``.

        Both occur in models with a ``train_step`` of their own, such as
        https://keras.io/examples/generative/dcgan_overriding_train_step/.
        """
        from accelbench.workloads.tensorflow.user_program import FitOptions

        is_callable = True
        if not self.model.built:
            inputs, *_ = keras.utils.unpack_x_y_sample_weight(self._data.first())
            try:
                self.model(inputs)
            except NotImplementedError:
                is_callable = False
        is_known = all(each.built or each is self.model.optimizer for each in optimizers_of(self.model))
        if self.program.learns and not (is_callable and is_known):
            self.model.fit(self._data.take(1, 1, FitOptions()).data, shuffle=False, verbose=0)

    @property
    def model(self) -> Any:
        """The program's model."""
        return self.program.model

    def parameters(self) -> list[Any]:
        """Return the weights that are learnt."""
        return list(self.model.trainable_variables)

    def take(self, batches: int, epochs: int, options: Any) -> Taken:
        """Make the data of an iteration: the first batches of the program's, in batches of another size if one is set.

        Raises:
            Unavailable: there are too few items for a batch of that size.
        """
        taken = self._data.take(batches, epochs, options)
        data = _keep_in_memory(taken.data) if options.ablation == "decoded" else taken.data
        if epochs > 1 and not self.program.learns:
            data = data.repeat(epochs)
        self._taken = replace(taken, data=self.iterators.over(data))
        return self._taken

    def run(self) -> Any:
        """Learn from the data of an iteration; return the mean loss of each epoch, or else the predictions."""
        taken = self._taken
        if not self.program.learns:
            return self.model.predict(taken.data, verbose=0)
        arguments = {**self.program.fit, "shuffle": False}  # the data set shuffles, if at all
        history = self.model.fit(taken.data, epochs=taken.epochs, verbose=0, **arguments).history
        return np.array(history["loss"] if "loss" in history else list(history.values()), np.float64)

    def reset(self) -> None:
        """Return to the first weights, optimizer, metrics and random numbers."""
        self._initial.restore()
        self.model.reset_metrics()
        for state, first in self._seeds:
            state.assign(first + np.array([self._number, 0], first.dtype))
        keras.utils.set_random_seed(self._seed + self._number)

    def reseed(self, number: int) -> None:
        """Let every reset that follows begin with the random numbers of this number; 0 are the first ones."""
        self._number = number

    def spread(self) -> float:
        """Run an iteration twice from the same start, and return how far the outputs are apart."""
        outputs = []
        for _ in range(2):
            self.reset()
            outputs.append([np.asarray(each, np.float64) for each in tf.nest.flatten(self.run())])
        return relative_error(*outputs)

    def fill(self, options: Any) -> tuple[int, int]:
        """Return the batches and epochs of which an iteration lasts about a quarter of a second, at least one of each.

        A call of ``fit`` has a cost of its own, some hundredths of a second, which is small beside that.
        """
        batches, epochs = self._data.count_batches(1), 1
        self._time_s(batches, epochs, options)  # traces and compiles
        while self._time_s(batches, epochs, options) < LONGEST_S / 2:
            available = self._data.count_batches(2 * batches)
            batches, epochs = (available, epochs) if available > batches else (batches, 2 * epochs)
        return batches, epochs

    def divide(self, items: float, options: Any) -> tuple[int, int]:
        """Return the batches and epochs that have so many items, as :meth:`fill` chose them."""
        wanted = math.ceil(items / self._data.batch_size)
        batches = self._data.count_batches(wanted)
        is_several = batches < wanted or self._data.caches
        return batches, max(1, round(items / self.take(batches, 1, options).items)) if is_several else 1

    def start_share(self) -> float:
        """Return the share of an iteration that goes by before the first batch is there, as a shuffle buffer is filled.

        It is 0 where that takes next to no time, and for a whole epoch, since the user's begins in the same way.
        """
        if not self._taken.is_cut:
            return 0.0
        began_s = min(_duration_s(lambda: next(iter(self._taken.data))) for _ in range(READINGS))
        return began_s / min(self._run_s() for _ in range(READINGS)) if began_s > SHORT_START_S else 0.0

    def close(self) -> None:
        """Drop the data."""
        self._taken = Taken(data=(), steps=0, items=0, epochs=0)
        self._data.close()

    def _time_s(self, batches: int, epochs: int, options: Any) -> float:
        self.take(batches, epochs, options)
        return self._run_s()

    def _run_s(self) -> float:
        with self.iterators.until_the_end():
            return _duration_s(self.run)

    def _facts(self) -> ProgramFacts:
        model = self.model
        return ProgramFacts(
            learns=self.program.learns,
            dtype_policy=model.dtype_policy.name,
            jit_compile=bool(model.compiled and model.jit_compile),
            supports_jit=all(layer.supports_jit for layer in model._flatten_layers()),  # noqa: SLF001  as Keras asks
            runs_eagerly=bool(model.compiled and model.run_eagerly),
            steps_per_execution=model.steps_per_execution,
            **self._data.facts(),
        )


def optimizers_of(model: Any) -> list[Any]:
    """Return the model's optimizers, of which one with its own ``train_step`` may have several."""
    held = [model.optimizer] if model.compiled else []
    for value in vars(model).values():
        held += value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return list({id(each): each for each in held if isinstance(each, keras.optimizers.Optimizer)}.values())


def _keep_in_memory(dataset: Any) -> Any:
    """Return a data set whose batches lie in memory already."""
    kept = dataset.cache()
    for _ in kept:
        pass
    return kept


def _duration_s(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _open_data(program: KerasProgram) -> _Batches | _Arrays | _PythonBatches:
    if isinstance(program.data, tf.data.Dataset):
        return _Batches(program.data)
    return _PythonBatches(program.data) if isinstance(program.data, keras.utils.PyDataset) else _Arrays(program)


class _Batches:
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
        """Return how many of so many batches the data set has, or all that it has if it caches them."""
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

    def take(self, batches: int, epochs: int, options: Any) -> Taken:
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
        return Taken(data=dataset, steps=steps, items=items * epochs, epochs=epochs, is_cut=is_cut)

    def close(self) -> None:
        """Drop the data set, and with it what it caches."""
        self._dataset = None

    def _first(self, batches: int) -> Any:
        return self._dataset if self.caches or 0 <= self._length <= batches else self._dataset.take(batches)

    def _count(self, batches: int) -> tuple[int, int]:
        """Return how many of so many batches there are, and how many items these have."""
        if batches not in self._known:
            sizes = [_items_in(batch) for batch in self._first(batches)]
            self._known[batches] = len(sizes), sum(sizes)
        return self._known[batches]


class _Arrays:
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
        """Return how many of so many batches there are."""
        return min(batches, -(-self._items // self.batch_size))

    def facts(self) -> dict[str, Any]:
        """Return what Keras does with the arrays."""
        return {"data": "arrays", "batch_size": self.batch_size, "most_items": self._items}

    def take(self, batches: int, epochs: int, options: Any) -> Taken:
        """Return the batches that Keras makes of the first items."""
        from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter  # fit's own; not exported

        size = options.batch_size or self.batch_size
        items = min(self._items, max(size, batches * self.batch_size))
        if size > items:
            raise Unavailable(reason("too-few-items", items=items, unit="item", batch=size))
        if size != self.batch_size:
            items = items // size * size
        adapter = ArrayDataAdapter(*self._rows(items), batch_size=size, shuffle=self._shuffle)
        steps = -(-items // size)
        data = _of_length(adapter.get_tf_dataset(), steps)
        return Taken(data=data, steps=steps, items=items * epochs, epochs=epochs)

    def close(self) -> None:
        """Drop the arrays."""
        self._parts = ()

    def _rows(self, items: int) -> Any:
        return tf.nest.map_structure(lambda leaf: leaf if leaf is None else leaf[:items], self._parts)


class _PythonBatches:
    """A ``keras.utils.PyDataset``, whose batches Python makes, in workers of its own if it has some.

    ``Model.fit`` makes a ``tf.data.Dataset`` of it, too. All epochs have the order of the first one.
    """

    caches = False

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._length: int | None = dataset.num_batches
        self._sizes: dict[int, int] = {}  # of the batches that were looked at

    def first(self) -> Any:
        """Return the first batch.

        Raises:
            BadInput: there is none.
        """
        if self._length == 0:
            raise BadInput("the program's PyDataset has no batch; expected at least one")
        return self._dataset[0]

    @cached_property
    def batch_size(self) -> int:
        """The items of the first batch."""
        return _items_in(self.first())

    def count_batches(self, batches: int) -> int:
        """Return how many of so many batches there are."""
        return batches if self._length is None else min(batches, self._length)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the batches."""
        most = None if self._length is None else self._length * self.batch_size
        return {"data": "PyDataset", "batch_size": self.batch_size, "most_items": most}

    def take(self, batches: int, epochs: int, options: Any) -> Taken:  # noqa: ARG002  none of the options applies
        """Return the first batches, as ``Model.fit`` makes them."""
        steps = self.count_batches(batches)
        data = _of_length(_EpochAdapter(_FirstBatches(self._dataset, steps)).get_tf_dataset(), steps)
        items = sum(self._size(number) for number in range(steps)) * epochs
        return Taken(data=data, steps=steps, items=items, epochs=epochs, is_cut=steps != self._length)

    def close(self) -> None:
        """Drop the data."""
        self._dataset = None

    def _size(self, number: int) -> int:
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


def _check(program: Any) -> KerasProgram:
    """Return a program if it can run.

    Raises:
        BadInput: it cannot.
    """
    if not isinstance(program, KerasProgram):
        raise BadInput(f"the function returned a {type(program).__name__}; expected an accelbench.KerasProgram")
    if not isinstance(program.model, keras.Model):
        raise BadInput(f"the program's model is a {type(program.model).__name__}; expected a keras.Model")
    if program.learns and not program.model.compiled:
        raise BadInput("the program's model is not compiled; call model.compile(optimizer, loss), or pass learns=False")
    if unknown := sorted(program.fit.keys() - {*FIT_ARGUMENTS}):
        raise BadInput(
            f"the program's fit has {unknown[0]!r}; expected {join_names(FIT_ARGUMENTS)}; epochs, validation and "
            "printing are not timed, so leave it out"
        )
    if program.batches is not None and program.batches < 1:
        raise BadInput(f"the program has batches={program.batches}; expected a number above 0, or None")
    makes_batches = isinstance(program.data, tf.data.Dataset | keras.utils.PyDataset)
    if makes_batches and program.batch_size is not None:
        raise BadInput("the program's data set yields batches already, so batch_size does not apply to it")
    if isinstance(program.data, tf.data.Dataset):
        if tf.nest.flatten(program.data.element_spec)[0].shape.rank == 0:
            raise BadInput("the program's data set yields single items; expected batches: dataset.batch(size)")
    elif not makes_batches and not all(
        hasattr(leaf, "__len__") and hasattr(leaf, "shape") for leaf in _leaves(program.data)
    ):
        given = type(program.data).__name__
        raise BadInput(
            f"the program's data are of type {given}; expected a tf.data.Dataset of batches, a keras.utils.PyDataset "
            "or arrays; tf.data.Dataset.from_generator makes one of a generator function"
        )
    return program


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


@contextmanager
def _policy(name: str | None) -> Iterator[None]:
    """Let a program be made under a dtype policy, or its own, and put the one before back."""
    before = keras.config.dtype_policy()
    try:
        if name is not None:
            keras.config.set_dtype_policy(name)
        yield
    finally:
        keras.config.set_dtype_policy(before)


@contextmanager
def _repeatable(seed: int) -> Iterator[list[tuple[Any, np.ndarray]]]:
    """Let a program be made from a seed, and yield a list that gets the states of the seed generators made meanwhile.

    Each state is a variable, beside which stands its first value.

    Data sets that shuffle draw an order once and not anew in each pass, since nothing could bring the first one back.
    """
    generators: list[tuple[Any, np.ndarray]] = []
    shuffle, initialize = tf.data.Dataset.shuffle, keras.random.SeedGenerator.__init__

    def shuffle_alike(
        dataset: Any, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = None, name: Any = None
    ) -> Any:
        del reshuffle_each_iteration
        return shuffle(dataset, buffer_size, seed=seed, reshuffle_each_iteration=False, name=name)

    def initialize_and_remember(generator: Any, *args: Any, **kwargs: Any) -> None:
        initialize(generator, *args, **kwargs)
        if tf.executing_eagerly():  # not while a graph is traced, which makes its own
            generators.append((generator.state, np.array(generator.state)))

    keras.utils.set_random_seed(seed)
    tf.data.Dataset.shuffle, keras.random.SeedGenerator.__init__ = shuffle_alike, initialize_and_remember
    try:
        yield generators
    finally:
        tf.data.Dataset.shuffle, keras.random.SeedGenerator.__init__ = shuffle, initialize
