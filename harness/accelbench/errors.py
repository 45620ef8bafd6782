"""Exceptions raised on purpose. Each message is one line: what came, what was expected, the way out.

An error may be raised with a `schema.reasons.Reason` instead of a text; its message is then the reason's wording.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Collection
from numbers import Real
from pathlib import Path
from typing import TypeGuard, TypeVar

from accelbench.user_code import is_user_file

T = TypeVar("T")


class AccelbenchError(Exception):
    """Anything that accelbench raises on purpose."""


class BadInput(AccelbenchError):
    """The user gave something that cannot be used. The message names it and the way out."""


class BadLevels(BadInput):
    """The levels that a technique declares cannot be offered."""


class Unavailable(AccelbenchError):
    """This arm cannot run on this machine, which skips it. The message says why."""


class LazyOutput(BadInput):
    """A step returned a promise in place of its result, so the time of the step is not the time of the work."""


class UnreadableResult(BadInput):
    """A result file is truncated, has a newer schema, or was not written by accelbench."""


def place_of(error: BaseException) -> str:
    """Return the file and line of a user's own that an error came from, such as ``train.py, line 8``; "" for none.

    Not the user's own are Python's library, installed packages and accelbench.
    """
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if is_user_file(file) and not file.name.startswith("__autograph_generated"):  # by TensorFlow
            return f"{file.name}, line {frame.lineno}"
    return ""


def check_choice(value: T, choices: Collection[T], what: str) -> T:
    """Return a value that is one of the choices.

    Raises:
        BadInput: it is none of them; the message says ``what`` was to be chosen, and lists them.
    """
    if value not in choices:
        raise BadInput(f"unknown {what} {value!r}; expected one of: {', '.join(map(str, choices))}")
    return value


def check_positive(value: object, what: str) -> None:
    """Check that a value, called ``what`` in the message, is a number above 0 and finite.

    Raises:
        BadInput: it is not.
    """
    if not (is_real(value) and 0 < value < math.inf):
        raise BadInput(f"{what} must be above 0 and finite, got {value!r}")


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number of Python or NumPy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)
