"""A Keras model in training. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from harness.errors import BadInput
from harness.experiment import Arm, Work
from harness.workloads.networks import Network
from harness.workloads.tensorflow import devices
from harness.workloads.tensorflow.models import Problem

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class KerasTrainer:
    """A compiled classifier; the same seed gives the same weights on every device and under every policy.

    ``dtype_policy`` is Keras's: layers compute in 16 bits and keep their weights in 32; float16 scales the loss.
    ``loop`` says how a training step is run. It is the model's own ``train_step`` everywhere, with its gradient tape,
    its optimiser and its running mean of the loss, so that loops differ by nothing but the loop.

    Attributes:
        learnt: weights and biases of the last layer, as they are when they are looked at. The biases begin at zero, so
            they are nothing but what was learnt.
    """

    def __init__(self, problem: Problem, *, seed: int, dtype_policy: str = "float32", loop: str = "function") -> None:
        if dtype_policy not in POLICIES:
            raise BadInput(f"unknown dtype policy {dtype_policy!r}; expected one of: {', '.join(POLICIES)}")
        if loop not in LOOPS:
            raise BadInput(f"unknown loop {loop!r}; expected one of: {', '.join(LOOPS)}")
        with global_policy(dtype_policy):
            keras.utils.set_random_seed(seed)
            self.model = problem.model()
            self.model.compile(problem.optimizer(), LOSS, jit_compile=False)  # Keras would decide by the model
        self.model.optimizer.build(self.model.trainable_variables)
        self._policy = dtype_policy
        self.learnt = tuple(self.model.trainable_variables[-2:])
        self._initial = InitialState([*self.model.variables, *self.model.optimizer.variables])
        self._fits = loop == "fit"
        self._step = LOOPS[loop](lambda inputs, labels: self.model.train_step((inputs, labels))["loss"])

    def train_on(self, inputs: Any, labels: Any) -> Any:
        """Learn from one batch; return the mean loss since the epoch began, from before the weights changed."""
        return self._step(inputs, labels)

    def epoch(self, dataset: Iterable[Any]) -> Any:
        """Learn from every batch of a ``tf.data.Dataset``; return the mean loss."""
        if self._fits:
            return self.model.fit(dataset, shuffle=False, verbose=0).history["loss"][-1]
        self.model.reset_metrics()
        for inputs, labels in dataset:
            loss = self._step(inputs, labels)
        return loss

    def parameters(self) -> list[Any]:
        """Return the weights."""
        return list(self.model.trainable_variables)

    def arm(
        self,
        step: Callable[[], Any],
        network: Network,
        learnt: int,
        place: str,
        *,
        read_bytes: int = 0,
        sent_bytes: int = 0,
        **facts: Any,
    ) -> Arm:
        """Return the arm of a step that learns on a device from so many items, at once or batch by batch.

        ``read_bytes`` are those of the inputs that lie in the device's memory, ``sent_bytes`` of those that come there
        from the host's. ``facts`` are all others of the arm. Its graph is traced on the device as well.
        """
        known: dict[str, Any] = {
            "items": learnt,
            "reset": self.reset,
            "device": devices.label(place),
            "parameters": self.parameters,
            "work": self.work(network, learnt, place, read_bytes=read_bytes, sent_bytes=sent_bytes),
        }
        return Arm(step=step, **known | facts).inside(tf.device, place)

    def work(self, network: Network, learnt: int, place: str, *, read_bytes: int = 0, sent_bytes: int = 0) -> Work:
        """Return the work of learning from so many items."""
        # Read and written, except where the scaled loss of float16 overflows and a step is left out.
        changed = [] if self._policy == "mixed_float16" else [*self.parameters(), *self.model.optimizer.variables]
        return network.learning(
            learnt,
            precision="fp32" if self._policy == "float32" else "",
            memory_bytes=read_bytes + 2 * sum(4 * int(np.prod(variable.shape)) for variable in changed),
            to_device_bytes=sent_bytes if place.startswith("GPU") else 0,
        )

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
    """What variables held at first.

    It is kept on the host, where a GPU's allocator, by whose peak an arm's memory is judged, does not see it.
    Building a large model anew takes seconds.
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
def global_policy(name: str) -> Iterator[None]:
    """Let layers be built under a dtype policy, and put the one before back."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
