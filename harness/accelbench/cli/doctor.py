"""`accelbench doctor`: what this machine can accelerate."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from accelbench.cli.output import format_options


@click.command(short_help="Show what this machine can accelerate and what is misconfigured.")
@format_options("text", "json", explanation="json prints the facts and what was found.")
@click.option(
    "--facts",
    type=click.Path(path_type=Path),
    help="Judge a file of facts that --format json printed elsewhere.",
)
@click.pass_context
def doctor(context: click.Context, wanted: str, facts: Path | None) -> None:
    """Show what this machine can accelerate, and what is misconfigured.

    Every framework is queried in a process of its own. Exit status 0: nothing to fix, 1: something to fix.

    \b
    Example:
      accelbench doctor
      accelbench doctor --format json > machine.json
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.doctor import as_json, as_text, collect, find_notes, find_problems, read_facts

    if facts is None and sys.stderr.isatty():
        click.echo("Querying every framework in a process of its own ...", err=True)
    machine = collect() if facts is None else read_facts(facts)
    problems, notes = find_problems(machine), find_notes(machine)
    if wanted == "json":
        click.echo(json.dumps(as_json(machine, problems, notes), indent=2))
    else:
        click.echo(as_text(machine, problems, notes))
    context.exit(1 if problems else 0)
