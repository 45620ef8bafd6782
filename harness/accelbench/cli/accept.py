"""`accelbench accept`: accept a change that `accelbench check` reports."""

from __future__ import annotations

from pathlib import Path

import click

from accelbench.cli.check import check_options, run_check, waivers_file
from accelbench.locations import default_results


@click.command(short_help="Accept a change that check reports.")
@click.argument("change")
@click.argument("results", default=default_results)
@click.option("--reason", required=True, help="Why the change is accepted.")
@check_options
def accept(
    change: str, results: str, reason: str, baseline: str | None, accepted: Path | None, limits: Path | None
) -> None:
    """Accept a CHANGE that accelbench check reports on RESULTS (default: where pytest saved last).

    CHANGE is what check prints before the colon, such as "times of mlp (torch)", or its key in check --json. A part of
    either will do that no other reported change has. The change is written with its reason to the file of accepted
    changes. From then on check calls it accepted, and reports what changes further. Exit status 0: accepted, 2: bad
    input, or no single reported change has that name.

    \b
    Example:
      accelbench accept "amp bf16" --reason "float32 accumulation, on purpose"
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.history.policy import write_waiver
    from accelbench.report.check_output import describe_finding
    from accelbench.schema.safe_json import printable

    file = accepted or waivers_file(results)
    finding = run_check(results, baseline, file, limits).find_change(change)
    ratio = None if finding.verdict == "lost" else finding.ratio
    write_waiver(file, finding.subject, finding.since, ratio, reason)
    click.echo(printable(f"accepted in {file}: {describe_finding(finding)}").encode())
