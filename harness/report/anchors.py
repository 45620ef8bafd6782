"""Names of the places on a page: the same for the same thing in every run, so that links to them last."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

_LONGEST_SLUG = 100  # file systems allow 255 with the rest


@dataclass(frozen=True, kw_only=True)
class Anchors:
    """The anchors of one run's part of a page. ``prefix`` tells the runs of one page apart."""

    prefix: str = ""

    @classmethod
    def of(cls, place: int) -> Anchors:
        """Return the anchors of the run at a place on the page, counted from 0; the first one's need no prefix."""
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
