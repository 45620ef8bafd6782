"""Callables that users give to be timed: which of them can be, what their first call shows, and what they hold."""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from accelbench.errors import BadInput
from accelbench.frameworks.tree import tree_leaves
from accelbench.measuring.workers.unpicklable import enclosing_variables, names_in
from accelbench.text import join_names, name_type, with_article
from accelbench.user_code import is_user_file

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, partial)
# What futures, results of pools, processes and threads can do.
_WORKING = (("done", "result"), ("done", "wait"), ("ready", "wait"), ("poll", "wait"), ("is_alive", "join"))
MOST_VALUES = 2000  # that are looked at in what a callable holds
MOST_PARTS = 100  # of a list or a mapping that are looked at


def require_mapping(arms: object, what: str, call: str) -> None:
    """Check that ``what`` was given functions by their names, as in ``call``, such as ``compare(…)``.

    Raises:
        BadInput: it was given something else, such as a list; the message says what to give instead.
    """
    if isinstance(arms, Mapping):
        return
    names = [getattr(each, "__name__", "") for each in arms] if isinstance(arms, list | tuple) else []
    if not names or len({*names}) < len(names) or not all(map(str.isidentifier, names)):  # a lambda has no name
        names = ["loop", "product"]
    example = ", ".join(f"{name!r}: {name}" for name in names)
    call = call.replace("…", f"{{{example}}}")
    raise BadInput(f"{what} needs a mapping from names to functions, got {name_type(arms)}; as in {call}")


def require_callable(step: Any, what: str, *, is_builder: bool = False) -> None:
    """Check, without calling it, that a callable does its whole work in a call without arguments.

    ``what`` names it, as in "arm 'fast'". A builder, which returns the callable to time, may be a class.

    Raises:
        BadInput: it is something else; the message says what to give instead.
    """
    if not callable(step):
        kind = type(step).__name__
        raise BadInput(f"{what} is not callable: its type is {kind}; give a function, as in lambda: f(x)")
    if isinstance(step, type) and not is_builder and step.__module__ != "builtins":  # int() is a number
        raise BadInput(
            f"{what} is the class {step.__name__}, whose call makes an object; give a function that does the work, or "
            f"lambda: {step.__name__}() if making the object is the work"
        )
    code = step if isinstance(step, type) else _function_of(step)
    if inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
        raise BadInput(
            f"{what} is an async function, whose call computes nothing until it is awaited; give a function that waits "
            "for its end, as in lambda: asyncio.run(f())"
        )
    if inspect.isgeneratorfunction(code):
        raise BadInput(
            f"{what} is a generator function, whose call computes nothing until somebody reads from it; give a "
            "function that reads it to the end, as in lambda: list(f())"
        )
    if missing := _required_arguments(step):
        needs = f"the argument {missing[0]}" if len(missing) == 1 else f"the arguments {join_names(missing)}"
        bound = f"lambda: f({', '.join(missing)})"
        raise BadInput(f"{what} needs {needs}; give a function without arguments, as in {bound}")


def _function_of(step: Any) -> Any:
    """Return the function that a call runs, as far as it is written in Python."""
    while isinstance(step, partial):
        step = step.func
    return step if isinstance(step, _FUNCTIONS) else type(step).__call__


def _required_arguments(step: Any) -> list[str]:
    try:
        parameters = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):  # functions of extension modules may have none
        return []
    varying = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [each.name for each in parameters if each.default is inspect.Parameter.empty and each.kind not in varying]


def find_promise(output: Any) -> str | None:
    """Return in a clause why an output is no result but the promise of one, and the way out; None if it is a result.

    A coroutine is closed, so that Python does not warn that nobody has awaited it.
    """
    results: set[type] = set()
    for part in tree_leaves(output):
        if type(part) in results:
            continue
        if inspect.iscoroutine(part):
            part.close()
        if promise := _describe_promise(part):
            return f"returned {promise}"
        results.add(type(part))
    return None


def _describe_promise(value: Any) -> str | None:
    kind = type(value).__name__
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        kind = "an async generator" if inspect.isasyncgen(value) else with_article(kind)
        return f"{kind}, which computes nothing until it is awaited; wait for it inside, as with asyncio.run"
    if inspect.isgenerator(value):
        return "a generator, which computes nothing until it is read; return list(…) of it"
    if hasattr(type(value), "__next__"):
        return f"an iterator ({kind}), which computes nothing until it is read; return list(…) of it"
    if any(_has(value, *methods) for methods in _WORKING):
        return f"{with_article(kind)}, whose work may go on; wait for its end inside, and return the result"
    if _has(value, "block_until_ready"):
        library = type(value).__module__.partition(".")[0]
        return (
            f"an array of {library}, for whose devices accelbench cannot wait; end with block_until_ready() and return "
            "np.asarray(…) of it"
        )
    if getattr(value, "__dask_graph__", None) is not None or (kind.startswith("Lazy") and _has(value, "collect")):
        return f"{with_article(kind)}, which is computed later; compute it inside, and return the result"
    if _has(value, "as_numpy_iterator", "batch"):
        return f"a pipeline ({kind}), which computes nothing until it is read; read it to the end inside"
    if isinstance(value, _FUNCTIONS):
        return "a function instead of a result; call it inside, or pass rebuild=True if it is the function to time"
    return None


def _has(value: Any, *methods: str) -> bool:
    return all(callable(getattr(type(value), method, None)) for method in methods)


def held_values(step: Any) -> Iterator[Any]:
    """Yield what a callable holds: closures, bound objects and arguments, and the globals that its code names.

    Of functions and objects only those of the user's own modules are opened. At most ``MOST_VALUES`` are looked at.
    """
    seen: dict[int, Any] = {}  # keeps them, so that no number is used twice
    found = deque([step])
    while found and len(seen) < MOST_VALUES:
        value = found.popleft()
        if id(value) not in seen:
            seen[id(value)] = value
            yield value
            found.extend(_parts(value))


def _parts(value: Any) -> Iterable[Any]:
    """Return what a value holds, one level deep."""
    if isinstance(value, partial):
        return value.func, *value.args, *value.keywords.values()
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, BuiltinFunctionType):
        return (value.__self__,)
    if isinstance(value, FunctionType):
        return [*_values_in_function(value)] if is_users_module(value.__module__) else ()
    if isinstance(value, Mapping):
        return islice(value.values(), MOST_PARTS) if isinstance(value, dict) else ()
    if isinstance(value, list | tuple | set | frozenset):
        return islice(value, MOST_PARTS)
    if isinstance(value, type | ModuleType):
        return ()
    if hasattr(value, "__wrapped__"):  # as functools.cache makes them
        return (value.__wrapped__,)
    if not is_users_module(type(value).__module__):
        return ()
    called = [type(value).__call__] if callable(value) else []
    return [*getattr(value, "__dict__", {}).values(), *called]


def _values_in_function(function: FunctionType) -> Iterator[Any]:
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from enclosing_variables(function).values()
    names = names_in(function.__code__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType) and is_users_module(value.__name__):
            yield from (vars(value)[attribute] for attribute in names & vars(value).keys())


def packages_of(value: Any) -> list[str]:
    """Return the packages in which a value's type and those that it extends were made; of a module, its own."""
    if isinstance(value, ModuleType):
        return [value.__name__.partition(".")[0]]
    kind = value if isinstance(value, type) else type(value)
    return [each.__module__.partition(".")[0] for each in kind.__mro__]


def is_users_module(name: str | None) -> bool:
    """Return whether the module of that name is neither a library's nor Python's own."""
    if name is None or name == "__main__":
        return name is not None
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and is_user_file(Path(file))
