"""A peak probe: kernels that do one thing as fast as the machine can."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from accelbench.core import Arm

# In steps of four, from within a core's first-level cache to beyond the last-level cache of nearly all hosts and GPUs.
# The largest keep even the fastest memory busy for much longer than the tens of microseconds of a launch and a
# synchronize.
WORKING_SETS = tuple(2**power for power in range(14, 33, 2))
HOST_BYTES = 2**28
COLUMNS = 1024  # of a working set that a matrix-vector product reads as a matrix
MEMORY_PART = 8  # a working set takes at most this part of the free memory, an eighth
SIDES = tuple(2**power for power in range(6, 15))  # of square matrices
ONE_CORE_SIDES = (256, 512)
PER_CORE = ", cores apart"  # ends the name of a ceiling that was measured on one core and counted once per core

Kernels = Callable[[int], Iterable[Arm]]


@dataclass(frozen=True, kw_only=True)
class PeakProbe:
    """One thing to do at ascending sizes until a step takes long.

    ``kernels`` returns arms that do it in different ways at a size; the fastest counts. An arm's ``items`` are the
    bytes or operations of one step. If ``by_working_set``, the sizes are working sets in bytes and each has a rate of
    its own; otherwise only the best rate counts.
    """

    ceiling: str
    unit: Literal["byte", "operation"]
    sizes: tuple[int, ...]
    kernels: Kernels
    by_working_set: bool = False


def find_probes(framework: str) -> list[PeakProbe]:
    """Return a framework's probes; NumPy's are those of the host and its disk."""
    module = f"{__package__}.{framework}"
    return list(import_module(module).probes()) if find_spec(module) else []


def memory(device: str, kernels: Kernels, free_bytes: float, most: float = math.inf) -> PeakProbe:
    """Return the probe of a device's memory, at working sets of at most ``most`` bytes."""
    sizes = tuple(size for size in WORKING_SETS if size <= min(most, free_bytes / MEMORY_PART))
    return PeakProbe(ceiling=memory_ceiling(device), unit="byte", sizes=sizes, kernels=kernels, by_working_set=True)


def memory_ceiling(device: str) -> str:
    """Return the name of the ceiling of a device's memory."""
    return f"{device} memory"


def matrix(device: str, precision: str, kernels: Kernels) -> PeakProbe:
    """Return the probe of a device's matrix rate in one precision."""
    return PeakProbe(ceiling=f"{device} matrix {precision}", unit="operation", sizes=SIDES, kernels=kernels)


def matrix_per_core(precision: str, kernels: Kernels) -> PeakProbe:
    """Return the probe of a product on one core, counted once per core.

    Next to busy neighbours, threads that wait for each other are slower than a single thread. The rate of one core
    times the number of cores is then the better bound.
    """
    return PeakProbe(
        ceiling=f"cpu matrix {precision}{PER_CORE}", unit="operation", sizes=ONE_CORE_SIDES, kernels=kernels
    )


def link(device: str, direction: str, kernels: Kernels) -> PeakProbe:
    """Return the probe of the link between host and device, such as ``"to device pinned"``."""
    return PeakProbe(ceiling=f"{device} {direction}", unit="byte", sizes=(2**22, 2**26), kernels=kernels)
