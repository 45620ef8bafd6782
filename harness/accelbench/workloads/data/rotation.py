"""Inputs that vary from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Generic, TypeVar

T = TypeVar("T")

VARIANTS = 4  # few enough to fit beside large models, enough that no step sees its last input again


class Rotation(Generic[T]):
    """Inputs in turn; after ``restart`` the first comes again."""

    def __init__(self, inputs: Sequence[T]) -> None:
        self.feed(inputs)

    def feed(self, inputs: Sequence[T]) -> None:
        """Take these inputs instead, and begin with the first one."""
        self._inputs = inputs
        self.restart()

    def inputs(self) -> Sequence[T]:
        """Return all inputs."""
        return self._inputs

    def restart(self) -> None:
        """Begin with the first input again."""
        self._turn = cycle(self._inputs)

    def take(self) -> T:
        """Return the next input."""
        return next(self._turn)
