"""An arm: one workload with its techniques at given levels, the unit that is timed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from accelbench.errors import BadInput
from accelbench.schema.reasons import Reason, reason
from accelbench.text import name_type

if TYPE_CHECKING:  # every pytest session imports this module, and most measure nothing
    import numpy as np

_FUNCTIONS = ("step", "reset", "verify", "inputs", "parameters", "close")
_OPTIONAL_FUNCTIONS = ("observe", "feed", "reseed")


def nothing() -> None:
    """Do nothing: the reset and the close of an arm without state."""


def no_arrays() -> tuple[()]:
    """Return no arrays: the inputs and parameters of an arm that does not show them."""
    return ()


def no_objection(_: Sequence[np.ndarray]) -> None:
    """Find nothing: the verification of an arm whose answer is compared only with the baseline's."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """The least that one iteration must do, whatever the technique; 0 if nothing is known.

    ``operations`` are floating-point additions and multiplications of the textbook's algorithm. A known algorithm may
    need ``saving`` times fewer, as Winograd's does for a 3×3 convolution, at most 4 (Lavin and Gray 2015, arXiv
    1509.09308). ``memory_bytes`` pass between the processor and its memory: every input is read once, every output
    written once. ``to_device_bytes`` and ``from_device_bytes`` pass between host and accelerator, ``disk_bytes``
    between memory and a disk.

    ``precision`` is that of the operations, such as ``"fp32"`` or ``"bf16"``; if it is empty, they are compared with
    the peak of the fastest precision.
    """

    operations: float = 0
    saving: float = 1
    memory_bytes: float = 0
    to_device_bytes: float = 0
    from_device_bytes: float = 0
    disk_bytes: float = 0
    precision: str = ""


class DeferredOutput(Mapping[str, Any]):
    """An output that is read only when it is checked.

    A step whose product is not an array, such as a file, returns this instead of reading its product while it is timed.
    ``read`` must not compute: an output that depends on what the inputs are when it is read is refused, and one that
    takes much longer to read than the step takes is flagged.
    """

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read = read

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        return self._read()

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What is timed, and how to check and dispose of it.

    ``step`` runs one iteration, or a whole drained epoch if the workload is a pipeline. It returns the output that is
    checked: an array, a tensor, a number, a text or a date, or a tuple, mapping or dataclass of these; a
    :class:`DeferredOutput` if the product lies in a file. It must not synchronise, since the referee does. ``items`` is
    how many items one iteration processes, the same number in arms that must compute the same.

    ``reset`` brings the arm back to the state in which it was built, so that ``checked_steps`` steps after it give the
    same output in every arm of a trial. ``verify`` receives that output as host arrays, numbers in float64, those of a
    dictionary in the order of its keys. It returns a reason, or a sentence, if the answer is wrong in itself, whatever
    the other arms computed, and None if it is right. With ``ignore_output``, the output is not checked.

    ``compare_by`` is for outputs that may differ and mean the same, such as the indices of a sort in which equal values
    come in any order. It receives the output as ``verify`` does and returns what is compared and verified instead: the
    values at these indices, or a sorted copy where the order means nothing. It runs outside the timing, and must use
    the output.

    ``contexts`` hold the global state that a technique sets; they are entered around every block, outside the timed
    region. ``observe`` measures facts other than time, in a pass of its own, and returns at most 256 finite numbers by
    name. An arm that is ``watched`` runs once more, alone, to measure how busy it keeps CPU and GPU, and the memory
    that all its processes hold. ``close`` disposes of the arm.

    ``reseed`` is for an arm whose output depends on random numbers that a technique may draw in another way, as
    dropout's are. It receives a number, and every reset that follows begins with the seed of that number; 0 is the
    arm's own. If such an arm's output is too far from the baseline's, it may differ from it as far as seeds make it
    differ from itself. ``remarks`` say what a reader of the trial must know of the arm. ``recipes`` are what a user
    writes for techniques here, where the techniques themselves say something else: code by technique and level, as in
    :class:`Program`. ``own_numbers`` are those that a user's program has for options by itself, such as its batch size.

    The other fields let the suite check that the arm does its work, and where. ``device`` is the label of the device on
    which the work is to run. ``inputs`` and ``parameters`` return the arrays that the step reads and those of the
    model, in any nesting, as they lie on their device. The inputs are changed between two steps, to see whether the
    output depends on each of their items, which lie along the first axis. They are changed in place, or passed in the
    same nesting to ``feed`` if the step reads other arrays than ``inputs`` returns. ``work`` is the least that one
    iteration must do; an arm that states none is held against that of an arm which must compute the same.
    """

    step: Callable[[], Any]
    items: float = 1
    reset: Callable[[], None] = nothing
    checked_steps: int = 1
    verify: Callable[[Sequence[np.ndarray]], Reason | str | None] = no_objection
    compare_by: Callable[[Sequence[np.ndarray]], Any] | None = None
    contexts: tuple[Callable[[], AbstractContextManager[Any]], ...] = ()
    observe: Callable[[], Mapping[str, float]] | None = None
    watched: bool = False
    ignore_output: bool = False
    device: str | None = None
    inputs: Callable[[], Any] = no_arrays
    parameters: Callable[[], Any] = no_arrays
    feed: Callable[[Any], None] | None = None
    reseed: Callable[[int], None] | None = None
    remarks: tuple[Reason, ...] = ()
    recipes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    own_numbers: Mapping[str, int] = field(default_factory=dict)
    work: Work | None = None
    close: Callable[[], None] = nothing

    def __post_init__(self) -> None:
        """Check that whatever is going to be called is callable.

        Raises:
            BadInput: it is not.
        """
        given = [(name, getattr(self, name)) for name in _FUNCTIONS]
        given += [(name, value) for name in _OPTIONAL_FUNCTIONS if (value := getattr(self, name)) is not None]
        for name, value in given:
            if not callable(value):
                raise BadInput(reason("not-callable", field=name, given=_describe_kind(value)))
        contexts: Any = self.contexts
        for each in contexts if isinstance(contexts, tuple | list) else [()]:
            if not _makes_context(each):
                raise BadInput(reason("no-contexts", given=_describe_kind(each or contexts)))

    @classmethod
    def prepared(cls, name: str, prepare: Callable[[], Any], items: float) -> Arm:
        """Return an arm whose step is what ``prepare()``, called ``name``, returns.

        Raises:
            BadInput: it returned something else than a callable.
        """
        step = prepare()
        if not callable(step):
            given = name_type(step)
            raise BadInput(f"arm {name!r} returned {given}; with rebuild, expected a function without arguments")
        return cls(step=step, items=items)

    def inside(self, context: Callable[..., AbstractContextManager[Any]], *args: Any) -> Arm:
        """Return this arm with every block run inside ``context(*args)``."""
        return replace(self, contexts=(*self.contexts, lambda: context(*args)))

    @classmethod
    def built_inside(
        cls, build: Callable[..., Arm], context: Callable[..., AbstractContextManager[Any]], *args: Any
    ) -> Arm:
        """Return an arm that is built and run inside ``context(*args)``; building it may record a graph."""
        with context(*args):
            arm = build()
        return arm.inside(context, *args)

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Set the arm's global state for the duration of a block, and restore it.

        What the block raises is raised again, even if a context would swallow it.
        """
        raised: BaseException | None = None
        with ExitStack() as stack:
            for context in self.contexts:
                stack.enter_context(context())
            try:
                yield
            except BaseException as error:
                raised = error
                raise
        if raised is not None:
            raise raised


def require_arm(made: Any, maker: str, remedy: str) -> Arm:
    """Return what a builder or a technique, called ``maker`` in the message, has made, if it is an arm.

    Raises:
        BadInput: it is something else, such as the None of a function without ``return``.
    """
    if isinstance(made, Arm):
        return made
    if isinstance(made, Coroutine):
        made.close()  # or Python would warn that nobody awaited it
    raise BadInput(reason("no-arm", maker=maker, made=_describe_kind(made), remedy=remedy))


def _makes_context(given: Any) -> bool:
    """Return whether this may be called for each block, as a context manager cannot that was made already."""
    return callable(given) and (isinstance(given, type) or not hasattr(given, "__enter__"))


def _describe_kind(value: Any) -> str:
    """Return what a value is, in words: ``None``, ``the class Arm`` or ``an object of type Tensor``."""
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"
