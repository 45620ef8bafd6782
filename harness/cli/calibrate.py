"""`accelbench calibrate`: prove the measuring on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from harness.certificate import Certificate, to_json
from harness.cli.folders import CERTIFICATES
from harness.interruption import one_ctrl_c


@click.command()
@click.option("--quick", is_flag=True, help="Measure little, in about a minute: too little to prove much.")
@click.option("--busy", is_flag=True, help="Measure once more beside busy processes on half of the cores.")
@click.option("--framework", "frameworks", multiple=True, help="Only this framework; may be given several times.")
@click.option("--output", type=click.Path(path_type=Path), default=CERTIFICATES, help="Folder of the certificates.")
@click.option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
def calibrate(quick: bool, busy: bool, frameworks: tuple[str, ...], output: Path, as_json: bool) -> None:
    """Prove the measuring on this machine by comparisons of known truth, and write a certificate.

    Identical code, more work by a known amount, work of known length, fresh workers, simulated noise. Takes about
    ten minutes, twenty with --busy. Writes NNNN.json and its page NNNN.html into the machine's folder below --output;
    after Ctrl-C, with what it had measured until then.

    \b
    Example:
      accelbench calibrate --busy
      accelbench calibrate --quick --framework torch --json
    """  # noqa: D301  click reads \b as "keep these lines"
    from harness import calibration as room

    room.require_folder(output)
    with one_ctrl_c():
        certificate = room.calibrate(room.Progress(sys.stderr), quick=quick, busy=busy, frameworks=frameworks)
        path = room.keep(certificate, output)
        said = _drawn(certificate, path)
    click.echo(json.dumps(to_json(certificate), indent=2) if as_json else "\n".join(said))
    if certificate.interrupted:
        raise click.Abort


def _drawn(certificate: Certificate, path: Path) -> list[str]:
    """Draw the page, where what draws is installed, and return what the certificate says."""
    try:
        from harness.report import draw_certificate, in_brief  # after the measuring, which pandas would delay
    except ModuleNotFoundError as missing:
        return [f"certificate {path}; accelbench report draws its page where {missing.name} is installed"]
    return [*in_brief(certificate), f"certificate {path}, page {draw_certificate(certificate, path)}"]
