"""What runs are called on a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC

from harness.reading import Result
from harness.record import Run


def taken_in_words(result: Result) -> str:
    """Say when a run was saved."""
    return f"{result.taken.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if result.taken else "at an unknown time"


def caches_in_words(run: Run) -> str:
    """Return what to add of a run that flushed the caches before every timed block; nothing for another."""
    return ", all with cold caches" if run.settings.get("cache") == "cold" else ""


def told_apart(results: Sequence[Result]) -> list[str]:
    """Return a label for each run, no two alike: its name, and what else it takes."""
    ways: list[Callable[[Result], str]] = [
        lambda result: result.name,
        lambda result: f"{result.name} on {result.run.machine}",
        lambda result: f"{result.name} {result.number:04}",
    ]
    for labels in ([written(result) for result in results] for written in ways):
        if len(set(labels)) == len(labels):
            return labels
    return [f"{result.name} ({place})" for place, result in enumerate(results, start=1)]
