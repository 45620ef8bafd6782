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
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from accelbench.core import KerasProgram
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.text import join_names, name_type
from accelbench.workloads.tensorflow.fit_data import IterationData, keep_in_memory, open_data
from accelbench.workloads.tensorflow.iterators import HeldIterators
from accelbench.workloads.tensorflow.training_step import InitialState, global_policy
from accelbench.workloads.training import require_new_model

# That an iteration lasts, if it has more than one batch. On two cores all steps of a call of `fit` may take twice as
# long as those of the next one, since threads that wait keep a core. Many short calls average over that, few long ones
# do not.
LONGEST_S = 0.25
SHORT_START_S = 0.1  # until a first batch is there: making an iterator takes some hundredths of a second
READINGS = 3
FIT_ARGUMENTS = ("callbacks", "class_weight", "shuffle")


@dataclass(frozen=True, kw_only=True)
class KerasProgramFacts:
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

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers that the program has for options by itself, as far as they are known."""
        known = {"steps_per_execution": self.steps_per_execution}
        return known if self.batch_size is None else known | {"batch_size": self.batch_size}


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
        with global_policy(dtype_policy), _repeatable(seed) as generators:
            program: Any = build()
            self.program = _check(program)
            require_new_model(self.model)
            self._data = open_data(program)
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

    def take(self, batches: int, epochs: int, options: Any) -> IterationData:
        """Make the data of an iteration: the first batches of the program's, in batches of another size if one is set.

        Raises:
            Unavailable: there are too few items for a batch of that size.
        """
        taken = self._data.take(batches, epochs, options)
        data = keep_in_memory(taken.data) if options.ablation == "decoded" else taken.data
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
        self._taken = IterationData(data=(), steps=0, items=0, epochs=0)
        self._data.close()

    def _time_s(self, batches: int, epochs: int, options: Any) -> float:
        self.take(batches, epochs, options)
        return self._run_s()

    def _run_s(self) -> float:
        with self.iterators.until_the_end():
            return _duration_s(self.run)

    def _facts(self) -> KerasProgramFacts:
        model = self.model
        return KerasProgramFacts(
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


def _duration_s(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _check(program: Any) -> KerasProgram:
    """Return a program if it can run.

    Raises:
        BadInput: it cannot.
    """
    if not isinstance(program, KerasProgram):
        raise BadInput(f"the function returned {name_type(program)}; expected an accelbench.KerasProgram")
    if not isinstance(program.model, keras.Model):
        raise BadInput(f"the program's model is {name_type(program.model)}; expected a keras.Model")
    if program.learns and not program.model.compiled:
        raise BadInput("the program's model is not compiled; call model.compile(optimizer, loss), or pass learns=False")
    if unknown := sorted(program.fit.keys() - {*FIT_ARGUMENTS}):
        raise BadInput(
            f"the program's fit has {unknown[0]!r}; expected {join_names(FIT_ARGUMENTS)}; epochs, validation and "
            "printing are not timed, so leave it out"
        )
    if program.batches is not None and program.batches < 1:
        raise BadInput(f"the program has batches={program.batches}; expected a number above 0, or None")
    return program


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
