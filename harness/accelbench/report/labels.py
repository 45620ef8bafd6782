"""Names of runs, and anchors on a page, which stay the same from run to run, so that links keep working."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from hashlib import blake2b

from accelbench.results import Result
from accelbench.schema.result import Run

_LONGEST_SLUG = 100  # file systems allow 255 with the rest


@dataclass(frozen=True, kw_only=True)
class Anchors:
    """The anchors of one run's part of a page. ``prefix`` keeps those of several runs on a page unique."""

    prefix: str = ""

    @classmethod
    def of(cls, place: int) -> Anchors:
        """Return the anchors of the run at a position, counted from 0; those of the first need no prefix."""
        return cls(prefix=f"run-{place + 1}-" if place else "")

    def trial(self, name: str) -> str:
        """Return the anchor of a trial, from its id."""
        return f"{self.prefix}trial-{slug(name.rpartition('::')[2])}-{_digest(name)}"

    def technique(self, framework: str, technique: str) -> str:
        """Return the anchor of a technique in a framework."""
        return f"{self.prefix}technique-{_exact(framework)}-{_exact(technique)}"

    def workload(self, workload: str) -> str:
        """Return the anchor of a workload."""
        return f"{self.prefix}workload-{_exact(workload)}"

    def section(self, name: str) -> str:
        """Return the anchor of a section that every run has."""
        return f"{self.prefix}{name}"


def slug(text: str) -> str:
    """Return a name for a file or an anchor: words of letters and digits, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_LONGEST_SLUG].strip("-") or "unnamed"


def _exact(text: str) -> str:
    """Return a slug that no other text has."""
    return text if slug(text) == text else f"{slug(text)}-{_digest(text)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=2).hexdigest()


def format_taken(result: Result) -> str:
    """Return when a run was saved, in UTC."""
    return f"{result.taken.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if result.taken else "at an unknown time"


def describe_caches(run: Run) -> str:
    """Return a clause for a run that flushed the caches before every timed block; empty for any other run."""
    return ", all with cold caches" if run.settings.get("cache") == "cold" else ""


def unique_labels(results: Sequence[Result]) -> list[str]:
    """Return a unique label for each run: its name, with the machine or the number where names repeat."""
    ways: list[Callable[[Result], str]] = [
        lambda result: result.name,
        lambda result: f"{result.name} on {result.run.machine}",
        lambda result: f"{result.name} {result.number:04}",
    ]
    for labels in ([label(result) for result in results] for label in ways):
        if len(set(labels)) == len(labels):
            return labels
    return [f"{result.name} ({place})" for place, result in enumerate(results, start=1)]
