"""Accept what a check raised, with the reason."""

from __future__ import annotations

from pathlib import Path

from harness.errors import BadInput
from harness.reading.history.gate.accepted import accept
from harness.reading.history.gate.check import Check, Finding
from harness.untrusted import shown

_NAMED = 4  # of what there is to accept, in a message of one line


def accept_raised(check: Check, text: str, reason: str, path: Path) -> Finding:
    """Write to a file that one change is accepted, and return it: the only one raised whose name holds a text.

    Raises:
        BadInput: nothing raised, or more than one thing, has that name; or the file cannot be written.
    """
    if not reason.strip():
        raise BadInput("--reason is empty; say in a few words why the change is accepted")
    raised = check.of("lost", "slower", "faster")
    found = [each for each in raised if text == each.subject.key] or [each for each in raised if text in _name(each)]
    if len(found) != 1:
        said = f"names {len(found)} of what is raised" if found else "is not raised"
        there = "; ".join(shown(each.subject.key) for each in (found or raised)[:_NAMED]) or "nothing"
        raise BadInput(f"--accept {shown(text)!r}: it {said}; give one of: {there}")
    (only,) = found
    accept(path, only.subject, only.since, None if only.verdict == "lost" else only.ratio, reason)
    return only


def _name(finding: Finding) -> str:
    subject = finding.subject
    return f"{subject.key} {subject.level} on {subject.workload} {subject.kind}"
