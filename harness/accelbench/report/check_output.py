"""Format a regression check as text, JSON, Markdown for a pull request, GitHub workflow commands or JUnit XML."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any
from xml.etree import ElementTree as ET

from accelbench import units
from accelbench.history.regression_check import MIN_RUNS, RegressionCheck, SubjectVerdict, Verdict
from accelbench.schema.safe_json import printable

_GLYPHS = {"lost": "✗", "slower": "▼", "faster": "▲", "accepted": "✓", "undecided": "?", "same": "="}
_CHANGED: tuple[Verdict, ...] = ("lost", "slower", "faster", "accepted")
_MAX_LISTED = 20  # findings of one verdict that are listed one by one


def format_check(check: RegressionCheck, kind: str, *, strict: bool = False) -> str:
    """Return a check as ``text``, ``json``, ``markdown``, ``github`` or ``junit``."""
    if kind == "json":
        return _as_json(check, strict=strict)
    if kind == "junit":
        return _as_junit(check, strict=strict)
    return {"text": _as_text, "markdown": _as_markdown, "github": _as_github}[kind](check)


def describe_finding(finding: SubjectVerdict) -> str:
    """Return what was checked and the result, as one line."""
    return f"{finding.subject.name}: {_describe_result(finding)}"


def _as_text(check: RegressionCheck) -> str:
    lines = [_headline(check)]
    for verdict in _CHANGED:
        found = check.of(verdict)
        lines += [f"{_GLYPHS[verdict]} {describe_finding(finding)}" for finding in found[:_MAX_LISTED]]
        more = len(found) - _MAX_LISTED
        lines += [f"{_GLYPHS[verdict]} {units.count(more)} more {verdict}"] if more > 0 else []
    lines += [f"{_GLYPHS['undecided']} {sentence}" for sentence in _explain_undecided(check)]
    return "\n".join(map(printable, [*lines, *check.remarks]))


def _as_json(check: RegressionCheck, *, strict: bool) -> str:
    """Return every finding; a value that is unbounded or unknown is null."""
    document = {
        "run": check.run,
        "compared_with": check.compared_with,
        "status": check.status(strict=strict),
        "findings": [_finding_for_json(finding) for finding in check.findings],
        "remarks": check.remarks,
    }
    return json.dumps(document, indent=2)


def _finding_for_json(finding: SubjectVerdict) -> dict[str, Any]:
    values = {**asdict(finding), "says": describe_finding(finding)}
    subject = values.pop("subject")
    return {name: units.finite_or_none(value) for name, value in {**subject, **values}.items()}


def _as_markdown(check: RegressionCheck) -> str:
    """Return a comment on a pull request, with rows of a glyph, what was checked, and what became of it."""
    from accelbench.report.render import Content, render_template  # Jinja loads for this format alone

    found, most = check.of(*_CHANGED), 2 * _MAX_LISTED
    comment = Content(
        title=f"{units.plural(len(check.regressions), 'regression')}" if check.regressions else "No regression",
        headline=_headline(check),
        rows=[(_GLYPHS[each.verdict], each.subject.name, _describe_result(each)) for each in found[:most]],
        more=f"{units.count(len(found) - most)} more are not listed here." if len(found) > most else "",
        sentences=[*_explain_undecided(check), *check.remarks],
    )
    return render_template("check.md.j2", comment)


def _as_github(check: RegressionCheck) -> str:
    """Return workflow commands that annotate a run: errors, notices, and warnings for what is undecided.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    lines = [_command("error", check.path, "Regression", describe_finding(each)) for each in check.regressions]
    lines += [_command("notice", check.path, "Improvement", describe_finding(each)) for each in check.of("faster")]
    lines += [_command("notice", check.path, "Accepted", describe_finding(each)) for each in check.of("accepted")]
    lines += [_command("warning", check.path, "Undecided", sentence) for sentence in _explain_undecided(check)]
    lines += [_command("warning", check.path, "Remark", remark) for remark in check.remarks]
    return "\n".join([*lines, _command("notice", check.path, "accelbench check", _headline(check))])


def _command(kind: str, path: str, title: str, message: str) -> str:
    return f"::{kind} file={_escape(path, ':,')},title={_escape(title, ':,')}::{_escape(message)}"


def _escape(text: str, also: str = "") -> str:
    """Return a text as a workflow command transports it."""
    for character in f"%\r\n{also}":  # the per cent sign first
        text = text.replace(character, f"%{ord(character):02X}")
    return printable(text)


def _as_junit(check: RegressionCheck, *, strict: bool) -> str:
    """Return one test case per series: a regression fails; what is undecided is skipped, or fails if ``strict``.

    An interrupted run is a case of its own that is undecided.
    """
    suite = ET.Element("testsuite", name="accelbench check")
    counts = {"failure": 0, "skipped": 0}
    outcomes = {"lost": "failure", "slower": "failure", "undecided": "failure" if strict else "skipped"}
    for finding in check.findings:
        name = printable(f"{finding.subject.name} [{finding.subject.key}]")
        case = ET.SubElement(suite, "testcase", classname=f"accelbench.{finding.subject.kind}", name=name)
        if outcome := outcomes.get(finding.verdict):
            counts[outcome] += 1
            element = ET.SubElement(case, outcome, message=printable(_describe_result(finding)))
            if outcome == "failure":
                element.set("type", finding.verdict)
                element.text = printable(describe_finding(finding))
    if check.interrupted:
        outcome = outcomes["undecided"]
        counts[outcome] += 1
        case = ET.SubElement(suite, "testcase", classname="accelbench.run", name=printable(check.run))
        ET.SubElement(case, outcome, message=check.interrupted)
    if check.remarks:
        ET.SubElement(suite, "system-out").text = printable("; ".join(check.remarks))
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(counts["failure"]))
    suite.set("skipped", str(counts["skipped"]))
    suite.set("errors", "0")
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, encoding="unicode")


