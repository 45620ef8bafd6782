"""`accelbench doctor`: what this machine can accelerate."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.command()
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
