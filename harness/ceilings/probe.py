"""A probe: arms that do one thing as fast as the machine can, to see how fast that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from harness.experiment import Arm

# In steps of four, from within a core's first cache to beyond the last cache of nearly all hosts, and of GPUs; the
# largest keep the fastest memory at work for long beside the tens of microseconds of a launch and a synchronisation.
WORKING_SETS = tuple(2**power for power in range(14, 33, 2))
HOST_BYTES = 2**28
COLUMNS = 1024  # of a working set that is read as a matrix, by a product with a vector
MEMORY_PART = 8  # a working set takes at most an eighth of the memory that is free
SIDES = tuple(2**power for power in range(6, 15))  # of square matrices
ONE_CORE_SIDES = (256, 512)
APART = ", cores apart"

Kernels = Callable[[int], Iterable[Arm]]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One thing, to be done at ascending sizes until a step takes long.

    ``kernels`` returns for a size the arms that do it in different ways, of which the fastest counts; an arm's
    ``items`` are the bytes or operations of one step. Where ``by_working_set``, the sizes are working sets in bytes,
    and the rate at each is kept; otherwise only the best.
    """

    ceiling: str
    unit: Literal["byte", "operation"]
    sizes: tuple[int, ...]
    kernels: Kernels
    by_working_set: bool = False


def probes_of(framework: str) -> list[Probe]:
    """Return a framework's probes; NumPy's are those of the host and its disk."""
    if find_spec(f"harness.ceilings.{framework}") is None:
        return []
    return list(import_module(f"harness.ceilings.{framework}").probes())


def memory(device: str, kernels: Kernels, free_bytes: float, most: float = math.inf) -> Probe:
    """Return the probe of a device's memory, of which so much is free, at working sets of ``most`` bytes at most."""
    sizes = tuple(size for size in WORKING_SETS if size <= min(most, free_bytes / MEMORY_PART))
    return Probe(ceiling=f"{device} memory", unit="byte", sizes=sizes, kernels=kernels, by_working_set=True)


def matrix(device: str, precision: str, kernels: Kernels) -> Probe:
    """Return the probe of a device's matrix rate in one precision."""
    return Probe(ceiling=f"{device} matrix {precision}", unit="operation", sizes=SIDES, kernels=kernels)


def cores_apart(precision: str, kernels: Kernels) -> Probe:
    """Return the probe of a product on one core, counted once for every core.

    Beside busy neighbours, threads that wait for each other are slower than a single one. What each core can do by
    itself is then the better bound of what all of them can.
    """
    return Probe(ceiling=f"cpu matrix {precision}{APART}", unit="operation", sizes=ONE_CORE_SIDES, kernels=kernels)


def link(device: str, way: str, kernels: Kernels) -> Probe:
    """Return the probe of the link between host and device, such as ``"to device pinned"``."""
    return Probe(ceiling=f"{device} {way}", unit="byte", sizes=(2**22, 2**26), kernels=kernels)
