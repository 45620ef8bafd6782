"""Arrays of NumPy that tell a recorder what is done with them: operators, functions, methods, parts and assignments.

A profiler of functions sees no operators: ``a * b`` calls none. So the arrays themselves say what happens to them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from accelbench.frameworks.tree import tree_map

# Methods that another function of NumPy's does not do, and those that only look at an array in another way.
METHODS = (
    "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "compress", "conj", "conjugate", "copy",
    "cumprod", "cumsum", "dot", "fill", "flatten", "nonzero", "partition", "put", "repeat", "round", "searchsorted",
    "sort", "take", "trace",
)  # fmt: skip
VIEW_METHODS = ("diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose")
VIEW_ATTRIBUTES = ("T", "imag", "real")
# Functions that make arrays out of what may be no array, so that no array can tell that they were called.
CREATION = (
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "empty", "eye", "fromfunction", "full",
    "geomspace", "identity", "indices", "linspace", "logspace", "ones", "tri", "zeros",
)  # fmt: skip


class Recorder(Protocol):
    """What is told of operations. Each method does the operation, and returns results that tell what follows."""

    def call(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Any:
        """Call a function that computes."""

    def view(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call a function that returns a part of an array, or looks at it in another way."""

    def assign(self, array: Any, place: Any, value: Any) -> None:
        """Assign a value to a part of an array."""


class RecordingArray(np.ndarray):
    """An array that tells its recorder what is done with it. ``name`` is for the recorder's own use."""

    recorder: Recorder
    name: str = ""

    @classmethod
    def of(cls, part: Any, recorder: Recorder) -> Any:
        """Return a view of an array that tells the recorder; anything else as it is."""
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
        """Tell that a universal function is called."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        result = self.recorder.call(name, function, inputs, {**named, "out": out} if out else named)
        if out:
            return out[0] if len(out) == 1 else out
        return result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Tell that a function of NumPy's is called."""
        del types
        return self.recorder.call(function.__name__, function, args, kwargs)

    def __getitem__(self, place: Any) -> Any:
        if any(isinstance(each, np.ndarray | list) for each in (place if isinstance(place, tuple) else (place,))):
            return self.recorder.call("indexing", operator.getitem, (self, place), {})
        return self.recorder.view(operator.getitem, (self, place), {})

    def __setitem__(self, place: Any, value: Any) -> None:
        self.recorder.assign(self, place, value)


def _tell(name: str, *, is_view: bool) -> Callable[..., Any]:
    method = getattr(np.ndarray, name)

    def told(self: RecordingArray, *arguments: Any, **named: Any) -> Any:
        if is_view:
            return self.recorder.view(method, (self, *arguments), named)
        return self.recorder.call(name, method, (self, *arguments), named)

    return told


def _tell_attribute(name: str) -> property:
    return property(lambda self: self.recorder.view(operator.attrgetter(name), (self,), {}))


for _name in (*METHODS, *VIEW_METHODS):
    setattr(RecordingArray, _name, _tell(_name, is_view=_name in VIEW_METHODS))
for _name in VIEW_ATTRIBUTES:
    setattr(RecordingArray, _name, _tell_attribute(_name))


class RecordingNamespace:
    """NumPy's namespace, of which functions that make arrays tell the recorder, too."""

    def __init__(self, xp: Any, recorder: Recorder) -> None:
        self._xp, self._recorder = xp, recorder

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._xp, name)
        return watch(name, found, self._recorder) if name in CREATION else found


def watch(name: str, function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Return a function whose calls the recorder is told of."""

    def watched(*arguments: Any, **named: Any) -> Any:
        return recorder.call(name, function, arguments, named)

    return watched


def strip(value: Any) -> Any:
    """Return a value, however nested, in which arrays tell nobody anything."""
    return tree_map(value, lambda part: part.view(np.ndarray) if isinstance(part, RecordingArray) else part)
