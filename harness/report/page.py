"""One run, or several, as a folder: the page, figures, a summary, and the effects for other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.reading import KeptCertificates, Result
from harness.reading.history.observations import History
from harness.reading.history.storage.locations import local_path, place_below
from harness.report.anchors import Anchors
from harness.report.certificate import certified
from harness.report.content import Page, part_of
from harness.report.figures.drawing import Drawn
from harness.report.history.section import over_time
from harness.report.labels import told_apart
from harness.report.outputs.csv_text import csv_text
from harness.report.outputs.exports import as_latex, as_parquet, table_of_effects
from harness.report.outputs.summary import as_markdown
from harness.report.publishing import Published, publish
from harness.report.rendering import rendered
from harness.report.side_by_side import side_by_side

TITLE = "Which acceleration techniques pay here?"
_LONGEST_NAME = 100  # characters of the names of several runs
Certificates = Mapping[str, KeptCertificates]  # by machine


def write_report(
    results: Result | Sequence[Result],
    output: Path,
    certificates: Certificates | None = None,
    title: str = "",
    history: History | None = None,
) -> Path:
    """Write the report of a run, or of several, into a folder of their names, and return the page.

    ``history`` is that of the runs before it, and adds what changed over time. Beside ``index.html`` and the figures
    stand ``summary.md`` and the effects as ``effects.csv``, ``.parquet`` and ``.tex``.

    Raises:
        BadInput: the folder cannot be written.
    """
    results = [results] if isinstance(results, Result) else results
    return Path(publish_report(results, output, certificates or {}, title, history)[0])


def publish_report(
    results: Sequence[Result], output: Path | str, certificates: Certificates, title: str, history: History | None
) -> tuple[str, Published]:
    """Write a report as `write_report` does, below a folder or a URL; return the page's address and what was written.

    Raises:
        BadInput: it cannot be written.
    """
    place = place_below(output, folder_name(results))
    folder = local_path(place)
    content = _page(results, folder, certificates, title or TITLE, history)
    table = table_of_effects(results)
    texts = {
        **{f"figures/{figure.name}.svg": figure.svg for figure in _figures(content)},
        "summary.md": as_markdown(results, certificates, title or TITLE, content.beside, content.over_time),
        "effects.csv": csv_text(table),
        "effects.tex": as_latex(table),
        "index.html": rendered("page.html.j2", content),
    }
    files = {name: text.encode() for name, text in texts.items()} | {"effects.parquet": as_parquet(table)}
    return place_below(place, "index.html"), publish(files, place)


def folder_name(results: Sequence[Result]) -> str:
    """Return the names of the runs for a path, such as ``quick-and-full``."""
    names = [re.sub(r"[^\w.-]+", "-", label).strip(".-") or "unnamed" for label in told_apart(results)]
    joined = "-and-".join(names)
    return joined if len(names) == 1 or len(joined) <= _LONGEST_NAME else f"{names[0]}-and-{len(names) - 1}-more"


def _page(
    results: Sequence[Result], folder: Path | None, kept: Certificates, title: str, history: History | None
) -> Page:
    parts = []
    for place, (result, label) in enumerate(zip(results, told_apart(results), strict=True)):
        proof = certified(kept.get(result.run.machine, KeptCertificates()), result.run.environment, folder)
        parts.append(replace(part_of(result, proof, Anchors.of(place).prefix), name=label))
    return Page(
        title=title,
        runs=parts,
        beside=side_by_side(results) if len(parts) > 1 else None,
        over_time=over_time(history) if history else None,
    )


def _figures(content: Page) -> Iterator[Drawn]:
    for part in content.runs:
        yield from part.figures
    if content.beside and content.beside.figure:
        yield content.beside.figure
    if content.over_time:
        yield from content.over_time.figures


def report_as_text(
    kind: str, results: Sequence[Result], certificates: Certificates, title: str = "", history: History | None = None
) -> str:
    """Return what a report holds as one text, of the kind "markdown", "csv" or "latex".

    Only Markdown has a ``history``, that of the runs before, and says what changed last.
    """
    if kind == "markdown":
        beside = side_by_side(results) if len(results) > 1 else None
        over = over_time(history, drawn=False) if history else None
        return as_markdown(results, certificates, title or TITLE, beside, over)
    table = table_of_effects(results)
    return csv_text(table) if kind == "csv" else as_latex(table)
