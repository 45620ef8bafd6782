"""`accelbench report`: runs as a page, or as text for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.folders import CERTIFICATES, RESULTS
from harness.cli.one_line import warn
from harness.errors import BadInput

if TYPE_CHECKING:  # pandas and the figures load only inside the command that needs them
    from harness.reading import KeptCertificates, Result
    from harness.reading.history.observations import History


@click.command()
@click.argument("results", nargs=-1)
@click.option("--output", default="reports", help="Folder or URL of the reports. Default: reports")
@click.option("--title", default="", help="Heading of the page and of the Markdown. Default: a question.")
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["html", "markdown", "csv", "latex", "parquet"]),
    default="html",
    help="html writes the folder; markdown, csv and latex are printed instead. Default: html",
)
@click.option(
    "--certificates",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the calibration certificates. Default: certificates",
)
@click.option(
    "--history/--no-history",
    "with_history",
    default=True,
    help="Show what changed over the runs of a folder, where at least three can be compared. Default: --history",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def report(
    results: tuple[str, ...],
    output: str,
    title: str,
    wanted: str,
    certificates: Path | None,
    with_history: bool,
    as_json: bool,
) -> None:
    """Render the newest run under RESULTS, a result file, a folder or a URL (default: results), as a page.

    Several RESULTS become one report: of each the newest run, side by side. Writes index.html, summary.md, the effects
    as effects.csv, effects.parquet and effects.tex, and the figures into a folder of the runs' names below --output,
    which is reports unless named: only files whose content changed, and none is deleted. The page carries the newest
    calibration certificate of each run's machine, and of one folder of runs what changed over time.

    \b
    Example:
      accelbench report results/ --output reports/
      accelbench report results/MACHINE/0001_first.json --json
      accelbench report results/MACHINE results/OTHER --title "Two machines"
      accelbench report s3://bucket/results --output s3://bucket/pages
      accelbench report --format markdown > comment.md
    """  # noqa: D301  click reads \b as "keep these lines"
    _require_one_output(wanted, as_json=as_json)
    from harness.reading import facts
    from harness.report import publish_report, report_as_text
    from harness.untrusted import shown

    locations = results or (str(RESULTS),)
    runs = _newest_of(locations)
    kept = _certificates_of(runs, certificates or CERTIFICATES)
    past = _history_of(locations) if with_history and wanted in ("html", "markdown") else None
    if wanted != "html":
        click.echo(report_as_text(wanted, runs, kept, shown(title), past).encode(), nl=False)  # UTF-8 on every terminal
        return
    _draw_missing_pages(kept.values())
    page, published = publish_report(runs, output, kept, shown(title), past)
    if as_json:
        told = [facts(run) for run in runs]
        written = {"report": page, "wrote": published.wrote, "unchanged": published.unchanged}
        click.echo(json.dumps(written | (told[0] if len(told) == 1 else {"runs": told}), indent=2))
    else:
        click.echo(f"report of {', '.join(shown(run.path) for run in runs)}: {shown(page)} ({published})")


def _require_one_output(wanted: str, *, as_json: bool) -> None:
    if wanted == "parquet":
        raise BadInput("--format parquet: Parquet is a file and not printed; --format html writes effects.parquet")
    if as_json and wanted != "html":
        raise BadInput(f"--json and --format {wanted} both print; give one of them")


def _newest_of(locations: Iterable[str]) -> list[Result]:
    """Return the newest run of each location, none twice, and warn of what could not be read on the way to it."""
    from harness.reading import find_newest
    from harness.reading.history.storage.locations import local_path

    runs: dict[str, Result] = {}
    for location in locations:
        found = find_newest(location)
        warn(found.unreadable)
        newest = found.results[0]
        path = local_path(newest.path)
        runs.setdefault(str(path.resolve()) if path else newest.path, newest)
    return list(runs.values())


def _history_of(locations: Sequence[str]) -> History | None:
    """Return the history in a folder; a file has none, nor have several places, whose runs stand side by side."""
    from harness.reading.history.storage.index import history
    from harness.reading.history.storage.locations import storage_at

    return history(locations[0]) if len(locations) == 1 and not storage_at(locations[0]).alone else None


def _certificates_of(runs: Iterable[Result], folder: Path) -> dict[str, KeptCertificates]:
    from harness.reading import find_certificates

    kept = {run.run.machine: find_certificates(folder, run.run.machine) for run in runs}
    for found in kept.values():
        warn(found.unreadable)
    return kept


def _draw_missing_pages(kept: Iterable[KeptCertificates]) -> None:
    """Draw the pages of certificates that were made where nothing draws."""
    from harness.report import draw_certificate

    for found in kept:
        if found.newest and found.path and not found.path.with_suffix(".html").exists():
            try:
                draw_certificate(found.newest, found.path)
            except BadInput as error:
                warn([error])
