"""A Keras model in training, and the batches from which it learns. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from accelbench.core import Work
from accelbench.core.arm import nothing
from accelbench.errors import check_choice
from accelbench.workloads.data.rotation import Rotation
from accelbench.workloads.networks import Network
from accelbench.workloads.tensorflow.iterators import HeldIterators
from accelbench.workloads.tensorflow.models import KerasProblem

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class KerasTrainer:
    """A compiled classifier; the same seed gives the same weights on every device and under every policy.

    ``dtype_policy`` is Keras's: layers compute in 16 bits and keep their weights in 32; float16 scales the loss.
    ``learning_rate_factor`` is that by which the problem's learning rate is multiplied.
    ``loop`` says how a training step is run. It is the model's own ``train_step`` everywhere, with its gradient tape,
    its optimiser and its running mean of the loss, so loops differ in nothing else.

    Attributes:
        learnt: the current weights and biases of the last layer. The biases begin at zero, so they hold only what was
            learnt.
    """

    def __init__(
        self,
        problem: KerasProblem,
        *,
        seed: int,
        dtype_policy: str = "float32",
        learning_rate_factor: float = 1.0,
        loop: str = "function",
    ) -> None:
        check_choice(dtype_policy, POLICIES, "dtype policy")
        check_choice(loop, LOOPS, "loop")
        with global_policy(dtype_policy):
            keras.utils.set_random_seed(seed)
            self.model = problem.model()
            optimizer = problem.optimizer()
            if learning_rate_factor != 1:
                optimizer.learning_rate = float(optimizer.learning_rate) * learning_rate_factor
            self.model.compile(optimizer, LOSS, jit_compile=False)  # Keras would decide by the model
        self.model.optimizer.build(self.model.trainable_variables)
        self._policy = dtype_policy
        self.learnt = tuple(self.model.trainable_variables[-2:])
        self._initial = InitialState([*self.model.variables, *self.model.optimizer.variables])
        self._step = LOOPS[loop](lambda inputs, labels: self.model.train_step((inputs, labels))["loss"])

    def train_on(self, inputs: Any, labels: Any) -> Any:
        """Learn from one batch; return the mean loss since the epoch began, from before the weights changed."""
        return self._step(inputs, labels)

    def fit(self, dataset: Any) -> Any:
        """Learn from every batch of a ``tf.data.Dataset`` by Keras's own loop; return the mean loss."""
        return self.model.fit(dataset, shuffle=False, verbose=0).history["loss"][-1]

    def parameters(self) -> list[Any]:
        """Return the weights."""
        return list(self.model.trainable_variables)

    def work(self, network: Network, learnt: int, *, read_bytes: int = 0, sent_bytes: int = 0) -> Work:
        """Return the work of learning from ``learnt`` items."""
        # Read and written, except where the scaled loss of float16 overflows and a step is left out.
        changed = [] if self._policy == "mixed_float16" else [*self.parameters(), *self.model.optimizer.variables]
        return network.learning(
            learnt,
            precision="fp32" if self._policy == "float32" else "",
            memory_bytes=read_bytes + 2 * sum(4 * int(np.prod(variable.shape)) for variable in changed),
            to_device_bytes=sent_bytes,
        )

    def wait(self) -> None:
        """Read what was learnt, for which the device must have finished everything that was launched before."""
        for variable in self.learnt:
            variable.numpy()

    def reset(self) -> None:
        """Return to the initial weights and optimiser."""
        self.model.reset_metrics()
        self._initial.restore()


def _with_xla(step: Callable[..., Any]) -> Any:
    return tf.function(step, jit_compile=True)


def _as_it_is(step: Callable[..., Any]) -> Any:
    return step


# What runs a training step: Python, a traced graph, a graph compiled by XLA. For whole epochs also Model.fit, which
# traces the step itself.
LOOPS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "eager": _as_it_is,
    "function": tf.function,
    "xla": _with_xla,
    "fit": tf.function,
}


class InitialState:
    """The first values of variables, kept on the host.

    A GPU's allocator does not see them there; its peak is what judges an arm's memory. Building a large model anew
    would take seconds.
    """

    def __init__(self, variables: Iterable[Any]) -> None:
        values = ((variable, np.array(variable)) for variable in variables)
        # Zeros, as in an optimiser's momenta, need not be kept.
        self._values = [(variable, value if value.any() else None) for variable, value in values]

    def restore(self) -> None:
        """Give the variables their first values again."""
        for variable, value in self._values:
            variable.assign(np.zeros(variable.shape) if value is None else value)


@contextmanager
def global_policy(name: str | None) -> Iterator[None]:
    """Let layers be built under a dtype policy, None for that of the process, and put the one before back."""
    before = keras.config.dtype_policy()
    try:
        if name is not None:
            keras.config.set_dtype_policy(name)
        yield
    finally:
        keras.config.set_dtype_policy(before)


class KerasBatches:
    """Batches in memory, of which a step takes the next ``per_step``; after the last comes the first.

    They lie on the device where TensorFlow made them, and in the host's memory where NumPy did.
    """

    dataset = None
    close = staticmethod(nothing)

    def __init__(self, batches: Sequence[Any], *, per_step: int = 1) -> None:
        self._rotation = Rotation(batches)
        self.count = per_step
        self.items = sum(len(labels) for _, labels in islice(cycle(batches), per_step))
        self.restart, self.inputs, self.feed = self._rotation.restart, self._rotation.inputs, self._rotation.feed

    def __iter__(self) -> Iterator[Any]:
        return (self._rotation.take() for _ in range(self.count))


class DatasetEpochs:
    """Epochs of ``count`` batches over a ``tf.data.Dataset`` of arrays in the host's memory, which Model.fit needs."""

    def __init__(self, batches: Sequence[Any], *, count: int, iterators: HeldIterators) -> None:
        self.count = count
        self.items = count * len(batches[0][1])
        self._iterators = iterators
        self.feed(batches[:count])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.dataset)

    def inputs(self) -> Sequence[Any]:
        """Return all batches."""
        return self._batches

    def feed(self, batches: Sequence[Any]) -> None:
        """Take these batches instead."""
        self._batches = batches
        with tf.device("CPU:0"):
            batched = tf.data.Dataset.from_tensor_slices(tuple(map(np.stack, zip(*batches, strict=True))))
            self.dataset = self._iterators.over(batched.repeat().take(self.count))

    restart = close = staticmethod(nothing)  # every epoch begins with the first batch


def draw_batches(problem: KerasProblem, size: int, count: int, seed: int) -> list[Any]:
    """Return ``count`` random batches in the host's memory."""
    rng = np.random.default_rng(seed)
    return [problem.batch(size, rng) for _ in range(count)]
