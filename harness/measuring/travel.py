"""What a worker cannot import travels to it by value: workloads and techniques of a user's own test modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cloudpickle

from harness.experiment import Trial

OWN_PACKAGE = __name__.partition(".")[0]


def is_foreign(function: Callable[..., Any]) -> bool:
    """Say whether a function, or one that is bound to it, was defined outside this package."""
    return any(module.partition(".")[0] != OWN_PACKAGE for module in _modules(function))


def send_by_value(trial: Trial) -> None:
    """Have the modules in which a user defined the trial's workload and techniques pickled by value from now on."""
    builders = [] if isinstance(trial.workload, str) else [trial.workload.builder]
    for function in (*builders, *(technique.apply for technique in trial.techniques)):
        for name in _modules(function):
            if (module := sys.modules.get(name)) is not None and name.partition(".")[0] != OWN_PACKAGE:
                cloudpickle.register_pickle_by_value(module)


def _modules(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of the modules in which a function, and what is bound to it, were defined."""
    if isinstance(function, partial):
        for part in (function.func, *function.args, *function.keywords.values()):
            if callable(part):
                yield from _modules(part)
    else:
        yield function.__module__
