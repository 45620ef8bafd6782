"""`accelbench calibrate`: test on this machine whether the measuring is right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from accelbench.cli.output import CERTIFICATES, format_options
from accelbench.schema.certificate import Certificate, require_writable, to_json, write_certificate
from accelbench.sigint import stop_once

BETWEEN_LINES_S = 20.0  # of progress without a terminal


@click.command(short_help="Test the measuring by comparisons whose result is known.")
@click.option("--quick", is_flag=True, help="Take about a minute: too little to prove much.")
@click.option("--busy", is_flag=True, help="Repeat the comparisons of code beside busy processes on half of the cores.")
@click.option("--framework", "frameworks", multiple=True, help="Only this framework; may be given several times.")
@click.option("--output", type=click.Path(path_type=Path), default=CERTIFICATES, help="Folder of the certificates.")
@format_options("text", "json", explanation="json prints the certificate.")
def calibrate(quick: bool, busy: bool, frameworks: tuple[str, ...], output: Path, wanted: str) -> None:
    """Test the measuring by comparisons whose result is known, and write a certificate of this machine.

    The comparisons are of identical code, of code with a known amount of extra work, of work of known length, and of
    identical arms in fresh workers. They take about ten minutes, twenty with --busy. The certificate NNNN.json and its
    page NNNN.html go into the machine's folder below --output; after Ctrl-C they hold what was measured until then.

    \b
    Example:
      accelbench calibrate --busy
      accelbench calibrate --quick --framework torch --format json
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.calibrate import calibrate as run_calibration
    from accelbench.progress import ConsoleScreen, Progress

    require_writable(output)
    with stop_once():
        progress = Progress(ConsoleScreen(sys.stderr), between_lines_s=BETWEEN_LINES_S)
        certificate = run_calibration(progress, quick=quick, busy=busy, frameworks=frameworks)
        path = write_certificate(certificate, output)
        lines = _write_page(certificate, path)
    click.echo(json.dumps(to_json(certificate), indent=2) if wanted == "json" else "\n".join(lines))
    if certificate.interrupted:
        raise click.Abort


def _write_page(certificate: Certificate, path: Path) -> list[str]:
    """Write the page if the report extra is installed; return the certificate in words."""
    try:
        from accelbench.report.certificate import (  # late: loading pandas would disturb
            describe_certificate,
            write_certificate_page,
        )
    except ModuleNotFoundError as missing:
        way_out = f"where {missing.name} is installed: pip install 'accelbench[report]'"
        return [f"certificate {path}; accelbench report writes its page {way_out}"]
    page = write_certificate_page(certificate, path)
    return [*describe_certificate(certificate), f"certificate {path}, page {page}"]
