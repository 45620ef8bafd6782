"""Summarize the strongest findings as Markdown, short enough for a pull request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from accelbench import units
from accelbench.explained_run import count_predictions, name_effect, state_effect
from accelbench.report.certificate import NO_CERTIFICATE, describe_certificate, describe_changes
from accelbench.report.labels import describe_caches, format_taken, unique_labels
from accelbench.report.machine import describe_machine
from accelbench.report.render import Content, render_template
from accelbench.report.statements import Circumstances, choose_surest, circumstances, describe_price
from accelbench.report.verdicts import GLYPHS, count_comparisons
from accelbench.results import Findings, Result
from accelbench.results.arm_table import Row, label_case, rows_of
from accelbench.results.certificates import MachineCertificates
from accelbench.results.combinations import LadderResult
from accelbench.schema.result import Run
from accelbench.schema.run_explanation import list_predictions, list_reasons
from accelbench.schema.verdict import DOUBTFUL
from accelbench.text import format_baseline, format_place, join_sentences

if TYPE_CHECKING:
    from accelbench.report.history_section import HistorySection
    from accelbench.report.side_by_side import SideBySide

# Rows that one reads in a pull request, and ladders and their rungs.
_MOST_PAYING, _MOST_SLOWING, _MOST_BOTTLENECKS, _MOST_BUNDLES = 12, 6, 4, 4
_MOST_LADDERS, _MOST_RUNGS = 4, 12
_MOST_REASONS, _MOST_SENTENCES = 5, 2


def as_markdown(
    runs: Sequence[Findings],
    certificates: Mapping[str, MachineCertificates],
    title: str,
    beside: SideBySide | None = None,
    over_time: HistorySection | None = None,
) -> str:
    """Return the strongest findings of each run, and what changed last; ``certificates`` are by machine."""
    labels = unique_labels([each.result for each in runs])
    content = {
        "title": title,
        "beside": [*beside.changes, *beside.agreement] if beside else [],
        "runs": [
            _summarize(findings, label, certificates.get(findings.run.machine, MachineCertificates()))
            for findings, label in zip(runs, labels, strict=True)
        ],
        "over_time": over_time,
    }
    return render_template("summary.md.j2", content)


def _summarize(findings: Findings, label: str, certificates: MachineCertificates) -> Content:
    """Return one run's part of a summary; ``paying`` and ``slowing`` hold the cells of a row for each technique.

    ``recipes`` are what a user writes for those that pay, where their techniques say so.
    """
    run, result = findings.run, findings.result
    chosen, around = findings.choosable_rows, circumstances(run)
    surest = {verdict: _surest(chosen, verdict, around) for verdict in ("faster", "slower")}
    paying, slowing = ([_cells(row) for row in rows] for rows in surest.values())
    tables = paying[:_MOST_PAYING], slowing[:_MOST_SLOWING]
    return Content(
        name=label,
        taken=format_taken(result),
        machine=describe_machine(run.environment.identity),
        interrupted=run.interrupted,
        counted=_describe_counts(run, findings.effect_rows),
        unmeasured=_unmeasured(findings.rows),
        on_certainty=findings.on_certainty,
        paying=tables[0],
        slowing=tables[1],
        recipes=[_recipe(row) for row in surest["faster"][:_MOST_PAYING] if row["recipe"]],
        has_doubts=any(cell.endswith(DOUBTFUL) for rows in tables for cells in rows for cell in cells),
        accuracies=[
            f"{format_place(each.workload, each.framework, each.held)}: {each.sentence}"
            for each in findings.times_to_accuracy
        ],
        bottlenecks=[each.sentence for each in findings.bottlenecks[:_MOST_BOTTLENECKS]],
        ladders=[_summarize_ladder(each) for each in findings.ladders[:_MOST_LADDERS]],
        bundles=[each.sentence for each in findings.attributions[:_MOST_BUNDLES]],
        why=_summarize_reasons(findings),
        certificate=_describe_certificate(result, certificates),
    )


def _summarize_reasons(findings: Findings) -> list[str]:
    """Return in sentences why effects surprise, and how many keep to what profiles allow."""
    explanation = findings.result.explanation
    if explanation is None:
        return []
    reasons, predictions = list_reasons(explanation, findings.run), list_predictions(explanation, findings.run)
    sentences = [
        f"{name_effect(found)}: {state_effect(found)}. {join_sentences(explained.sentences[:_MOST_SENTENCES])}"
        for explained, found in reasons[:_MOST_REASONS]
    ]
    return [*sentences, *([count_predictions(predictions)] if predictions else [])]


def _describe_counts(run: Run, found: Sequence[Row]) -> str:
    sizes = (
        f"{units.plural(len(found), 'comparison')} in {units.plural(len(run.trials), 'trial')}{describe_caches(run)}"
    )
    return count_comparisons(sizes, (row["verdict"] for row in found))


def _unmeasured(arms: Sequence[Row]) -> str:
    missing = [row["outcome"] for row in arms if row["outcome"] != "measured"]
    each = ", ".join(f"{count} {outcome.replace('-', ' ')}" for outcome, count in Counter(missing).most_common())
    have = "has" if len(missing) == 1 else "have"
    return f"{len(missing)} of {units.plural(len(arms), 'arm')} {have} no speed: {each}." if missing else ""


def _surest(rows: Sequence[Row], verdict: str, around: Circumstances) -> list[Row]:
    """Return the surest effect per technique and framework, the surest gain or loss first, what is doubtful last."""
    return choose_surest([row for row in rows if row["verdict"] == verdict], around)


def _recipe(row: Row) -> Content:
    """Return what a user writes for an effect, with a fence that no line of it closes."""
    runs = re.findall("`+", code := "\n".join(row["recipe"]))
    return Content(
        what=f"{row['level']} ({row['framework']})",
        code=code,
        fence="`" * max(3, *(len(run) + 1 for run in [*runs, ""])),
    )


def _cells(row: Row) -> list[str]:
    return [
        GLYPHS[row["verdict"]],
        row["level"],
        format_baseline(row["baseline_levels"], named=False),
        format_place(row["workload"], row["framework"], label_case(row)),
        _ratio(row, "speedup") + (f" {DOUBTFUL}" if row["flags"] or row["baseline_flags"] else ""),
        describe_price(row),
    ]


def _ratio(row: Row, of: str, bounds: str = "") -> str:
    return units.ratio(row[of], row[f"{bounds}low"], row[f"{bounds}high"])


def _summarize_ladder(ladder: LadderResult) -> Content:
    rungs = rows_of(ladder.rungs.iloc[1 : _MOST_RUNGS + 1])
    steps = [f"{GLYPHS.get(rung['step_verdict'], '')} {_ratio(rung, 'step', 'step_')}".lstrip() for rung in rungs]
    return Content(
        where=format_place(ladder.workload, ladder.framework, ladder.held),
        start=ladder.start,
        rungs=[[rung["rung"], _ratio(rung, "speedup"), step] for rung, step in zip(rungs, steps, strict=True)],
        sentences=[sentence for sentence in (ladder.throughput, ladder.left_out) if sentence],
    )


def _describe_certificate(result: Result, certificates: MachineCertificates) -> str:
    """Return how often identical code was called different, and whether that still holds."""
    if certificates.newest is None:
        return NO_CERTIFICATE
    return " ".join(
        [*describe_certificate(certificates.newest)[:1], *describe_changes(certificates.newest, result.run.environment)]
    )
