"""A check as CI services read it: Markdown for a pull request, workflow commands of GitHub Actions, JUnit's XML."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET

from harness import units
from harness.reading.history.gate.check import Check, Finding
from harness.report.checked.outputs import line_of
from harness.report.checked.sentences import (
    GLYPHS,
    MOST,
    finding_in_words,
    headline,
    subject_in_words,
    undecided_in_words,
)
from harness.report.rendering import rendered
from harness.untrusted import shown


@dataclass(frozen=True, kw_only=True)
class CheckInShort:
    """What a comment on a pull request says: rows of a glyph, what was looked at, and what became of it."""

    title: str
    headline: str
    rows: list[tuple[str, str, str]]
    more: str
    sentences: list[str]


def as_markdown(check: Check) -> str:
    """Return a comment for a pull request."""
    found = check.of("lost", "slower", "faster")
    short = CheckInShort(
        title=f"{units.plural(len(check.regressions), 'regression')}" if check.regressions else "No regression",
        headline=headline(check),
        rows=[
            (GLYPHS[each.verdict], subject_in_words(each.subject), finding_in_words(each)) for each in found[: 2 * MOST]
        ],
        more=f"{units.count(len(found) - 2 * MOST)} more are not listed here." if len(found) > 2 * MOST else "",
        sentences=[*undecided_in_words(check), *check.remarks],
    )
    return rendered("check.md.j2", short)


def as_github(check: Check) -> str:
    """Return workflow commands, which annotate a run: errors, notices, and warnings for what is undecided.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    annotated = [_command("error", check.path, "Regression", line_of(each)) for each in check.regressions]
    annotated += [_command("notice", check.path, "Improvement", line_of(each)) for each in check.of("faster")]
    annotated += [_command("warning", check.path, "Undecided", sentence) for sentence in undecided_in_words(check)]
    annotated += [_command("warning", check.path, "Remark", remark) for remark in check.remarks]
    return "\n".join([*annotated, _command("notice", check.path, "accelbench check", headline(check))])


def as_junit(check: Check, *, strict: bool = False) -> str:
    """Return one test case per series: a regression failed, what is undecided was skipped, or failed if that counts."""
    suite = ET.Element("testsuite", name="accelbench check", tests=str(len(check.findings)))
    counts = {"failure": 0, "skipped": 0}
    for finding in check.findings:
        name = shown(f"{subject_in_words(finding.subject)} [{finding.subject.key}]")
        case = ET.SubElement(suite, "testcase", classname=f"accelbench.{finding.subject.kind}", name=name)
        if outcome := _outcome(finding, strict=strict):
            counts[outcome] += 1
            told = ET.SubElement(case, outcome, message=shown(finding_in_words(finding)))
            if outcome == "failure":
                told.set("type", finding.verdict)
                told.text = shown(line_of(finding))
    suite.set("failures", str(counts["failure"]))
    suite.set("skipped", str(counts["skipped"]))
    suite.set("errors", "0")
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, encoding="unicode")


def _outcome(finding: Finding, *, strict: bool) -> str:
    if finding.verdict in ("lost", "slower"):
        return "failure"
    return ("failure" if strict else "skipped") if finding.verdict == "undecided" else ""


def _command(kind: str, path: str, title: str, message: str) -> str:
    return f"::{kind} file={_escaped(path, ':,')},title={_escaped(title, ':,')}::{_escaped(message)}"


def _escaped(text: str, also: str = "") -> str:
    """Return a text as a workflow command carries it."""
    for character in f"%\r\n{also}":  # the per cent sign first
        text = text.replace(character, f"%{ord(character):02X}")
    return shown(text)
