"""A user's Keras program without one of its burdens. Needs TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from accelbench.core import Arm, KerasProgram, Setting
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
    arm = train_program(AblationBuilder(build, burdens), setting, options)
    if "backward" in burdens:
        arm = arm.inside(_skip_gradients)
    return replace(arm, ignore_output=arm.ignore_output or bool(burdens & CHANGES_OUTPUT))


@dataclass(frozen=True)
class AblationBuilder:
    """A function that builds a program whose optimizer updates nothing, if that or the backward pass is taken off.

    Builders of one program are equal, whatever they take off: the arms of a trial share what they store.
    """

    build: Callable[[], KerasProgram]
    burdens: frozenset[str] = field(compare=False)

    def __call__(self) -> KerasProgram:
        """Build the program and change it."""
        program = self.build()
        if self.burdens & CHANGES_OUTPUT and isinstance(program, KerasProgram) and program.learns:
            program.model.optimizer.apply = _UpdateOfNothing(program.model.optimizer)
        return program


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
