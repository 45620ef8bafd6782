"""`accelbench check`: the gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.folders import RESULTS
from harness.errors import BadInput

if TYPE_CHECKING:  # pandas loads only inside the command that needs it
    from harness.reading.history.gate.check import Check

_ACCEPTED = "accepted-changes.toml"  # in the folder of the results, unless named
_FORMATS = ["text", "json", "markdown", "github", "junit"]


@click.command()
@click.argument("results", default=str(RESULTS))
@click.option("--baseline", default="", help="Runs to hold against, as compare takes them. Default: the history")
@click.option("--format", "wanted", type=click.Choice(_FORMATS), default="text", help="Default: text")
@click.option("--strict", is_flag=True, help="Exit status 3 where something is undecided.")
@click.option("--accept", "case", help="Accept what this check raises on a case, a workload or a technique.")
@click.option("--reason", help="Why it is accepted; needed with --accept.")
@click.option(
    "--accepted",
    type=click.Path(path_type=Path),
    help="File of accepted changes. Default: RESULTS/accepted-changes.toml",
)
@click.option(
    "--limits",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The pyproject.toml with [tool.accelbench.check]. Default: pyproject.toml here",
)
@click.pass_context
def check(
    context: click.Context,
    results: str,
    baseline: str,
    wanted: str,
    strict: bool,
    case: str | None,
    reason: str | None,
    accepted: Path | None,
    limits: Path | None,
) -> None:
    """Say what the newest run under RESULTS (default: results), a folder or a URL, changed beyond chance.

    It is held against the runs before it of the same machine and size. Machine, workloads and techniques have a verdict
    each. Exit status 0: no regression, 1: a regression, 2: bad input, 3: undecided, with --strict. The smallest change
    that matters is 3 %, or what [tool.accelbench.check] in pyproject.toml says.

    \b
    Example:
      accelbench check
      accelbench check results/ --format github --strict
      accelbench check --baseline 0041,0042
      accelbench check --accept "amp bf16" --reason "float32 accumulation, on purpose"
    """  # noqa: D301  click reads \b as "keep these lines"
    if (case is None) != (reason is None):
        raise BadInput("--accept CASE and --reason WHY go together; give both")
    file = accepted or _folder(results) / _ACCEPTED
    found = _checked(results, baseline, file, limits)
    if case is not None:
        from harness.reading.history.gate.accepting import accept_raised
        from harness.report.checked import line_of
        from harness.untrusted import shown

        click.echo(shown(f"accepted in {file}: {line_of(accept_raised(found, case, str(reason), file))}").encode())
        return
    click.echo(_written(found, wanted, strict=strict).encode())  # UTF-8 on every terminal
    context.exit(found.status(strict=strict))


def _folder(results: str) -> Path:
    """Return where accepted changes are kept: beside the results, or here where those are not on this machine."""
    from harness.reading.history.storage.locations import local_path

    path = local_path(results) or Path()
    return path if path.is_dir() else path.parent


def _checked(results: str, baseline: str, file: Path, limits: Path | None) -> Check:
    from harness.reading.history.comparing.selecting import select
    from harness.reading.history.gate.accepted import read_accepted
    from harness.reading.history.gate.check import check as checked
    from harness.reading.history.gate.limits import read_limits
    from harness.reading.history.gate.lost import unmeasured
    from harness.reading.history.storage.index import history

    held_to = read_limits(limits or Path("pyproject.toml"))
    accepted = read_accepted(file)
    known = history(results)
    newest = known.runs.iloc[-1]
    known, chosen = select(baseline, known) if baseline else (known, [])
    return checked(known, held_to, accepted, chosen, newest=newest["run"], missing=unmeasured(newest["path"]))


def _written(found: Check, wanted: str, *, strict: bool) -> str:
    from harness.report import checked

    if wanted == "json":
        return checked.as_json(found, strict=strict)
    if wanted == "junit":
        return checked.as_junit(found, strict=strict)
    return {"text": checked.as_text, "markdown": checked.as_markdown, "github": checked.as_github}[wanted](found)
