"""Arrays of NumPy that pass operators, functions, methods, indexing and assignments on to a recorder.

A profiler of functions sees no operators: ``a * b`` calls none. So the arrays themselves report their operations.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from accelbench.frameworks.tree import tree_leaves, tree_map

# Methods that another function of NumPy's does not do, and those that only look at an array in another way.
METHODS = (
    "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "compress", "conj", "conjugate", "copy",
    "cumprod", "cumsum", "dot", "fill", "flatten", "nonzero", "partition", "put", "repeat", "round", "searchsorted",
    "sort", "take", "trace",
)  # fmt: skip
VIEW_METHODS = ("diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose")
VIEW_ATTRIBUTES = ("T", "imag", "real")
# Functions that create arrays: no array among their arguments could report the call.
CREATION = (
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "empty", "eye", "fromfunction", "full",
    "geomspace", "identity", "indices", "linspace", "logspace", "ones", "tri", "zeros",
)  # fmt: skip


class Recorder(Protocol):
    """Does and records operations. The arrays that a method returns record the operations on them, too."""

    def call(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Any:
        """Call a function that computes."""

    def view(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call a function that returns a part of an array, or looks at it in another way."""

    def assign(self, array: Any, place: Any, value: Any) -> None:
        """Assign a value to a part of an array."""


class RecordingArray(np.ndarray):
    """An array that passes its operations on to its recorder, which may give it a ``name``."""

    recorder: Recorder
    name: str = ""

    @classmethod
    def of(cls, part: Any, recorder: Recorder) -> Any:
        """Return an array as one whose operations are recorded; anything else as it is."""
        if not isinstance(part, np.ndarray) or isinstance(part, cls):
            return part
        recording = part.view(cls)
        recording.recorder = recorder
        return recording

    def __array_finalize__(self, source: Any) -> None:
        recorder = getattr(source, "recorder", None)
        if recorder is not None:
            self.recorder = recorder

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **named: Any) -> Any:
        """Pass the call of a universal function on."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        result = self.recorder.call(name, function, inputs, {**named, "out": out} if out else named)
        if out:
            return out[0] if len(out) == 1 else out
        return result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Pass the call of a function of NumPy's on."""
        del types
        return self.recorder.call(function.__name__, function, args, kwargs)

    def __getitem__(self, place: Any) -> Any:
        if is_view(place):
            return self.recorder.view(operator.getitem, (self, place), {})
        return self.recorder.call("indexing", operator.getitem, (self, place), {})

    def __setitem__(self, place: Any, value: Any) -> None:
        self.recorder.assign(self, place, value)


def _forward_method(name: str, *, is_view: bool) -> Callable[..., Any]:
    own = getattr(np.ndarray, name)

    def method(self: RecordingArray, *arguments: Any, **named: Any) -> Any:
        if is_view:
            return self.recorder.view(own, (self, *arguments), named)
        return self.recorder.call(name, own, (self, *arguments), named)

    return method


def _forward_attribute(name: str) -> property:
    return property(lambda self: self.recorder.view(operator.attrgetter(name), (self,), {}))


for _name in (*METHODS, *VIEW_METHODS):
    setattr(RecordingArray, _name, _forward_method(_name, is_view=_name in VIEW_METHODS))
for _name in VIEW_ATTRIBUTES:
    setattr(RecordingArray, _name, _forward_attribute(_name))


class RecordingNamespace:
    """NumPy's namespace, in which functions that create arrays are recorded, too."""

    def __init__(self, xp: Any, recorder: Recorder) -> None:
        self._xp, self._recorder = xp, recorder

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._xp, name)
        return watch(name, found, self._recorder) if name in CREATION else found


def watch(name: str, function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Return a function whose calls are recorded."""

    def watched(*arguments: Any, **named: Any) -> Any:
        return recorder.call(name, function, arguments, named)

    return watched


def is_view(place: Any) -> bool:
    """Return whether an array's part at a place is a view of it, and no copy."""
    return not any(isinstance(each, np.ndarray | list) for each in (place if isinstance(place, tuple) else (place,)))


class PlainArrays:
    """Remembers the arrays without a recorder that enter recorded operations, or that a step returns.

    What was done to make them was not recorded. The program's own ones live on after a step.
    """

    def __init__(self) -> None:
        self._owners: dict[int, weakref.ref[np.ndarray]] = {}
        self._has_lost = False

    def note(self, *values: Any) -> None:
        """Remember the arrays without a recorder among values, however nested."""
        for part in tree_leaves(values):
            if isinstance(part, np.ndarray) and not isinstance(part, RecordingArray):
                owner = owner_of(part)
                known = self._owners.get(id(owner))
                self._has_lost = self._has_lost or (known is not None and known() is None)
                self._owners[id(owner)] = weakref.ref(owner)

    @property
    def were_made(self) -> bool:
        """Whether the step made one of them. It holds once the step is over and its output is gone."""
        return self._has_lost or any(each() is None for each in self._owners.values())


def owner_of(array: np.ndarray) -> np.ndarray:
    """Return the array that owns an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def call_plain(function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Call a function with plain arrays in place of recording ones."""
    return function(*strip(arguments), **strip(named))


def strip(value: Any) -> Any:
    """Return a value, however nested, with plain arrays in place of recording ones."""
    return tree_map(value, lambda part: part.view(np.ndarray) if isinstance(part, RecordingArray) else part)
