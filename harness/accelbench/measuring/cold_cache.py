"""Cold caches: they are overwritten before every timed block, for all arms of a trial alike.

A block then has one iteration, since a second one would find the data of the first. NVIDIA's nvbench and Triton's
`do_bench` do the same on GPUs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from accelbench.core import Arm
from accelbench.errors import Unavailable
from accelbench.frameworks import Framework
from accelbench.frameworks.protocol import FLUSH_TIMES
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.checks.placement import computed_on
from accelbench.measuring.referee import Block, Stopwatch
from accelbench.schema.reasons import reason_of

CPUS = Path("/sys/devices/system/cpu")
Flush = Callable[[], object]


class ColdStopwatch(Stopwatch):
    """Times blocks of one iteration, each after a flush."""

    def __init__(self, stopwatch: Stopwatch, flush: Flush) -> None:
        super().__init__(stopwatch.clock, stopwatch.synchronize, stopwatch.processor_clock)
        self.flush = flush

    def block_s(
        self,
        arm: Arm,
        iterations: int,
        *,
        lead_in: bool = False,  # noqa: ARG002  it warms caches
        keep_output: bool = False,
    ) -> float:
        """Flush, and return the seconds that the next block takes."""
        start = self.clock()
        self.flush()
        self.synchronize()
        self.outside_s = self.clock() - start
        return super().block_s(arm, iterations, keep_output=keep_output)

    def long_enough_blocks(self, arms: Sequence[Arm], *_: object) -> list[Block]:
        """Return one iteration for each arm."""
        return [Block(iterations=1)] * len(arms)


def stopwatch_of(arms: Sequence[ArmRun], framework: Framework, stopwatch: Stopwatch) -> Stopwatch:
    """Return a stopwatch that flushes before blocks of these arms; if caches cannot be flushed, the arms fail."""
    devices = [computed_on(arm.label, arm.placement) for arm in arms if arm.placement is not None]
    try:
        return ColdStopwatch(stopwatch, flush_of(framework, devices))
    except Unavailable as error:
        for arm in arms:
            arm.fail("unavailable", reason_of(error))
        return stopwatch


def flush_of(framework: Framework, devices: Iterable[str]) -> Flush:
    """Return a function that flushes the accelerator's cache, and the processor's unless all ``devices`` are ``GPU``.

    The interpreter runs from the processor's caches, so flushing them would slow down every launch on a GPU too.

    Raises:
        Unavailable: a cache cannot be flushed.
    """
    flushes = [framework.cache_flush()]
    if {*devices} != {"GPU"}:
        flushes.append(processor_flush())

    def flush() -> None:
        for each in flushes:
            each()

    return flush


def processor_flush(folder: Path = CPUS) -> Flush:
    """Return a function by which each core that this process may use overwrites its share of the caches.

    Raises:
        Unavailable: the system does not show the sizes of the caches.
    """
    shares = shares_bytes(folder)
    if not shares:
        raise Unavailable(f"the processor's caches cannot be flushed: their sizes do not stand in {folder}")
    buffers = {cpu: np.ones(share_bytes // 8, np.uint64) for cpu, share_bytes in shares.items()}
    pool = ThreadPoolExecutor(len(buffers), thread_name_prefix="flush")

    def write(cpu: int) -> None:
        os.sched_setaffinity(0, {cpu})  # affects this thread only
        np.invert(buffers[cpu], out=buffers[cpu])  # reads as well: writes alone may bypass the caches

    return lambda: list(pool.map(write, buffers))


def shares_bytes(folder: Path) -> dict[int, int]:
    """Return how much each core must write, so that its own caches and the shared ones are overwritten."""
    if not hasattr(os, "sched_getaffinity"):
        return {}
    sizes = {cpu: dict(_caches(folder / f"cpu{cpu}" / "cache")) for cpu in os.sched_getaffinity(0)}
    sharing = [cache for caches in sizes.values() for cache in caches]
    shares = {
        cpu: sum(FLUSH_TIMES * size_bytes // sharing.count(cache) for cache, size_bytes in caches.items())
        for cpu, caches in sizes.items()
    }
    return {cpu: share_bytes for cpu, share_bytes in shares.items() if share_bytes}


def _caches(folder: Path) -> Iterable[tuple[tuple[str, str], int]]:
    """Yield a core's data caches: their level with the cores that share them, and their size in bytes."""
    for cache in folder.glob("index*"):
        with suppress(OSError, ValueError):
            kind, level, shared, size = (
                (cache / name).read_text().strip() for name in ("type", "level", "shared_cpu_list", "size")
            )
            if kind != "Instruction":
                yield (level, shared), 1024 * int(size.removesuffix("K"))
