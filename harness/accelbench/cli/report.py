"""`accelbench report`: runs as a page, or as text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accelbench.cli.output import CERTIFICATES, format_options, warn
from accelbench.errors import AccelbenchError, BadInput
from accelbench.files import hide_from_git
from accelbench.locations import default_results

if TYPE_CHECKING:  # pandas and the figures load only inside the command that needs them
    from accelbench.history.observations import History
    from accelbench.results import Findings, Result
    from accelbench.results.certificates import MachineCertificates
    from accelbench.schema.run_explanation import RunExplanation

_PRINTED = ("markdown", "csv")  # formats of which no file is written


@click.command(short_help="Render a run, or several side by side, as a page.")
@click.argument("results", nargs=-1)
@click.option("--output", help="Folder or URL of the reports. Default: reports")
@click.option("--title", default="", help="Heading of the page and of the Markdown. Default: a question.")
@format_options(
    "html",
    "json",
    "markdown",
    "csv",
    explanation="html writes the folder, json also prints the findings; markdown and csv are only printed.",
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
    help="Show what changed over the runs of a folder, where at least three can be compared; for several RESULTS, "
    "learn from the runs in results how much unchanged runs differ. Default: --history",
)
def report(
    results: tuple[str, ...],
    output: str | None,
    title: str,
    wanted: str,
    certificates: Path | None,
    with_history: bool,
) -> None:
    """Render the newest run under RESULTS, a result file, a folder or a URL, as a page.

    By default, RESULTS is where pytest saved last. Several RESULTS become one report: the newest run of each, side by
    side, compared with the first as accelbench compare does. The folder, named after the runs, lies below --output and
    holds index.html, summary.md, effects.csv, effects.parquet and the figures. Only files whose content changed are
    written, and none is deleted. The page shows the newest calibration certificate of each run's machine and, for one
    folder of runs, what changed over time.

    \b
    Example:
      accelbench report results/ --output reports/
      accelbench report results/MACHINE/0001_first.json --json
      accelbench report results/MACHINE results/OTHER --title "Two machines"
      accelbench report s3://bucket/results --output s3://bucket/pages
      accelbench report --format markdown > comment.md
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.report.page import publish_report, report_as_text
    from accelbench.results import Findings
    from accelbench.schema.safe_json import printable

    if output is not None and wanted in _PRINTED:
        raise BadInput(f"--output: {wanted} is only printed; leave --output out and write > {shlex.quote(output)}")
    locations = results or (default_results(),)
    runs = [Findings(newest) for newest in newest_of(locations)]
    kept = _certificates_of(runs, certificates or CERTIFICATES)
    past = _history_of(locations, [each.result for each in runs]) if with_history and wanted != "csv" else None
    if wanted in _PRINTED:
        click.echo(
            report_as_text(wanted, runs, kept, printable(title), past).encode(), nl=False
        )  # UTF-8 on every terminal
        return
    _draw_missing_pages(kept.values())
    page, published = publish_report(runs, output or _reports_folder(), kept, printable(title), past)
    if wanted == "json":
        found = [each.as_json() for each in runs]
        written = {"report": page, "wrote": published.wrote, "unchanged": published.unchanged}
        click.echo(json.dumps(written | (found[0] if len(found) == 1 else {"runs": found}), indent=2))
    else:
        paths = ", ".join(printable(each.result.path) for each in runs)
        click.echo(f"report of {paths}: {printable(page)} ({published})")


def _reports_folder() -> str:
    """Return the default folder of reports; Git ignores one that is made here."""
    folder = Path("reports")
    if not folder.exists():
        with suppress(OSError):  # publishing will say it
            folder.mkdir()
            hide_from_git(folder, "*")
    return str(folder)


def newest_of(locations: Iterable[str]) -> list[Result]:
    """Return the newest run of each location, none twice, and warn about files that could not be read.

    A file that an earlier version wrote has no recipes; those of the built-in techniques are added. So is the
    explanation that is kept beside a run.
    """
    import accelbench.techniques  # noqa: F401  importing declares them
    from accelbench.core import annotate
    from accelbench.locations import local_path
    from accelbench.results import find_newest

    runs: dict[str, Result] = {}
    for location in locations:
        found = find_newest(location)
        warn(found.unreadable)
        newest = found.results[0]
        path = local_path(newest.path)
        run = replace(newest.run, trials=[annotate(trial) for trial in newest.run.trials])
        explained = replace(newest, run=run, explanation=_explanation_of(newest))
        runs.setdefault(str(path.resolve()) if path else newest.path, explained)
    return list(runs.values())


def _explanation_of(result: Result) -> RunExplanation | None:
    """Return the explanation beside a run; one that cannot be read is left out with a warning."""
    from accelbench.results import find_explanation

    try:
        return find_explanation(result.path)
    except AccelbenchError as error:
        warn([error])
        return None


def _history_of(locations: Sequence[str], runs: Sequence[Result]) -> History | None:
    """Return the history in a folder, and for several runs that in the default folder; None where there is none.

    ``runs`` have been read already and are not read again.
    """
    from accelbench.history.index import load_history
    from accelbench.locations import open_store

    if len(runs) > 1:
        with suppress(BadInput):  # a comparison does without other runs
            return load_history(default_results(), opened=runs)
        return None
    if len(locations) != 1 or open_store(locations[0]).is_file:
        return None
    return load_history(locations[0], opened=runs)


def _certificates_of(runs: Iterable[Findings], folder: Path) -> dict[str, MachineCertificates]:
    from accelbench.results.certificates import find_certificates

    kept = {run.run.machine: find_certificates(folder, run.run.machine) for run in runs}
    for found in kept.values():
        warn(found.unreadable)
    return kept


def _draw_missing_pages(kept: Iterable[MachineCertificates]) -> None:
    """Draw the pages of certificates that were made where nothing draws."""
    from accelbench.report.certificate import write_certificate_page

    for found in kept:
        if found.newest and found.path and not found.path.with_suffix(".html").exists():
            try:
                write_certificate_page(found.newest, found.path)
            except BadInput as error:
                warn([error])
