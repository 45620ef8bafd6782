"""Does an arm leave work behind? When a block has ended, its output is there and nothing of it runs on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from accelbench.core import Arm
from accelbench.frameworks import Framework
from accelbench.measuring.checks import output as check
from accelbench.measuring.costs import resources
from accelbench.measuring.referee import Stopwatch
from accelbench.schema.reasons import Reason, reason
from accelbench.text import join_names

LATE_SHARE = 0.2  # of the step's time: an unfinished output takes that much longer to read the first time
LATE_S = 100e-6
LATE_TIMES = 3  # step ends that must agree, since other work on the machine may have delayed one
READ_AGAIN = 3  # a single reading may be lucky: in memory that was just freed it takes a fifth of the time
LOOK_S = 0.02  # how long each thread is to have had the processor and the interpreter to itself, had it wanted to
LONGEST_LOOK_S = 2.0
LOOKS = 2  # a thread that only wakes up for a moment is idle at the second one
BUSY_SHARE = 0.05  # of the time in which it could have worked: a waiting thread uses none
TURN_S = 0.0005  # of threads that take turns in the interpreter, so that each has many during a look; usually 5 ms
# The clocks of another process's or thread's CPU time: linux/posix-timers_types.h, CPUCLOCK_SCHED, CPUCLOCK_PERTHREAD.
_PROCESS, _THREAD = 2, 6


class StepEnd:
    """The checked steps of an arm, and what their output was when they had ended."""

    def __init__(self, arm: Arm, framework: Framework, stopwatch: Stopwatch) -> None:
        self.framework, self.clock = framework, stopwatch.clock
        with arm.enter():
            start = self.clock()
            self.output = check.run(arm, framework)
            ended = self.clock()
            self.values = framework.to_host(self.output)
            self.read_s, self.run_s = self.clock() - ended, ended - start

    def late_s(self) -> float:
        """Return how much longer the first reading took than each later one, 0 where readings vary as much."""
        again_s, kept = 0.0, []
        for _ in range(READ_AGAIN):
            start = self.clock()
            kept.append(self.framework.to_host(self.output))  # so that each reading finds new memory, as the first did
            again_s = max(again_s, self.clock() - start)
            if self.read_s - again_s <= max(LATE_S, again_s, LATE_SHARE * self.run_s):
                return 0.0
        return self.read_s - again_s

    def has_changed(self) -> bool:
        """Return whether the output is no longer what it was."""
        return not check.identical(self.framework.to_host(self.output), self.values)


def find_background_work(ending: StepEnd, again: Callable[[], StepEnd], bystanders: Collection[int]) -> Reason | None:
    """Return a reason if work goes on after the end of the steps; a late end is repeated, since it may be chance."""
    delays_s = [ending.late_s()]
    while delays_s[-1] and len(delays_s) < LATE_TIMES:
        ending = again()  # into whose output a recorded graph writes, too
        delays_s.append(ending.late_s())
    if late_s := min(delays_s):
        return reason("output-late", late_s=late_s)
    if names := find_running(bystanders):
        return reason("background-work", worker=join_names(names))
    return reason("output-written-late") if ending.has_changed() else None


def threads_and_processes() -> frozenset[int]:
    """Return the threads and descendants of this process, by their numbers."""
    return frozenset(_names())


def find_running(bystanders: Collection[int]) -> list[str]:
    """Return the names of threads and processes, other than bystanders, that go on working; only Linux shows them.

    Threads that Python does not know are left out: many libraries let them spin for a while to wait for more work.
    """
    if sys.platform != "linux":
        return []
    names = {number: name for number, name in _names().items() if number not in bystanders}
    turn_s = sys.getswitchinterval()
    sys.setswitchinterval(min(turn_s, TURN_S))
    try:
        for _ in range(LOOKS):
            busy = _find_busy(names, bystanders) if names else ()
            names = {number: names[number] for number in busy}
    finally:
        sys.setswitchinterval(turn_s)
    return sorted(set(names.values()))


def _find_busy(numbers: Collection[int], bystanders: Collection[int]) -> list[int]:
    """Return which threads and processes worked for more than ``BUSY_SHARE`` of the time in which they could.

    On a busy machine a thread waits for a core, and it takes turns in the interpreter with bystanders that work. The
    look goes on until that has left time enough to everyone.
    """
    start = time.perf_counter()
    cpu_s, waited_s, beside_s = _cpu_s(numbers), _waiting_times_s(numbers), _cpu_s(bystanders)
    while True:
        time.sleep(LOOK_S)
        used_s, delayed_s = _since(cpu_s, _cpu_s(numbers)), _since(waited_s, _waiting_times_s(numbers))
        rivals = sum(used > 0 for used in _since(beside_s, _cpu_s(bystanders)).values())
        looked_s = time.perf_counter() - start
        could_s = {number: (looked_s - delayed_s[number]) / (1 + rivals) for number in numbers}
        if min(could_s.values()) >= LOOK_S or looked_s > LONGEST_LOOK_S:
            return [number for number in numbers if used_s[number] > BUSY_SHARE * max(could_s[number], 0.0)]


def _names() -> dict[int, str]:
    own = threading.get_native_id()
    threads = {
        thread.native_id: f"the thread {thread.name!r}"
        for thread in threading.enumerate()
        if thread.native_id and thread.native_id != own
    }
    return threads | {process.pid: "a process that it started" for process in resources.process_tree()[1:]}


def _cpu_s(numbers: Iterable[int]) -> dict[int, float]:
    return {number: max(_clock_s(number, _THREAD), _clock_s(number, _PROCESS)) for number in numbers}


def _since(before: Mapping[int, float], after: Mapping[int, float]) -> dict[int, float]:
    return {number: after[number] - before[number] for number in before}


def _waiting_times_s(numbers: Iterable[int]) -> dict[int, float]:
    """Return how long threads were ready to run and had no core, 0 where the kernel does not count it."""
    return {number: resources.run_delay_s(number) for number in numbers}


def _clock_s(number: int, kind: int) -> float:
    try:
        return time.clock_gettime((~number << 3) | kind)
    except OSError:  # it has ended, or is of the other kind
        return 0.0
