"""A user's Keras program without one of its burdens. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf

from accelbench.core import Arm, KerasProgram, Setting
from accelbench.errors import Unavailable
from accelbench.schema.reasons import describe_error
from accelbench.workloads.tensorflow.model_fit import optimizers_of
from accelbench.workloads.tensorflow.user_program import FitOptions, train_program

CHANGES_OUTPUT = frozenset({"update", "backward"})


def build_without(
    build: Callable[[], KerasProgram], setting: Setting, options: FitOptions, *, taken_off: str = "none"
) -> Arm:
    """Return the arm of a program without the burdens that ``taken_off`` joins by ``+``, such as ``backward+update``.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
    """
    burdens = frozenset(taken_off.split("+")) - {"none"}
    if "input" in burdens:
        options = replace(options, ablation="decoded")
    arm = train_program(KerasAblationBuilder(build, burdens), setting, options)
    if not burdens & CHANGES_OUTPUT:
        return arm
    if "backward" in burdens:
        arm = arm.inside(_skip_gradients)
    return replace(arm, ignore_output=True, step=_CheckedStep(arm, is_without_gradients="backward" in burdens))


@dataclass(frozen=True)
class KerasAblationBuilder:
    """A function that builds a program whose optimizers update nothing, if that or the backward pass is taken off.

    Builders of one program are equal, whatever they take off: the arms of a trial share what they store.
    """

    build: Callable[[], KerasProgram]
    burdens: frozenset[str] = field(compare=False)

    def __call__(self) -> KerasProgram:
        """Build the program and change it."""
        program = self.build()
        if self.burdens & CHANGES_OUTPUT and isinstance(program, KerasProgram) and program.learns:
            for optimizer in optimizers_of(program.model):
                optimizer.apply = _UpdateOfNothing(optimizer)
        return program


class _CheckedStep:
    """A step of a program without its update that shows, when it is called first, that it does without."""

    def __init__(self, arm: Arm, *, is_without_gradients: bool) -> None:
        self._step, self._parameters = arm.step, arm.parameters
        self._is_without_gradients, self._is_checked = is_without_gradients, False

    def __call__(self) -> Any:
        """Run the step.

        Raises:
            Unavailable: it changes weights all the same, or does not run without gradients.
        """
        if self._is_checked:
            return self._step()
        before = self._read_weights()
        try:
            output = self._step()
        except Exception as error:
            if not self._is_without_gradients:
                raise
            raise Unavailable(
                "the backward pass cannot be taken off, since the model's train_step computes with its gradients: "
                f"{describe_error(error)}"
            ) from error
        if self._read_weights() != before:
            raise Unavailable(
                "the update cannot be taken off, since the model's train_step changes weights by other means than the "
                "optimizers that the model has"
            )
        self._is_checked = True
        return output

    def _read_weights(self) -> list[bytes]:
        return [np.asarray(each).tobytes() for each in self._parameters()]


class _UpdateOfNothing:
    """In place of an optimizer's ``apply``: it counts the step, and keeps a number of each gradient.

    A graph leaves out what nothing uses, and so it would leave out the backward pass.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._kept = tf.Variable(0.0, trainable=False)

    def __call__(self, gradients: Any, trainable_variables: Any = None) -> None:
        del trainable_variables
        made = [getattr(each, "values", each) for each in gradients if each is not None]
        numbers = [tf.cast(tf.reshape(each, [-1])[0], tf.float32) for each in made]
        self._kept.assign(tf.add_n(numbers) if numbers else 0.0)
        self._optimizer.iterations.assign_add(1)


@contextmanager
def _skip_gradients() -> Iterator[None]:
    """Let tapes return no gradients while a step is traced, or runs eagerly."""
    gradient = tf.GradientTape.gradient

    def skip(_: Any, target: Any, sources: Any, *arguments: Any, **named: Any) -> Any:
        del target, arguments, named
        return tf.nest.map_structure(lambda _: None, sources)

    tf.GradientTape.gradient = skip
    try:
        yield
    finally:
        tf.GradientTape.gradient = gradient
