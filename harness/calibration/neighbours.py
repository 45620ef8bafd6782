"""Busy neighbours: processes that take cores from what is being measured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from joblib import cpu_count

# Ends by itself when the process that started it, whose id it is given, is gone, however that ended.
_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(10**5))"


def half_of_the_cores() -> int:
    """Return how many neighbours keep half of the cores busy."""
    return max(1, int(cpu_count()) // 2)


@contextmanager
def busy_neighbours(number: int) -> Iterator[None]:
    """Keep so many cores busy for the duration."""
    command = [sys.executable, "-c", _BUSY, str(os.getpid())]
    silent = subprocess.DEVNULL
    processes = [subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
