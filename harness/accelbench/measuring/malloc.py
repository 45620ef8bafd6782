"""The memory allocator's state, on which the speed of the same code depends.

glibc's malloc returns freed memory above a threshold to the system and asks for it again in the next iteration, page by
page. It raises the threshold once a large block was freed, so an iteration costs thousands of page faults early in a
process's life and none later. jemalloc keeps freed memory for seconds, and macOS has thresholds of its own that stay.
"""

from __future__ import annotations

import numpy as np

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # not on Windows

    def page_faults() -> int:
        """Return 0: the system has no such count."""
        return 0

else:

    def page_faults() -> int:
        """Return the number of this process's minor page faults so far."""
        return getrusage(RUSAGE_SELF).ru_minflt


LARGEST_BYTES = 31 * 2**20  # glibc lets the threshold follow freed blocks of up to 32 MiB (malloc/malloc.c)


def raise_thresholds() -> None:
    """Bring glibc's malloc into the state of a process that has freed a large array.

    That is the state in which a program's loop runs, unless it never frees more than some kilobytes at once.
    """
    np.ones(LARGEST_BYTES, np.uint8)