def _headline(check: RegressionCheck) -> str:
    counts: Counter[str] = Counter(finding.verdict for finding in check.findings)
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _GLYPHS if counts[verdict])
    runs = f"{units.plural(check.compared_with, 'run')} of this machine and size"
    return f"{check.run} after {runs}: {listed or 'nothing to compare'}"


def _describe_result(finding: SubjectVerdict) -> str:
    """Return what became of a subject, without a full stop."""
    if finding.verdict == "accepted":
        return f"accepted ({finding.accepted}): {_describe_changed(finding)}"
    if finding.verdict == "undecided":
        ((_, why),) = _reasons([finding])
        return f"undecided: {why}"
    if finding.verdict == "same":
        return f"the same: {_describe_change(finding)}"
    return _describe_changed(finding)


def _describe_changed(finding: SubjectVerdict) -> str:
    """Return a change with the runs that show it, or why there is no speed any more."""
    if finding.reason:
        what = "has" if finding.subject.technique else "the baseline has"
        return f"{what} no speed any more; {finding.reason}"
    newest = "the newest run" if finding.span == 1 else f"the newest {finding.span} runs, from {finding.since} on"
    environment = f"; what differs: {finding.subject.changed}" if finding.subject.changed else ""
    return f"{_describe_change(finding)}, in {newest}, against {units.plural(finding.runs, 'run')}{environment}"


def _describe_change(finding: SubjectVerdict) -> str:
    ratio = units.ratio(finding.ratio, finding.low, finding.high)
    is_beyond = finding.accepted_ratio != 1
    if finding.subject.kind != "technique":
        return f"{ratio} as fast as {'accepted' if is_beyond else 'before'}"
    accepted = units.speedup(finding.before * finding.accepted_ratio)
    reference = f"the {accepted} that is accepted" if is_beyond else "what it was"
    return f"speedup {units.speedup(finding.before)} → {units.speedup(finding.now)}, which is {ratio} of {reference}"


def _explain_undecided(check: RegressionCheck) -> list[str]:
    """Return why findings are undecided and how many runs would decide them, one sentence per reason."""
    sentences = []
    for findings, why in _reasons(check.of("undecided")):
        first = findings[0].subject.name
        named = f"{units.count(len(findings))} comparisons, such as {first}" if len(findings) > 1 else first
        sentences.append(f"undecided: {named}: {why}")
    more = len(sentences) - _MAX_LISTED
    return [*sentences[:_MAX_LISTED], *([f"undecided: {units.count(more)} more that may have changed"] * (more > 0))]


def _reasons(undecided: Sequence[SubjectVerdict]) -> Iterator[tuple[list[SubjectVerdict], str]]:
    """Yield the findings that share a reason, with the reason and how many more runs would decide them."""
    unknown = [each for each in undecided if math.isinf(each.visible)]
    few = [each for each in unknown if each.known_runs < MIN_RUNS]
    if decidable := [each for each in few if each.more_runs]:
        yield decidable, f"{_too_few(decidable)}; {_runs_needed(decidable)}"
    if scattered := [each for each in few if not each.more_runs]:
        beyond = "such runs spread so much that it takes a larger margin as well as more runs"
        yield scattered, f"{_too_few(scattered)}, and {beyond}"
    absent = [each for each in unknown if each.known_runs >= MIN_RUNS]
    if absent:
        yield absent, "none of the runs that it is compared with has a comparable speed; --baseline names others"
    scattered = [each for each in undecided if each.margin < each.visible < math.inf]
    if scattered:
        least = math.ceil(1000 * median(each.visible for each in scattered)) / 10  # rounded up, it exceeds the margin
        shown = f"one of {least:g} % would show" + (" in half of them" if len(scattered) > 1 else "")
        spread = "the runs spread too much to show a change of the size that matters"
        yield scattered, f"{spread} ({shown}); {_runs_needed(scattered)}"
    for each in undecided:
        if each.visible <= each.margin:
            yield [each], f"may have changed ({_describe_change(each)}), but not beyond chance; {_runs_needed([each])}"


def _too_few(findings: Sequence[SubjectVerdict]) -> str:
    known = [each.known_runs for each in findings]
    return f"{_format_range(known, 'earlier run')} {'is' if set(known) == {1} else 'are'} too few"


def _runs_needed(findings: Sequence[SubjectVerdict]) -> str:
    needed = [each.more_runs for each in findings if each.more_runs]
    if not needed:
        return "more runs would not decide, a larger margin would"
    of = "" if len(needed) == len(findings) else f" {units.count(len(needed))} of them, a larger margin the others"
    return f"about {_format_range(needed, 'more run')} would decide{of}"


def _format_range(numbers: list[int], noun: str) -> str:
    low, high = min(numbers), max(numbers)
    return units.plural(low, noun) if low == high else f"{units.count(low)} to {units.count(high)} {noun}s"
