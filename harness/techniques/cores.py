"""How many cores there are to switch between."""

from __future__ import annotations


def cpu_count() -> int:
    """Return the cores that affinity and a container's limit leave to this process."""
    import joblib  # here, since its import takes a tenth of a second, and every worker imports the techniques

    return int(joblib.cpu_count())
