"""An array program of a user's own as a workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from math import isfinite
from numbers import Number
from typing import Any

import numpy as np

from accelbench.core import Arm, ArrayProgram, Setting, Workload
from accelbench.core.arm import nothing
from accelbench.core.verification import relative_error
from accelbench.core.workload import workload_of_program
from accelbench.errors import BadInput, Unavailable, check_choice, check_positive
from accelbench.frameworks.tree import tree_leaves, tree_map
from accelbench.schema.reasons import describe_error, reason
from accelbench.text import FRAMEWORK_NAMES, name_type
from accelbench.units import plural
from accelbench.workloads.arrays.libraries import FUSED, ArrayLibrary, find_library

FRAMEWORKS = ("numpy", "cupy", "torch")
_DTYPES = {  # the members of a precision, the real one first; the highest precision first
    "float64": (np.dtype(np.float64), np.dtype(np.complex128)),
    "float32": (np.dtype(np.float32), np.dtype(np.complex64)),
}
_NONE_IN_FLOAT64 = "none of the program's arrays is in float64"
MOST_SPREAD = 1e-6  # of a step's output between two runs: any more than rounding
_NOT_IN_THIS_LIBRARY = (AttributeError, NotImplementedError, TypeError)


def array_program(build: Callable[[], ArrayProgram], *, unit: str = "step") -> Workload:
    """Return the workload of an array program of one's own, to which the techniques of array libraries apply.

    Args:
        build: makes the program; it is called afresh for every arm, in a worker process, from the same seed.
        unit: an item of those that a step processes, in the singular, such as ``"cell"``.
    """
    return workload_of_program(build, build_array_program, frameworks=FRAMEWORKS, unit=unit)


def build_array_program(
    build: Callable[[], ArrayProgram],
    setting: Setting,
    *,
    array_library: str = "numpy",
    dtype: str = "",
) -> Arm:
    """Return the arm of a step of an array program with one of the array libraries, in a precision or in its own.

    Raises:
        BadInput: the function returned something other than an array program, or one that cannot run.
        Unavailable: the library cannot run the program, or not on this machine, or no array is in float64. Where
            options are only checked, the program has the precision already.
    """
    if array_library in FUSED:
        raise Unavailable("a program may have other operations than elementwise ones, so it is not fused as a whole")
    library = find_library(array_library)
    if dtype:
        check_choice(dtype, _DTYPES, "dtype")
    stored = setting.storage.values  # what a program is made of and what its step does are found out once
    if setting.only_check:
        if dtype:
            _check_precision(_precision_of(build, stored), dtype)
        return Arm(step=nothing)
    program = _require_program(build())
    if array_library != "numpy" and any(isinstance(array, np.ma.MaskedArray) for array in program.arrays):
        raise Unavailable("the program has masked arrays, which no other library has")
    arrays = _in_float32(program.arrays) if dtype == "float32" else program.arrays
    if build not in stored:
        stored[build] = _find_effects(program, arrays)
    writes, spread = stored[build]
    steps = _Steps(program=program, library=library, arrays=arrays, copies=writes)
    repeats = spread <= MOST_SPREAD and setting.compares_outputs
    held = arrays if library.round_trip else _send(library, arrays)
    return Arm(
        step=partial(steps.there_and_back if library.round_trip else steps.resident, held),
        items=program.items,
        device=library.device,
        inputs=lambda: held,
        ignore_output=not repeats,
        remarks=() if spread <= MOST_SPREAD else (reason("program-differs", spread=spread),),
    )


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """The step of a program in an array library, on arrays of its memory or on those of the host."""

    program: ArrayProgram
    library: ArrayLibrary
    arrays: Sequence[Any]
    copies: bool

    def resident(self, arrays: Sequence[Any]) -> Any:
        xp = self.library.xp
        given = [self._copy(each) for each in arrays] if self.copies else arrays
        try:
            return self.program.step(xp, *given)
        except _NOT_IN_THIS_LIBRARY as error:
            if xp is find_library("numpy").xp:
                raise
            raise Unavailable(f"the program does not run with {_library_of(xp)}: {describe_error(error)}") from error

    def _copy(self, array: Any) -> Any:
        if isinstance(array, np.ma.MaskedArray):
            return array.copy()
        return array if _is_scalar(array) else self.library.xp.asarray(array, copy=True)

    def there_and_back(self, arrays: Sequence[Any]) -> Any:
        output = self.resident(_send(self.library, arrays))
        return tree_map(output, lambda part: part if _is_scalar(part) else self.library.fetch(part))


def _require_program(made: Any) -> ArrayProgram:
    if not isinstance(made, ArrayProgram):
        raise BadInput(f"the function returned {name_type(made)}; expected an accelbench.ArrayProgram")
    if not callable(made.step):
        raise BadInput(f"the program's step is {name_type(made.step)}; expected a function of xp and the arrays")
    if not isinstance(made.arrays, list | tuple):
        kind = type(made.arrays).__name__
        raise BadInput(f"the program's arrays are a {kind}; expected a tuple of NumPy arrays, as in arrays=(u, v)")
    for place, array in enumerate(made.arrays):
        if not (isinstance(array, np.ndarray) or _is_scalar(array)):
            found = f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}"
            raise BadInput(
                f"arrays[{place}] of the program is a {found}; expected a NumPy array or a number, since accelbench "
                "brings NumPy's arrays to the memory of each library"
            )
    try:
        signature(made.step).bind(None, *made.arrays)
    except TypeError as error:
        count = plural(len(made.arrays), "array")
        raise BadInput(f"the program's step cannot be called with xp and its {count}: {error}") from None
    except ValueError:  # a function that has no signature
        pass
    check_positive(made.items, "the program's items")
    return made


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, np.ndarray)


def _precision_of(build: Callable[[], Any], stored: dict[Any, Any]) -> str:
    """Return the highest precision of any array of a program, "" where all are of integers or the like."""
    key = "precision", build
    if key not in stored:
        kinds = {array.dtype for array in _require_program(build()).arrays if isinstance(array, np.ndarray)}
        stored[key] = next((name for name, members in _DTYPES.items() if not kinds.isdisjoint(members)), "")
    return str(stored[key])


def _check_precision(own: str, dtype: str) -> None:
    """Check that arrays can be brought from their own precision to another one.

    Raises:
        Unavailable: it is their own, or none of them is in float64.
    """
    if dtype == own:
        raise Unavailable(reason("program-has-this"))
    if own != "float64":
        raise Unavailable(_NONE_IN_FLOAT64)


def _in_float32(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arrays, those of float64 and complex128 in half of their bytes.

    Raises:
        Unavailable: there are none.
    """
    halves = dict(zip(_DTYPES["float64"], _DTYPES["float32"], strict=True))
    kinds = [halves.get(array.dtype) if isinstance(array, np.ndarray) else None for array in arrays]
    if not any(kinds):
        raise Unavailable(_NONE_IN_FLOAT64)
    return tuple(array.astype(kind) if kind else array for array, kind in zip(arrays, kinds, strict=True))


