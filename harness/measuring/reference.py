"""Small pieces of work whose length never changes: what takes them longer has slowed the machine down."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import repeat
from threading import Barrier

import numpy as np
from numpy.lib.stride_tricks import as_strided

REPEATS = 3  # the fastest counts: an interruption lengthens one of them, a slower machine all
NUMBERS = 2048  # fit into the fastest cache
ROWS = 1000  # some milliseconds of them
BUFFER_BYTES = 32 * 2**20  # read piece by piece, so that each piece has left the caches when its turn comes again
PIECE_BYTES = 2**20


class Reference:
    """Arithmetic within a core, and reading from memory. NumPy alone, since it runs in every framework's worker.

    Both together take some tenths of a millisecond. Arithmetic tells a clock that dropped or a neighbour on the same
    core, which neither load nor steal shows where the neighbour is another machine's; reading tells a busy memory. By
    all cores at once, arithmetic tells what they are worth: a host may run several of them on one core of its own.
    """

    def __init__(self) -> None:
        self._numbers = np.linspace(1.0, 2.0, NUMBERS)
        self._results = np.empty_like(self._numbers)
        self._pieces = np.ones(BUFFER_BYTES // 8).reshape(-1, PIECE_BYTES // 8)
        self._turn = 0

    def arithmetic_s(self) -> float:
        """Return the seconds that a few thousand square roots and exponentials take."""
        return min(self._calculated_s() for _ in range(REPEATS))

    def cores_worth(self, places: Sequence[int]) -> float:
        """Return how many times the work of one core those of these numbers do at once."""
        alone_s, together_s = (min(self._at_once_s(held) for _ in range(REPEATS)) for held in (places[:1], places))
        return len(places) * alone_s / together_s

    def memory_s(self) -> float:
        """Return the seconds that a mebibyte takes from memory."""
        return min(self._read_s() for _ in range(REPEATS))

    def _calculated_s(self) -> float:
        start = time.perf_counter()
        np.sqrt(self._numbers, out=self._results)
        np.exp(self._numbers, out=self._results)
        return time.perf_counter() - start

    def _at_once_s(self, places: Sequence[int]) -> float:
        """Return the seconds from the first to the last of some threads, one on each of these cores."""
        ready = Barrier(len(places))
        with ThreadPoolExecutor(len(places)) as pool:
            begun, ended = zip(*pool.map(self._rooted, repeat(ready), places), strict=True)
        return float(max(ended) - min(begun))

    def _rooted(self, ready: Barrier, place: int) -> tuple[float, float]:
        """Take millions of roots in a single call, for which no other thread waits; return when it began and ended."""
        with suppress(OSError):  # some containers forbid it
            os.sched_setaffinity(0, {place})  # of this thread alone
        results = as_strided(np.empty_like(self._numbers), (ROWS, NUMBERS), (0, self._numbers.itemsize))
        ready.wait()
        begun = time.perf_counter()
        np.sqrt(np.broadcast_to(self._numbers, (ROWS, NUMBERS)), out=results)
        return begun, time.perf_counter()

    def _read_s(self) -> float:
        self._turn = (self._turn + 1) % len(self._pieces)
        piece = self._pieces[self._turn]
        start = time.perf_counter()
        piece.sum()
        return time.perf_counter() - start


@cache
def reference() -> Reference:
    """Return this process's reference, whose memory is filled when it is first asked for."""
    return Reference()
