"""Does an arm leave work behind? When a block has ended, its output is there and nothing of it runs on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable

from harness.experiment import Arm
from harness.frameworks import Framework
from harness.measuring import check, family
from harness.measuring.stopwatch import Stopwatch
from harness.units import seconds

LATE_SHARE = 0.2  # of the step's time: reading an output takes so much longer at first where it was not finished
LATE_S = 100e-6
LATE_TIMES = 3  # so many endings must agree, since a neighbour may have delayed one
READ_AGAIN = 3  # a single reading may be lucky: in memory that was just freed it takes a fifth of the time
LOOK_S = 0.02
LOOKS = 2  # what only wakes up for a moment is idle at the second one
BUSY_SHARE = 0.05  # of a core: what waits uses none, and what works may have to share one with neighbours
# The clocks of another process's or thread's CPU time: linux/posix-timers_types.h, CPUCLOCK_SCHED, CPUCLOCK_PERTHREAD.
_PROCESS, _THREAD = 2, 6


class Ending:
    """The checked steps of an arm, and what there was to read when they had ended."""

    def __init__(self, arm: Arm, framework: Framework, stopwatch: Stopwatch) -> None:
        self.framework, self.clock = framework, stopwatch.clock
        with arm.entered():
            start = self.clock()
            self.output = check.run(arm, framework)
            ended = self.clock()
            self.values = framework.to_host(self.output)
            self.read_s, self.run_s = self.clock() - ended, ended - start

    def late_s(self) -> float:
        """Return how much longer reading took than each time it was read again, 0 where readings vary as much."""
        again_s, kept = 0.0, []
        for _ in range(READ_AGAIN):
            start = self.clock()
            kept.append(self.framework.to_host(self.output))  # so that each reading finds new memory, as the first did
            again_s = max(again_s, self.clock() - start)
            if self.read_s - again_s <= max(LATE_S, again_s, LATE_SHARE * self.run_s):
                return 0.0
        return self.read_s - again_s

    def changed(self) -> bool:
        """Say whether the output is not what it was."""
        return not check.identical(self.framework.to_host(self.output), self.values)


def leftovers(ending: Ending, again: Callable[[], Ending], bystanders: Collection[int]) -> str | None:
    """Return a sentence where work goes on after an ending; one that seems late is repeated, for it may be chance."""
    delays_s = [ending.late_s()]
    while delays_s[-1] and len(delays_s) < LATE_TIMES:
        ending = again()  # into whose output a recorded graph writes, too
        delays_s.append(ending.late_s())
    if late_s := min(delays_s):
        return (
            f"the output was not there when the block ended: reading it took {seconds(late_s)} longer than reading it "
            "again, as where a synchronise is missing or another thread or stream still works"
        )
    if going_on := running(bystanders):
        return going_on
    if ending.changed():
        return "the output changes after the block has ended: another thread or stream still writes it"
    return None


def present() -> frozenset[int]:
    """Return the threads and descendants of this process, by their numbers."""
    return frozenset(_names())


def running(bystanders: Collection[int]) -> str | None:
    """Return a sentence where threads or processes go on working that are no bystanders; only Linux tells.

    Threads that Python does not know are left alone: many libraries let them spin for a while to wait for more work.
    """
    names = {number: name for number, name in _names().items() if number not in bystanders}
    for _ in range(LOOKS if sys.platform == "linux" else 0):
        if not names:
            return None
        before, start = _cpu_s(names), time.perf_counter()
        time.sleep(LOOK_S)
        after, looked_s = _cpu_s(names), time.perf_counter() - start
        busy = [number for number in names if after[number] - before[number] > BUSY_SHARE * looked_s]
        names = {number: names[number] for number in busy}
    return f"{' and '.join(sorted(set(names.values())))} went on working after the block had ended" if names else None


def _names() -> dict[int, str]:
    own = threading.get_native_id()
    threads = {
        thread.native_id: f"the thread {thread.name!r}"
        for thread in threading.enumerate()
        if thread.native_id and thread.native_id != own
    }
    return threads | {process.pid: "a process that it started" for process in family.members()[1:]}


def _cpu_s(numbers: Iterable[int]) -> dict[int, float]:
    return {number: max(_clock_s(number, _THREAD), _clock_s(number, _PROCESS)) for number in numbers}


def _clock_s(number: int, kind: int) -> float:
    try:
        return time.clock_gettime((~number << 3) | kind)
    except OSError:  # it has ended, or is of the other kind
        return 0.0
