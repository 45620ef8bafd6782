"""A user's array program without its Python: its operations are recorded once, and then done again one after the other.

What is left takes the time of NumPy alone. What is gone is the program's own loops, calls, conditions and numbers: all
that Python does between two operations. Numbers that were taken out of arrays are those of the recording.
"""

from __future__ import annotations

import operator
import timeit
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from accelbench.core import Arm, ArrayProgram, Setting
from accelbench.errors import Unavailable
from accelbench.explain.array_profile import record_pass
from accelbench.explain.profiler_passes import may_take
from accelbench.explain.recording_array import RecordingArray, RecordingNamespace, call_plain, owner_of, strip
from accelbench.frameworks.tree import sequence_with, tree_leaves
from accelbench.workloads.arrays.user_program import build_array_program, copy_arrays

MOST_OPERATIONS = 100_000  # more take long to compile
NOTABLE = 0.1  # share of a step's time
TIMINGS = 3
MADE_UNSEEN = (
    "the step makes arrays by other means than its xp, as with numpy.random or numpy.linspace: what that takes cannot "
    "be told from Python"
)
COMPUTES_UNSEEN = (
    "the step spends time in functions that no array records, more than its lines of Python can take: that time cannot "
    "be told from Python"
)
# How a program writes operations that are faster so than as calls of functions.
SYNTAX: dict[Any, str] = {
    operator.getitem: "{}[{}]",
    operator.setitem: "{}[{}] = {}",
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.matmul: "{} @ {}",
    np.negative: "-{}",
}


def build_without(
    build: Callable[[], ArrayProgram], setting: Setting, *, array_library: str, dtype: str, taken_off: str
) -> Arm:
    """Return the arm of a program as it stands, or without its Python if ``taken_off`` is ``"interpreter"``.

    Raises:
        BadInput: the function returned something other than an array program, or one that cannot run.
        Unavailable: the program is in float32 already, or its operations cannot be done again.
    """
    is_replayed = taken_off == "interpreter"
    arm = build_array_program(
        ReplayBuilder(build) if is_replayed else build, setting, array_library=array_library, dtype=dtype
    )
    return replace(arm, ignore_output=arm.ignore_output or is_replayed)  # a replay compares its output itself


@dataclass(frozen=True)
class ReplayBuilder:
    """A function that builds a program whose step does the operations of the program's first step again."""

    build: Callable[[], ArrayProgram]

    def __call__(self) -> ArrayProgram:
        """Build the program and replace its step."""
        program = self.build()
        if not isinstance(program, ArrayProgram):
            return program
        return replace(program, step=ReplayedStep(program.step))


class ReplayedStep:
    """A step of an array program that records its operations when it is called first, and then does them again."""

    def __init__(self, step: Callable[..., Any]) -> None:
        self._step = step
        self._replay: Callable[..., Any] | None = None

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        """Do the operations with arrays of the same shapes and types as the first ones.

        Raises:
            Unavailable: the operations cannot be done again, or give another result.
        """
        if self._replay is None:
            self._replay = record_operations(self._step, xp, arrays)
        return self._replay(*arrays)


def record_operations(step: Callable[..., Any], xp: Any, arrays: Sequence[Any]) -> Callable[..., Any]:
    """Return a function of the arrays that does the operations of a step, without the Python between them.

    Raises:
        Unavailable: the operations cannot be done again, or give another result.
    """
    tape = OperationTape()
    output = step(RecordingNamespace(xp, tape), *(tape.name_argument(each) for each in copy_arrays(arrays)))
    replay = tape.compile(output)
    if record_pass(step, xp, arrays).plain.were_made:
        raise Unavailable(MADE_UNSEEN)
    expected, found = (tree_leaves(each) for each in (strip(output), replay(*copy_arrays(arrays))))
    if not all(
        np.array_equal(one, other, equal_nan=_may_have_nan(one)) for one, other in zip(expected, found, strict=True)
    ):
        raise Unavailable("the program's operations, done again, give another result")
    whole = partial(step, xp)
    whole_s = _time(whole, arrays)
    left_out_s = whole_s - _time(replay, arrays)
    if left_out_s > NOTABLE * whole_s and not may_take(left_out_s, partial(whole, *copy_arrays(arrays))):
        raise Unavailable(COMPUTES_UNSEEN)
    return replay


def _time(run: Callable[..., Any], arrays: Sequence[Any]) -> float:
    """Return the seconds of a call with copies of the arrays, at best."""
    return min(timeit.repeat(lambda: run(*copy_arrays(arrays)), number=1, repeat=TIMINGS))