def _send(library: ArrayLibrary, arrays: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(each if _is_scalar(each) else library.send(each) for each in arrays)


def _find_effects(program: ArrayProgram, arrays: Sequence[Any]) -> tuple[bool, float]:
    """Run a step twice with NumPy; return whether it wrote into its arrays, and how far the two outputs are apart.

    A step that draws random numbers from a generator that it does not seed returns others each time.

    Raises:
        BadInput: it returned nothing.
    """
    outputs = []
    for _ in range(2):
        copies = copy_arrays(arrays)
        output = program.step(find_library("numpy").xp, *copies)
        if output is None:
            raise BadInput("the program's step returned None; expected the arrays that it computed or wrote into")
        outputs.append([np.array(leaf) for leaf in tree_leaves(output)])
    writes = any(
        copy.tobytes() != array.tobytes()
        for copy, array in zip(copies, arrays, strict=True)
        if isinstance(array, np.ndarray)
    )
    if [each.tobytes() for each in outputs[0]] == [each.tobytes() for each in outputs[1]]:
        return writes, 0.0
    spread = relative_error(*outputs)
    return writes, spread if isfinite(spread) else 1.0


def copy_arrays(arrays: Sequence[Any]) -> list[Any]:
    """Return copies of a program's arrays, and its numbers as they are."""
    return [each if _is_scalar(each) else each.copy() for each in arrays]


def _library_of(xp: Any) -> str:
    name: str = xp.__name__.rpartition(".")[2]
    return FRAMEWORK_NAMES.get(name, name)
