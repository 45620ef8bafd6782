"""Write the page of one run or several into a folder, with its figures, a summary and the effects as files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accelbench import units
from accelbench.locations import Published, join_location, local_path, publish
from accelbench.report.card import badge, card, has_card
from accelbench.report.certificate import CertificateSummary, summarize_certificate
from accelbench.report.exports import as_parquet, export_effects, format_csv
from accelbench.report.figures import render
from accelbench.report.figures.drawing import RenderedFigure
from accelbench.report.labels import Anchors, describe_caches, format_taken, unique_labels
from accelbench.report.machine import (
    describe_card,
    describe_ceilings,
    describe_configuration,
    describe_disturbance,
    describe_machine,
    describe_software,
    describe_time,
)
from accelbench.report.overview import overview
from accelbench.report.render import Content, render_template
from accelbench.report.sections import (
    technique_sections,
    thresholds,
    trial_sections,
    workload_sections,
)
from accelbench.report.statements import (
    circumstances,
    group_doubts,
    group_unmeasured,
    state_findings,
)
from accelbench.report.summary import as_markdown
from accelbench.report.tables import matrices, tabulate_effects, tabulate_overview
from accelbench.report.verdicts import count_comparisons
from accelbench.report.why_section import explain_effects
from accelbench.results import Findings, Result
from accelbench.results.certificates import MachineCertificates
from accelbench.schema.result import DISBELIEVED
from accelbench.schema.verdict import NEGLIGIBLE


def _run_part(findings: Findings, label: str, certificate: CertificateSummary, anchors: Anchors) -> Content:
    """Return one run's part of a page. What is about a technique without a section is ``general``."""
    run = findings.run
    rows, chosen = findings.rows, findings.choosable_rows
    around, lost = circumstances(run), group_unmeasured(rows)
    figures = [replace(figure, name=f"{anchors.prefix}{figure.name}") for figure in render(findings)]
    stated, limits = state_findings(chosen, around), list(thresholds(findings))
    techniques = technique_sections(
        [row for row in rows if not row["baseline"]],
        figures,
        anchors,
        findings=stated,
        thresholds=limits,
        around=around,
    )
    with_section = {(each["framework"], each["technique"]) for each in techniques}
    return Content(
        name=label,
        taken=format_taken(findings.result),
        anchors=anchors,
        machine=describe_machine(run.environment.identity),
        card=list(describe_card(run)),
        overview=overview(rows, anchors),
        certificate=certificate,
        software=describe_software(run.environment),
        disturbance=[*findings.on_certainty, *describe_disturbance(run)],
        time=describe_time(run),
        configuration=[*describe_configuration(run), *describe_ceilings(run)],
        interrupted=run.interrupted,
        counted=_describe_counts(findings),
        noise=f"±{units.percent(findings.noise)}",
        same=f"±{units.percent(NEGLIGIBLE)}",
        findings=stated,
        bottlenecks=findings.bottlenecks,
        wrong=[each for each in lost if each.outcome in DISBELIEVED],
        doubtful=group_doubts(rows),
        missing=[each for each in lost if each.outcome not in DISBELIEVED],
        matrices=matrices(rows, chosen, anchors),
        figures=figures,
        general_figures=[figure for figure in figures if figure.about not in with_section],
        general_thresholds=[each.sentence for each in limits if each.about not in with_section],
        why=explain_effects(findings, anchors),
        techniques=techniques,
        workloads=workload_sections(chosen, run.trials, anchors, around),
        effects=tabulate_effects(findings.effect_rows),
        arms=tabulate_overview(rows),
        trials=trial_sections(run, rows, anchors, findings.noise),
    )


def _describe_counts(findings: Findings) -> str:
    run, found = findings.run, findings.effect_rows
    parts = ((len(run.trials), "trial"), (len(findings.rows), "arm"), (len(found), "comparison"))
    sizes = ", ".join(units.plural(count, noun) for count, noun in parts) + describe_caches(run)
    return count_comparisons(sizes, (row["verdict"] for row in found))


