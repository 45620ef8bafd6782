"""How many cores there are to switch between, and how many threads that makes."""

from __future__ import annotations


def cpu_count() -> int:
    """Return the cores that affinity and a container's limit leave to this process."""
    import joblib  # here, since its import takes a tenth of a second, and every worker imports the techniques

    return int(joblib.cpu_count())


def threads_at(level: str, cores: int) -> int:
    """Return how many threads ``"1"``, ``"half"`` or ``"all"`` are; half of three cores is one."""
    return {"1": 1, "half": max(1, cores // 2), "all": cores}[level]
