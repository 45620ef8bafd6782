"""What a worker cannot import travels to it by value: workloads and techniques of a user's own test modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import cloudpickle

OWN_PACKAGE = __name__.partition(".")[0]


def is_foreign(function: Callable[..., Any]) -> bool:
    """Say whether a function was defined outside this package."""
    return function.__module__.partition(".")[0] != OWN_PACKAGE


def send_by_value(function: Callable[..., Any]) -> None:
    """Have everything of the function's module pickled by value from now on."""
    if (module := sys.modules.get(function.__module__)) is not None:
        cloudpickle.register_pickle_by_value(module)
