"""A function that builds a program becomes a workload."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

from harness.experiment import Program, Workload
from harness.workloads.torch.own_training import own_training


def program(build: Callable[[], Program], *, unit: str = "item") -> Workload:
    """Return the workload of a program of one's own, to which PyTorch's techniques apply as to the suite's workloads.

    Args:
        build: makes the program; it is called afresh for every arm, in a worker process, from the same seed.
        unit: what the program's data set holds, in the singular, such as ``"image"``.
    """
    name = f"{build.__module__.rpartition('.')[2]}:{build.__name__}"
    summary = (inspect.getdoc(build) or name).split("\n")[0]
    return Workload(name=name, frameworks=("torch",), unit=unit, summary=summary, builder=partial(own_training, build))
