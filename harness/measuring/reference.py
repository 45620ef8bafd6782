"""Small pieces of work whose length never changes: what takes them longer has slowed the machine down."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

REPEATS = 3  # the fastest counts: an interruption lengthens one of them, a slower machine all
NUMBERS = 2048  # fit into the fastest cache
BUFFER_BYTES = 32 * 2**20  # read piece by piece, so that each piece has left the caches when its turn comes again
PIECE_BYTES = 2**20


class Reference:
    """Arithmetic within a core, and reading from memory. NumPy alone, since it runs in every framework's worker.

    Both together take some tenths of a millisecond. Arithmetic tells a clock that dropped or a neighbour on the same
    core, which neither load nor steal shows where the neighbour is another machine's; reading tells a busy memory.
    """

    def __init__(self) -> None:
        self._numbers = np.linspace(1.0, 2.0, NUMBERS)
        self._results = np.empty_like(self._numbers)
        self._pieces = np.ones(BUFFER_BYTES // 8).reshape(-1, PIECE_BYTES // 8)
        self._turn = 0

    def arithmetic_s(self) -> float:
        """Return the seconds that a few thousand square roots and exponentials take."""
        return min(self._calculated_s() for _ in range(REPEATS))

    def memory_s(self) -> float:
        """Return the seconds that a mebibyte takes from memory."""
        return min(self._read_s() for _ in range(REPEATS))

    def _calculated_s(self) -> float:
        start = time.perf_counter()
        np.sqrt(self._numbers, out=self._results)
        np.exp(self._numbers, out=self._results)
        return time.perf_counter() - start

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
