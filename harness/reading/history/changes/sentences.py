"""One sentence per change of a history."""

from __future__ import annotations

from harness import units
from harness.reading.history.changes.search import Change


def sentence(change: Change) -> str:
    """Return a change as a sentence without its full stop.

    Such as ``amp bf16 on resnet-50 (torch): 1.80× → 1.63× (1.60–1.66) since run 0042_nightly; NVIDIA driver
    570.124 → 580.65 at that run``. The interval of a technique's step is that of the level after it.
    """
    run = change.since.rpartition("/")[2]
    if change.shape == "drift":
        drifted = units.ratio(change.ratio, change.low, change.high)
        ends = f", {_levels(change)} in all" if change.kind == "technique" else ""
        return f"{_subject(change)}: a slow drift, {drifted} per 100 runs since run {run}{ends}"
    if change.kind == "technique":
        interval = units.bounds(change.before * change.low, change.before * change.high)
        said = f"{_levels(change)} ({interval})"
    else:
        said = f"takes {units.ratio(change.ratio, change.low, change.high)} as long"
    return f"{_subject(change)}: {said} since run {run}; {change.environment}"


def _levels(change: Change) -> str:
    return f"{units.speedup(change.before)} → {units.speedup(change.after)}"


def _subject(change: Change) -> str:
    if change.kind == "machine":
        return f"everything on {change.machine}"
    held = ", ".join(filter(None, [change.framework, change.problem]))
    place = f"{change.workload} ({held})"
    return f"{change.level} on {place}" if change.kind == "technique" else place
