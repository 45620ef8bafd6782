"""Does the baseline compute, or does it wait? A baseline that sleeps makes every candidate look fast.

Over the timed blocks, the processor time of this process is compared with the wall time. It includes all threads. Where
it is far less, the baseline runs for another moment, and everything that may honestly work meanwhile is counted too:
child processes, disks, and the wait for a free core.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from accelbench.core import Arm
from accelbench.measuring.costs import resources
from accelbench.measuring.referee import Referee, Stopwatch
from accelbench.schema.reasons import Reason, reason

BUSY_SHARE = 0.5  # of the wall time: below it, a baseline is looked at again, and a long block computed nothing
LOOK_S = 0.25  # many ticks of 10 ms, in which the system counts the processor time of child processes


def processor_clock_beside(clock: Callable[[], float]) -> Callable[[], float] | None:
    """Return the clock of this process's processor time, None beside a clock that is not the wall clock.

    The time of a child process, such as a compiler, is added when it has ended.
    """
    return _processor_s if clock is time.perf_counter else None


def _processor_s() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What this process and its descendants have done so far.

    ``busy_s`` is the time in which they had a core, in which this process's main thread waited for one, or in which one
    of them waited for a disk, where the system counts that. ``disk_bytes`` are those read from disks and written.
    """

    busy_s: float
    disk_bytes: int

    @classmethod
    def read(cls) -> Activity:
        """Return what has been done so far."""
        tree = resources.process_tree()
        return cls(
            busy_s=resources.cpu_s(tree) + resources.run_delay_s() + sum(map(_waited_for_disk_s, tree)),
            disk_bytes=_disk_bytes(tree),
        )


def find_idle_time(
    baseline: Arm, referee: Referee, stopwatch: Stopwatch, read: Callable[[], Activity] = Activity.read
) -> Reason | None:
    """Return a flag if a timed baseline waits for most of its time while nothing works for it that can be seen.

    What an accelerator or another machine does cannot be seen here.
    """
    iterations, samples_s = referee.iterations[0], referee.samples_s[0]
    if referee.stopwatch.processor_clock is None or not any(samples_s):
        return None
    busy = sum(referee.processor_s[0]) / (iterations * sum(samples_s))
    if busy >= BUSY_SHARE:
        return None
    before, start_s = read(), stopwatch.clock()
    stopwatch.run_for(baseline, LOOK_S, iterations)
    span_s, after = stopwatch.clock() - start_s, read()
    if after.disk_bytes > before.disk_bytes:
        return None
    busy = max(busy, (after.busy_s - before.busy_s) / span_s)
    return reason("idle-baseline", busy=busy) if busy < BUSY_SHARE else None


def _waited_for_disk_s(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        return float(getattr(process.cpu_times(), "iowait", 0.0))
    return 0.0


def _disk_bytes(processes: Iterable[psutil.Process]) -> int:
    """Return the bytes that these processes have read from disks and written; 0 where the system does not count."""
    total = 0
    for process in processes:
        with suppress(psutil.Error, AttributeError, OSError):
            counters = process.io_counters()
            total += counters.read_bytes + counters.write_bytes
    return total
