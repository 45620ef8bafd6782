"""How long a cache line takes from one core to another: whether the host has put two virtual cores near each other.

A host may move virtual cores between its own. This time then changes for minutes, and with it the speed of whatever
shares memory between threads; no counter of the guest shows it.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import repeat
from statistics import median

BATCHES = 15  # the median counts, since a batch may be interrupted
EXCHANGES = 100  # of a batch, which takes some tens of microseconds
AWAKE, AWAKE_WITHIN_S = 255, 1.0  # what the other side writes as a batch begins, and how long that may take
POLLS = 100_000  # some milliseconds, after which the other side does not run
FLAG_BYTES = 128  # so that the two flags lie in different cache lines

# The other process: it answers a batch of exchanges for each line that it reads, and leaves its core when it gets none.
_PEER = """
import mmap, os, sys
from itertools import repeat
descriptor, core, exchanges, polls, flag_bytes, awake = map(int, sys.argv[1:])
os.sched_setaffinity(0, {core})
memory = mmap.mmap(descriptor, 2 * flag_bytes)
for _ in sys.stdin.buffer:
    memory[flag_bytes] = awake
    for number in range(1, exchanges + 1):
        for _ in repeat(None, polls):
            if memory[0] == number:
                break
        else:
            break
        memory[flag_bytes] = number
"""


class CoreLatency:
    """Reads the latency between two cores by two processes that poll shared memory, one on each core.

    On systems other than Linux, and with fewer than two cores, there is nothing to read.
    """

    def __init__(self, cores: Sequence[int]) -> None:
        self._cores = tuple(cores[:2])
        self._peer: subprocess.Popen[bytes] | None = None
        self._memory: mmap.mmap | None = None

    def read_s(self) -> float | None:
        """Return the seconds from one core to the other, with the polling in Python; None if that cannot be read."""
        if len(self._cores) < 2 or not hasattr(os, "memfd_create"):
            return None
        allowed = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {self._cores[0]})
            batches_s = [self._batch_s() for _ in range(BATCHES)]
        except OSError:  # some containers forbid it; or the other process was killed
            self.close()
            return None
        finally:
            with suppress(OSError):
                os.sched_setaffinity(0, allowed)
        known_s = [batch_s for batch_s in batches_s if batch_s is not None]
        return median(known_s) if len(known_s) > BATCHES // 2 else None

    def close(self) -> None:
        """End the other process."""
        if self._peer is not None:
            self._peer.kill()
            self._peer.communicate()
        self._peer = self._memory = None

    def _batch_s(self) -> float | None:
        """Return the mean seconds of one way in a batch of exchanges, None if the other side did not answer in time."""
        peer, memory = self._start()
        assert peer.stdin is not None
        memory[0] = memory[FLAG_BYTES] = 0
        peer.stdin.write(b"\n")
        end = time.monotonic() + AWAKE_WITHIN_S
        while memory[FLAG_BYTES] != AWAKE:
            if time.monotonic() > end:
                raise TimeoutError
        start = time.perf_counter()
        for number in range(1, EXCHANGES + 1):
            memory[0] = number
            for _ in repeat(None, POLLS):
                if memory[FLAG_BYTES] == number:
                    break
            else:
                self.close()
                return None
        return (time.perf_counter() - start) / (2 * EXCHANGES)

    def _start(self) -> tuple[subprocess.Popen[bytes], mmap.mmap]:
        if self._peer is None or self._memory is None:
            shared = os.memfd_create("accelbench-core-latency")
            try:
                os.truncate(shared, 2 * FLAG_BYTES)
                self._memory = mmap.mmap(shared, 2 * FLAG_BYTES)
                numbers = (shared, self._cores[1], EXCHANGES, POLLS, FLAG_BYTES, AWAKE)
                self._peer = subprocess.Popen(
                    [sys.executable, "-S", "-E", "-c", _PEER, *map(str, numbers)],
                    stdin=subprocess.PIPE,
                    bufsize=0,
                    pass_fds=[shared],
                    start_new_session=True,  # out of the reach of Ctrl-C
                )
            finally:
                os.close(shared)
        return self._peer, self._memory
