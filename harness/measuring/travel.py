"""What a worker cannot import travels to it by value: workloads and techniques of a user's own test modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import cloudpickle

from harness.experiment import Trial

OWN_PACKAGE = __name__.partition(".")[0]


def is_foreign(function: Callable[..., Any]) -> bool:
    """Say whether a function was defined outside this package."""
    return function.__module__.partition(".")[0] != OWN_PACKAGE


def send_by_value(trial: Trial) -> None:
    """Have the modules in which a user defined the trial's workload and techniques pickled by value from now on."""
    builders = [] if isinstance(trial.workload, str) else [trial.workload.builder]
    for function in (*builders, *(technique.apply for technique in trial.techniques)):
        module = sys.modules.get(function.__module__)
        if module is not None and is_foreign(function):
            cloudpickle.register_pickle_by_value(module)