if TYPE_CHECKING:  # what compares runs loads SciPy, so it loads only where there are several
    from accelbench.history.observations import History
    from accelbench.report.history_section import HistorySection
    from accelbench.report.side_by_side import SideBySide

TITLE = "Which acceleration techniques pay here?"
_LONGEST_NAME = 100  # characters of the names of several runs
Certificates = Mapping[str, MachineCertificates]  # by machine


def publish_report(
    runs: Sequence[Findings], output: Path | str, certificates: Certificates, title: str, history: History | None
) -> tuple[str, Published]:
    """Write the report of runs below a folder or a URL; return the address of its page and what was written.

    ``history`` is that of other runs. Of one run it adds what changed over time; several runs are compared with the
    first, and the history shows how much unchanged runs differ. Beside ``index.html`` and the figures stand
    ``summary.md``, the effects as ``effects.csv`` and ``effects.parquet``, and the first run's card and badge, which
    a README can show.

    Raises:
        BadInput: it cannot be written.
    """
    place = join_location(output, folder_name([each.result for each in runs]))
    folder = local_path(place)
    content = _page(runs, folder, certificates, title or TITLE, history)
    table, first = export_effects(runs), runs[0]
    texts = {
        **({"card.svg": card(first), "badge.svg": badge(first)} if has_card(first) else {}),
        **{f"figures/{figure.name}.svg": figure.svg for figure in _figures(content)},
        "summary.md": as_markdown(runs, certificates, title or TITLE, content["beside"], content["over_time"]),
        "effects.csv": format_csv(table),
        "index.html": render_template("page.html.j2", content),
    }
    files = {name: text.encode() for name, text in texts.items()} | {"effects.parquet": as_parquet(table)}
    return join_location(place, "index.html"), publish(files, place)


def folder_name(results: Sequence[Result]) -> str:
    """Return the names of the runs for a path, such as ``quick-and-full``."""
    names = [re.sub(r"[^\w.-]+", "-", label).strip(".-") or "unnamed" for label in unique_labels(results)]
    joined = "-and-".join(names)
    return joined if len(names) == 1 or len(joined) <= _LONGEST_NAME else f"{names[0]}-and-{len(names) - 1}-more"


def _page(
    runs: Sequence[Findings], folder: Path | None, certificates: Certificates, title: str, history: History | None
) -> Content:
    """Return a page about one run and what changed over time, or about several runs, which stand side by side first."""
    parts = []
    labels = unique_labels([each.result for each in runs])
    for place, (findings, label) in enumerate(zip(runs, labels, strict=True)):
        found = certificates.get(findings.run.machine, MachineCertificates())
        certificate = summarize_certificate(found, findings.run.environment, folder)
        parts.append(_run_part(findings, label, certificate, Anchors.of(place)))
    beside, over_time = _around(runs, history)
    return Content(title=title, runs=parts, beside=beside, over_time=over_time)


def _around(
    runs: Sequence[Findings], history: History | None, *, draw: bool = True
) -> tuple[SideBySide | None, HistorySection | None]:
    """Return what several runs show side by side, and what one run shows over time."""
    if len(runs) > 1:
        from accelbench.report.side_by_side import side_by_side

        return side_by_side(runs, history), None
    if history is None:
        return None, None
    from accelbench.report.history_section import summarize_history

    return None, summarize_history(history, draw=draw)


def _figures(page: Content) -> Iterator[RenderedFigure]:
    for part in page["runs"]:
        yield from part["figures"]
        yield from part["why"].figures if part["why"] else ()
    for section in filter(None, (page["beside"], page["over_time"])):
        yield from section.figures


def report_as_text(
    kind: str, runs: Sequence[Findings], certificates: Certificates, title: str = "", history: History | None = None
) -> str:
    """Return what a report holds as one text, of the kind "markdown" or "csv".

    Only Markdown uses ``history``, as `publish_report` does.
    """
    if kind == "csv":
        return format_csv(export_effects(runs))
    return as_markdown(runs, certificates, title or TITLE, *_around(runs, history, draw=False))
