"""The findings of a check, each in a sentence."""

from __future__ import annotations

import math
from collections import Counter

from harness import units
from harness.reading.history.gate.check import Check, Finding
from harness.reading.history.gate.series import Subject

GLYPHS = {"lost": "✗", "slower": "▼", "faster": "▲", "undecided": "?", "same": "="}
MOST = 20  # findings of one verdict that are told one by one


def subject_in_words(subject: Subject) -> str:
    """Return what was looked at, such as ``amp bf16 on resnet50-train (torch)``."""
    if subject.kind == "machine":
        return f"machine {subject.key}"
    held = ", ".join(filter(None, (subject.framework, subject.held)))
    if subject.kind == "workload":
        return f"times of {subject.workload} ({held})"
    against = f" against {subject.against}" if subject.against else ""
    return f"{subject.level}{against} on {subject.workload} ({held})"


def finding_in_words(finding: Finding) -> str:
    """Return what became of it, without a full stop."""
    if finding.verdict == "lost":
        return f"has no speed any more; {finding.reason}"
    if finding.verdict == "undecided":
        return f"undecided: {_why_undecided(finding)}"
    if finding.verdict == "same":
        return f"the same: {_change(finding)}"
    return f"{_change(finding)}, in {_where(finding)}{_changed(finding)}"


def counts_in_words(check: Check) -> str:
    """Return how many findings there are of each verdict, such as ``1 slower, 12 same``."""
    counts: Counter[str] = Counter(finding.verdict for finding in check.findings)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in GLYPHS if counts[verdict]) or "nothing to compare"


def headline(check: Check) -> str:
    """Return what was checked, and what came out."""
    runs = f"{units.plural(check.compared_with, 'run')} of the same machine, identity and size"
    return f"{check.run} after {runs}: {counts_in_words(check)}"


def undecided_in_words(check: Check) -> list[str]:
    """Return why findings are undecided, and how many runs would decide them, a sentence for each reason."""
    found = check.of("undecided")
    few = [each for each in found if math.isinf(each.visible)]
    scattered = [each for each in found if each.margin < each.visible < math.inf]
    perhaps = [each for each in found if each.visible <= each.margin]
    told = [
        f"{_undecided(few)}, for {_learnt(few)} tell too little; {_deciding(few)}" if few else "",
        f"{_undecided(scattered)}, for runs lie too far apart to see a change of the size that matters; "
        f"{_deciding(scattered)}"
        if scattered
        else "",
        *(f"undecided: {subject_in_words(each.subject)}: {_perhaps(each)}" for each in perhaps[:MOST]),
        f"undecided: {units.count(len(perhaps) - MOST)} more that perhaps changed" if len(perhaps) > MOST else "",
    ]
    return [sentence for sentence in told if sentence]


def _undecided(found: list[Finding]) -> str:
    first = subject_in_words(found[0].subject)
    return f"undecided: {f'{units.count(len(found))} comparisons, such as ' if len(found) > 1 else ''}{first}"


def _deciding(found: list[Finding]) -> str:
    """Say how many more runs would decide."""
    needed = [each.more_runs for each in found if each.more_runs]
    if not needed:
        return "more runs would not decide, a larger margin would"
    which = "" if len(needed) == len(found) else f" {units.count(len(needed))} of them"
    return f"about {_range(needed, 'more run')} would decide{which}{', a larger margin the others' if which else ''}"


def _learnt(found: list[Finding]) -> str:
    return _range([each.learnt for each in found], "earlier run")


def _range(numbers: list[int], noun: str) -> str:
    low, high = min(numbers), max(numbers)
    return units.plural(low, noun) if low == high else f"{units.count(low)} to {units.plural(high, noun)}"


def _change(finding: Finding) -> str:
    ratio = units.ratio(finding.ratio, finding.low, finding.high)
    if finding.subject.kind != "technique":
        return f"{ratio} as fast as before"
    return f"speedup {units.speedup(finding.before)} → {units.speedup(finding.now)}, which is {ratio} of what it was"


def _where(finding: Finding) -> str:
    newest = "the newest run" if finding.span == 1 else f"the newest {finding.span} runs, from {finding.since} on"
    return f"{newest}, against {units.plural(finding.runs, 'run')}"


def _changed(finding: Finding) -> str:
    return f"; {finding.subject.changed} between them" if finding.subject.changed else ""


def _why_undecided(finding: Finding) -> str:
    if math.isinf(finding.visible):
        return f"{_learnt([finding])} tell too little; {_deciding([finding])}"
    if finding.visible <= finding.margin:
        return _perhaps(finding)
    seen, limit = units.percent(finding.visible), units.percent(finding.margin)
    return (
        f"its runs lie so far apart that a change is seen from {seen} on, and {limit} matters; {_deciding([finding])}"
    )


def _perhaps(finding: Finding) -> str:
    return f"perhaps changed ({_change(finding)}), not beyond chance among so many; {_deciding([finding])}"
