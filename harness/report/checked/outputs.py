"""A check as text for a terminal and as JSON for other programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from harness import units
from harness.reading.history.gate.check import Check, Finding
from harness.report.checked.sentences import (
    GLYPHS,
    MOST,
    finding_in_words,
    headline,
    subject_in_words,
    undecided_in_words,
)
from harness.untrusted import shown


def as_text(check: Check) -> str:
    """Return the findings that one acts on, line by line."""
    lines = [headline(check)]
    for verdict in ("lost", "slower", "faster"):
        found = check.of(verdict)
        lines += [f"{GLYPHS[verdict]} {line_of(finding)}" for finding in found[:MOST]]
        lines += [f"{GLYPHS[verdict]} {units.count(len(found) - MOST)} more {verdict}"] if len(found) > MOST else []
    lines += [f"{GLYPHS['undecided']} {sentence}" for sentence in undecided_in_words(check)]
    return "\n".join(map(shown, [*lines, *check.remarks]))


def line_of(finding: Finding) -> str:
    """Return what was looked at, and what became of it."""
    return f"{subject_in_words(finding.subject)}: {finding_in_words(finding)}"


def as_json(check: Check, *, strict: bool = False) -> str:
    """Return every finding; what has no bound or is not known is null."""
    told = {
        "run": check.run,
        "compared_with": check.compared_with,
        "status": check.status(strict=strict),
        "findings": [_plain(finding) for finding in check.findings],
        "remarks": check.remarks,
    }
    return json.dumps(told, indent=2)


def _plain(finding: Finding) -> dict[str, Any]:
    values = {**asdict(finding), "says": line_of(finding)}
    subject = values.pop("subject")
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in {**subject, **values}.items()
    }
