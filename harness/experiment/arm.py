"""An arm: one workload with its techniques at given levels, the thing a stopwatch can be held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.errors import BadInput
from harness.experiment.work import Work

if TYPE_CHECKING:  # every pytest session imports this module, and most measure nothing
    import numpy as np


def nothing() -> None:
    """Do nothing: the reset and the close of an arm that keeps no state."""


def holding_nothing() -> tuple[()]:
    """Return no arrays: an arm that does not show what it reads."""
    return ()


def no_objection(_: Sequence[np.ndarray]) -> str | None:
    """Find nothing wrong: the verification of an arm whose answer is checked against the baseline's alone."""
    return None


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What is timed, and how to check and dispose of it.

    ``step`` runs one iteration, a whole drained epoch where the workload is a pipeline, and returns the
    output that is checked: an array, a tensor, a number, or a tuple or mapping of these; a ``Look`` where its
    product lies in a file. It must not synchronise; the referee does. ``items`` counts what one iteration processes.

    ``reset`` brings the arm back to the state in which it was built, so that ``checked_steps`` steps
    after it give the same output in every arm of a trial. ``verify`` is given that output as host arrays in
    float64, and returns a sentence where the answer is wrong in itself, whatever the other arms computed.

    ``contexts`` hold the global state that a technique sets; they are entered around every block,
    outside the clock. ``observe`` measures facts other than time, in a pass of its own. An arm that is ``watched``
    runs once more, alone, to see how busy it keeps CPU and GPU and what memory all its processes hold.

    By what follows an arm proves that it does its work, and where. ``device`` is the label of the device on which the
    work is to run. ``inputs`` and ``parameters`` return the arrays that the step reads and those of the model, nested
    as they like, as they lie on their device. The inputs are changed between two steps to see that the output depends
    on every one of their items, which lie along the first axis: in place, or by ``feed`` where the step reads other
    arrays than those that are shown, which takes the changed ones in the same nesting. ``work`` is what one iteration
    must at least do.
    """

    step: Callable[[], Any]
    items: float = 1
    reset: Callable[[], None] = nothing
    checked_steps: int = 1
    verify: Callable[[Sequence[np.ndarray]], str | None] = no_objection
    contexts: tuple[Callable[[], AbstractContextManager[Any]], ...] = ()
    observe: Callable[[], Mapping[str, float]] | None = None
    watched: bool = False
    device: str | None = None
    inputs: Callable[[], Any] = holding_nothing
    parameters: Callable[[], Any] = holding_nothing
    feed: Callable[[Any], None] | None = None
    work: Work | None = None
    close: Callable[[], None] = nothing

    @classmethod
    def prepared(cls, name: str, prepare: Callable[[], Any], items: float) -> Arm:
        """Return an arm whose step is what ``prepare()``, called ``name``, returns.

        Raises:
            BadInput: it returned something else than a callable.
        """
        step = prepare()
        if not callable(step):
            given = type(step).__name__
            raise BadInput(f"arm {name!r} returned a {given}; with rebuild, expected a function without arguments")
        return cls(step=step, items=items)

    def inside(self, context: Callable[..., AbstractContextManager[Any]], *args: Any) -> Arm:
        """Return this arm with every block run inside ``context(*args)``."""
        return replace(self, contexts=(*self.contexts, lambda: context(*args)))

    @classmethod
    def built_inside(
        cls, build: Callable[..., Arm], context: Callable[..., AbstractContextManager[Any]], *args: Any
    ) -> Arm:
        """Return an arm that is built inside ``context(*args)``, where a graph may be recorded, and run inside it."""
        with context(*args):
            arm = build()
        return arm.inside(context, *args)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Hold the arm's global state for the duration of a block, and put it back."""
        with ExitStack() as stack:
            for context in self.contexts:
                stack.enter_context(context())
            yield
