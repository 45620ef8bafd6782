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
@click.argument("results", type=click.Path(path_type=Path), nargs=-1)
@click.option("--output", type=click.Path(path_type=Path), default=Path("reports"), help="Folder of the reports.")
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
    results: tuple[Path, ...],
    output: Path,
    title: str,
    wanted: str,
    certificates: Path | None,
    with_history: bool,
    as_json: bool,
) -> None:
    """Render the newest run under RESULTS, a result file or a folder (default: results), as a page.

    Several RESULTS become one report: of each the newest run, side by side. Writes index.html, summary.md, the effects
    as effects.csv, effects.parquet and effects.tex, and the figures into a folder of the runs' names below --output,
    which is reports unless named. The page carries the newest calibration certificate of each run's machine, and of one
    folder of runs what changed over time.

    \b
    Example:
      accelbench report results/ --output reports/
      accelbench report results/MACHINE/0001_first.json --json
      accelbench report results/MACHINE results/OTHER --title "Two machines"
      accelbench report --format markdown > comment.md
    """  # noqa: D301  click reads \b as "keep these lines"
    _require_one_output(wanted, as_json=as_json)
    from harness.reading import facts
    from harness.report import report_as_text, write_report
    from harness.untrusted import shown

    runs = _newest_of(results or (RESULTS,))
    kept = _certificates_of(runs, certificates or CERTIFICATES)
    if wanted != "html":
        click.echo(report_as_text(wanted, runs, kept, shown(title)).encode(), nl=False)  # UTF-8 on every terminal
        return
    past = _history_of(results or (RESULTS,)) if with_history else None
    page = write_report(runs, output, kept, shown(title), past)
    if as_json:
        told = [facts(run) for run in runs]
        click.echo(json.dumps({"report": str(page), **(told[0] if len(told) == 1 else {"runs": told})}, indent=2))
    else:
        click.echo(f"report of {', '.join(shown(str(run.path)) for run in runs)}: {shown(str(page))}")


def _require_one_output(wanted: str, *, as_json: bool) -> None:
    if wanted == "parquet":
        raise BadInput("--format parquet: Parquet is a file and not printed; --format html writes effects.parquet")
    if as_json and wanted != "html":
        raise BadInput(f"--json and --format {wanted} both print; give one of them")


def _newest_of(paths: Iterable[Path]) -> list[Result]:
    """Return the newest run of each path, none twice, and warn of what could not be read on the way to it."""
    from harness.reading import find_newest

    runs: dict[Path, Result] = {}
    for path in paths:
        found = find_newest(path)
        warn(found.unreadable)
        runs.setdefault(found.results[0].path.resolve(), found.results[0])
    return list(runs.values())


def _history_of(paths: Sequence[Path]) -> History | None:
    """Return the history in a folder; a file has none, nor have several places, whose runs stand side by side."""
    if len(paths) > 1 or not paths[0].is_dir():
        return None
    from harness.reading.history.storage.index import history

    return history(paths[0])


def _certificates_of(runs: Iterable[Result], folder: Path) -> dict[str, KeptCertificates]:
    from harness.reading import find_certificates

    kept = {run.run.machine: find_certificates(folder, run.run.machine) for run in runs}
    for found in kept.values():
        warn(found.unreadable)
    return kept