def _may_have_nan(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fc"


@dataclass(frozen=True, kw_only=True)
class _Operation:
    """A line of the replay: an expression, the names that it uses, and those that its results get."""

    expression: str
    uses: frozenset[str]
    results: tuple[str, ...] = ()
    is_sequence: bool = False


@dataclass
class OperationTape:
    """Records operations in the order in which they are done, as lines of Python."""

    _operations: list[_Operation] = field(default_factory=list)
    _constants: dict[str, Any] = field(default_factory=dict)
    _arguments: list[str] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)
    _owners: dict[int, weakref.ref[np.ndarray]] = field(default_factory=dict)  # of the memory of arrays that record

    def name_argument(self, value: Any) -> Any:
        """Return an argument of the replay: an array that records what is done with it, or a number."""
        name = f"a{next(self._numbers)}"
        self._arguments.append(name)
        return self._name(value, name)

    def call(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Any:
        """Call a function that computes, and record it."""
        del name
        return self._record(function, arguments, named, call_plain(function, arguments, named))

    def view(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call a function that returns a view, and record it; a number that is taken out of an array is Python's."""
        result = call_plain(function, arguments, named)
        return self._record(function, arguments, named, result) if isinstance(result, np.ndarray) else result

    def assign(self, array: Any, place: Any, value: Any) -> None:
        """Assign to a part of an array, and record it."""
        self.call("assignment", operator.setitem, (array, place, value), {})

    def compile(self, output: Any) -> Callable[..., Any]:
        """Return a function of the arguments that does the operations and returns the output.

        An array is dropped after its last use, as a program drops what it names no longer.
        """
        uses: set[str] = set()
        returned = self._write(output, uses)
        last = {name: place for place, each in enumerate(self._operations) for name in (*each.results, *each.uses)}
        dropped: dict[int, list[str]] = {}
        for name, place in last.items():
            if name not in uses and name not in self._arguments:
                dropped.setdefault(place, []).append(name)
        lines = [f"def replay({', '.join(self._arguments)}):"]
        for place, each in enumerate(self._operations):
            target = f"{', '.join(each.results)}{',' if each.is_sequence else ''} = " if each.results else ""
            lines.append(f" {target}{each.expression}")
            if place in dropped:
                lines.append(f" del {', '.join(dropped[place])}")
        source = "\n".join([*lines, f" return {returned}"])
        exec(compile(source, "<operations of a program>", "exec"), self._constants)
        replay: Callable[..., Any] = self._constants["replay"]
        return replay

    def _record(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any], result: Any
    ) -> Any:
        """Add a line for a call, and return its result, whose arrays record what is done with them."""
        if len(self._operations) == MOST_OPERATIONS:
            raise Unavailable(f"the program has more than {MOST_OPERATIONS:,} array operations")
        uses: set[str] = set()
        written = [self._write(each, uses) for each in arguments]
        written += [f"{name}={self._write(each, uses)}" for name, each in named.items()]
        if function in SYNTAX and not named:
            expression = SYNTAX[function].format(*written)
        else:
            expression = f"{self._name_constant(function)}({', '.join(written)})"
        is_sequence = isinstance(result, tuple | list)
        parts = [*result] if is_sequence else [result]
        if not any(isinstance(each, np.ndarray) for each in parts):
            self._operations.append(_Operation(expression=expression, uses=frozenset(uses)))
            return result
        names = tuple(f"v{next(self._numbers)}" for _ in parts)
        self._operations.append(
            _Operation(expression=expression, uses=frozenset(uses), results=names, is_sequence=is_sequence)
        )
        recorded = [self._name(*each) for each in zip(parts, names, strict=True)]
        return sequence_with(result, recorded) if is_sequence else recorded[0]

    def _name(self, value: Any, name: str) -> Any:
        recording = RecordingArray.of(value, self)
        if isinstance(recording, RecordingArray):
            recording.name = name
            owner = owner_of(recording)
            self._owners[id(owner)] = weakref.ref(owner)
        return recording

    def _is_recorded(self, array: np.ndarray) -> bool:
        owner = owner_of(array)
        known = self._owners.get(id(owner))
        return known is not None and known() is owner

    def _name_constant(self, value: Any) -> str:
        name = f"c{next(self._numbers)}"
        self._constants[name] = value
        return name

    def _write(self, value: Any, uses: set[str]) -> str:
        """Return a value as an expression, and add the names in it to those that are used."""
        if isinstance(value, RecordingArray):
            if not value.name:
                raise Unavailable("the program looks at an array in a way that cannot be recorded")
            uses.add(value.name)
            return value.name
        if isinstance(value, np.ndarray) and self._is_recorded(value):
            raise Unavailable("the program takes an array out of the recording, as numpy.asarray does")
        if type(value) in {tuple, list} and any(isinstance(each, np.ndarray) for each in tree_leaves(value)):
            parts = "".join(f"{self._write(each, uses)}, " for each in value)
            return f"({parts})" if isinstance(value, tuple) else f"[{parts}]"
        return self._name_constant(value)
