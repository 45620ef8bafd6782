"""The command `accelbench`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from harness.errors import HarnessError

CERTIFICATES = Path("certificates")


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
@click.argument("results", type=click.Path(path_type=Path), default=Path("results"))
@click.option("--output", type=click.Path(path_type=Path), default=Path("reports"), help="Folder of the reports.")
@click.option(
    "--certificates",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the calibration certificates. Default: certificates",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def report(results: Path, output: Path, certificates: Path | None, as_json: bool) -> None:
    """Render the newest run under RESULTS, a result file or a folder (default: results), as a page.

    Writes index.html, summary.md and the figures into a folder of the run's name below --output, which is
    reports unless named. The page carries the newest calibration certificate of the run's machine.

    \b
    Example:
      accelbench report results/ --output reports/
      accelbench report results/MACHINE/0001_first.json --json
    """  # noqa: D301  click reads \b as "keep these lines"
    from harness.reading import facts, find_certificates, find_results
    from harness.report import write_report
    from harness.untrusted import shown

    found = find_results(results)
    newest = found.results[0]
    kept = find_certificates(certificates or CERTIFICATES, newest.run.machine)
    for error in (*found.unreadable, *kept.unreadable):
        click.echo(f"Warning: {error}; skipped", err=True)
    page = write_report(newest, output, kept)
    if as_json:
        click.echo(json.dumps({"report": str(page), **facts(newest)}, indent=2))
    else:
        click.echo(f"report of {shown(str(newest.path))}: {shown(str(page))}")


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
