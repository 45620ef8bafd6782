"""The command `accelbench`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.errors import BadInput, HarnessError

if TYPE_CHECKING:  # pandas and the figures load only inside the command that needs them
    from harness.reading import KeptCertificates, Result

RESULTS, CERTIFICATES = Path("results"), Path("certificates")


class _BadInputError(click.ClickException):
    """One line on stderr, and exit status 2."""

    exit_code = 2


class _Commands(click.Group):
    """A group in which every complaint is one line that names the way out."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "accelbench"
        raise _BadInputError(f"{error.format_message().rstrip('.')}; see {command} --help") from None
    except HarnessError as error:
        raise _BadInputError(str(error)) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="accelbench")
def main() -> None:
    """Which acceleration techniques pay on this machine, by how much, at what price?

    \b
    Example:
      pytest benchmarks/ --benchmark-save=first
      accelbench report
    """  # noqa: D301  click reads \b as "keep these lines"


@main.command()
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
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def report(
    results: tuple[Path, ...], output: Path, title: str, wanted: str, certificates: Path | None, as_json: bool
) -> None:
    """Render the newest run under RESULTS, a result file or a folder (default: results), as a page.

    Several RESULTS become one report: of each the newest run, side by side. Writes index.html, summary.md, the effects
    as effects.csv, effects.parquet and effects.tex, and the figures into a folder of the runs' names below --output,
    which is reports unless named. The page carries the newest calibration certificate of each run's machine.

    \b
    Example:
      accelbench report results/ --output reports/
      accelbench report results/MACHINE/0001_first.json --json
      accelbench report results/MACHINE results/OTHER --title "Two machines"
      accelbench report --format markdown > comment.md
    """  # noqa: D301  click reads \b as "keep these lines"
    if wanted == "parquet":
        raise BadInput("--format parquet: Parquet is a file and not printed; --format html writes effects.parquet")
    if as_json and wanted != "html":
        raise BadInput(f"--json and --format {wanted} both print; give one of them")
    from harness.reading import facts
    from harness.report import report_as_text, write_report
    from harness.untrusted import shown

    runs = _newest_of(results or (RESULTS,))
    kept = _certificates_of(runs, certificates or CERTIFICATES)
    if wanted != "html":
        click.echo(report_as_text(wanted, runs, kept, shown(title)).encode(), nl=False)  # UTF-8 on every terminal
        return
    page = write_report(runs, output, kept, shown(title))
    if as_json:
        told = [facts(run) for run in runs]
        click.echo(json.dumps({"report": str(page), **(told[0] if len(told) == 1 else {"runs": told})}, indent=2))
    else:
        click.echo(f"report of {', '.join(shown(str(run.path)) for run in runs)}: {shown(str(page))}")


def _newest_of(paths: Iterable[Path]) -> list[Result]:
    """Return the newest run of each path, none twice, and warn of what could not be read on the way to it."""
    from harness.reading import find_newest

    runs: dict[Path, Result] = {}
    for path in paths:
        found = find_newest(path)
        _warn(found.unreadable)
        runs.setdefault(found.results[0].path.resolve(), found.results[0])
    return list(runs.values())


def _certificates_of(runs: Iterable[Result], folder: Path) -> dict[str, KeptCertificates]:
    from harness.reading import find_certificates

    kept = {run.run.machine: find_certificates(folder, run.run.machine) for run in runs}
    for found in kept.values():
        _warn(found.unreadable)
    return kept


def _warn(unreadable: Iterable[HarnessError]) -> None:
    for error in unreadable:
        click.echo(f"Warning: {error}; skipped", err=True)


@main.command()
@click.option("--quick", is_flag=True, help="Measure little, in about a minute: too little to prove much.")
@click.option("--busy", is_flag=True, help="Measure once more beside busy processes on half of the cores.")
@click.option("--framework", "frameworks", multiple=True, help="Only this framework; may be given several times.")
@click.option("--output", type=click.Path(path_type=Path), default=CERTIFICATES, help="Folder of the certificates.")
@click.option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
def calibrate(quick: bool, busy: bool, frameworks: tuple[str, ...], output: Path, as_json: bool) -> None:
    """Prove the measuring on this machine by comparisons of known truth, and write a certificate.

    Identical code, more work by a known amount, work of known length, fresh workers, simulated noise. Takes about
    six minutes, twelve with --busy. Writes NNNN.json and its page NNNN.html into the machine's folder below --output.

    \b
    Example:
      accelbench calibrate --busy
      accelbench calibrate --quick --framework torch --json
    """  # noqa: D301  click reads \b as "keep these lines"
    from harness import calibration as room

    room.require_folder(output)
    certificate = room.calibrate(room.Progress(sys.stderr), quick=quick, busy=busy, frameworks=frameworks)
    from harness.certificate import to_json
    from harness.report import certificate_page, in_brief  # after the measuring, which pandas would delay

    path = room.keep(certificate, output, certificate_page)
    if as_json:
        click.echo(json.dumps(to_json(certificate), indent=2))
    else:
        click.echo("\n".join([*in_brief(certificate), f"certificate {path}, page {path.with_suffix('.html')}"]))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the facts and what was found as JSON.")
@click.option("--facts", type=click.Path(path_type=Path), help="Judge the facts that --json printed elsewhere.")
@click.pass_context
def doctor(context: click.Context, as_json: bool, facts: Path | None) -> None:
    """Say what this machine can accelerate, and what is misconfigured.

    Every framework is asked in a process of its own. Exit status 0: nothing to mend, 1: something to mend.

    \b
    Example:
      accelbench doctor
      accelbench doctor --json > machine.json
    """  # noqa: D301  click reads \b as "keep these lines"
    from harness import doctor as room

    if facts is None and sys.stderr.isatty():
        click.echo("Asking every framework in a process of its own ...", err=True)
    known = room.gather() if facts is None else room.read_facts(facts)
    findings, remarks = room.to_mend(known), room.to_know(known)
    if as_json:
        click.echo(json.dumps(room.as_json(known, findings, remarks), indent=2))
    else:
        click.echo(room.as_text(known, findings, remarks))
    context.exit(1 if findings else 0)
