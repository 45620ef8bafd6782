"""Which value keeps a user's code from being sent to a worker: its name, its type, and the function that uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import CellType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

import cloudpickle

from accelbench.schema.reasons import Reason, message_line, reason

_EMPTY = CellType()  # of a variable that has no value yet
_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)  # which Python makes anew with the class


class _Part(NamedTuple):
    """A part of a value: how it is reached from there, and the function whose variable it is, if it is one's."""

    value: Any
    path: str
    function: str = ""


def why_unpicklable(value: Any, error: BaseException) -> Reason:
    """Return why cloudpickle raised this error for a value."""
    name, function, culprit, visited = "", "", value, {id(value)}
    while part := next(
        (each for each in _parts(culprit) if id(each.value) not in visited and not _is_sent(each)), None
    ):
        visited.add(id(part.value))
        name, function = (part.path, part.function) if part.function else (name + part.path, function)
        culprit = part.value
    if not function:
        return reason("error", type=type(error).__name__, message=message_line(error))
    return reason("cannot-be-sent", function=function, name=name, type=type(culprit).__qualname__)


def _is_sent(part: _Part) -> bool:
    try:
        cloudpickle.dumps(part.value)
    except Exception:  # pickling runs the code of any object
        return False
    return True


def _parts(value: Any) -> Iterator[_Part]:
    """Yield what is pickled with a value that is pickled by value."""
    if isinstance(value, FunctionType):
        yield from _variables(value)
    elif isinstance(value, MethodType):
        yield _Part(value.__func__, "")
        yield _Part(value.__self__, ".__self__")
    elif isinstance(value, partial):
        yield from (_Part(each, "") for each in (value.func, *value.args, *value.keywords.values()))
    elif isinstance(value, Mapping):
        yield from (_Part(each, f"[{name!r:.40}]") for name, each in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (_Part(each, f"[{place}]") for place, each in enumerate(value))
    elif isinstance(value, staticmethod | classmethod):
        yield _Part(value.__func__, "")
    elif isinstance(value, type):
        yield from (_Part(each, f".{name}") for name, each in vars(value).items() if not isinstance(each, _DESCRIPTORS))
        yield from (_Part(base, "") for base in value.__bases__)
    elif not isinstance(value, ModuleType):
        yield from (_Part(each, f".{name}") for name, each in getattr(value, "__dict__", {}).items())
        yield _Part(type(value), "")


def _variables(function: FunctionType) -> Iterator[_Part]:
    """Yield the globals, the variables of enclosing functions and the defaults that a function uses."""
    where = function.__qualname__.replace("<locals>.", "")
    known = function.__globals__
    used = {name: known[name] for name in sorted(names_in(function.__code__)) if name in known}
    used |= enclosing_variables(function) | (function.__kwdefaults__ or {})
    yield from (_Part(each, name, where) for name, each in used.items())
    yield from (_Part(each, "a default value", where) for each in function.__defaults__ or ())
    yield from (_Part(each, f".{name}") for name, each in vars(function).items())


def enclosing_variables(function: FunctionType) -> dict[str, Any]:
    """Return the variables of enclosing functions that a function uses, without those that have no value yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != _EMPTY}


def names_in(code: CodeType) -> set[str]:
    """Return the names that code and the functions within it look up."""
    inner: Iterable[CodeType] = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(names_in, inner))
