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

    def trial(self, name: str) -> str:
        """Return the anchor of a trial, from its id."""
        told_apart = blake2b(name.encode(), digest_size=2).hexdigest()  # slugs of two ids may be one
        return f"{self.prefix}trial-{slug(name.rpartition('::')[2])}-{told_apart}"

    def technique(self, framework: str, technique: str) -> str:
        """Return the anchor of a technique in a framework."""
        return f"{self.prefix}technique-{slug(framework)}-{slug(technique)}"

    def workload(self, workload: str) -> str:
        """Return the anchor of a workload."""
        return f"{self.prefix}workload-{slug(workload)}"

    def section(self, name: str) -> str:
        """Return the anchor of a section that every run has."""
        return f"{self.prefix}{name}"


def slug(text: str) -> str:
    """Return a name for a file or an anchor: words of letters and digits, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_LONGEST_SLUG].strip("-") or "unnamed"
