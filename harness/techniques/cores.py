"""How many cores there are to switch between, and how many threads that makes."""

from __future__ import annotations

from harness.errors import Unavailable


def cpu_count() -> int:
    """Return the cores that affinity and a container's limit leave to this process."""
    import joblib  # here, since its import takes a tenth of a second, and every worker imports the techniques

    return int(joblib.cpu_count())


def threads_at(level: str, cores: int) -> int:
    """Return how many threads ``"1"``, ``"half"`` or ``"all"`` are; half of three cores is one."""
    return {"1": 1, "half": max(1, cores // 2), "all": cores}[level]


def threads_here(level: str) -> int:
    """Return how many threads a level is in this process.

    Raises:
        Unavailable: it is one, as at the first level.
    """
    count = threads_at(level, cpu_count())
    if level != "1" and count == 1:
        raise Unavailable(f"{level} of this process's cores is one core, so there are no more threads to compare with")
    return count
