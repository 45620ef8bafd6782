"""`accelbench check`: did the newest run regress?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from accelbench.cli.output import format_options
from accelbench.errors import BadInput
from accelbench.garbage_collection import no_collection
from accelbench.locations import default_results, is_present, local_path, open_store

if TYPE_CHECKING:  # pandas loads only inside the command that needs it
    from accelbench.history.regression_check import RegressionCheck

Command = TypeVar("Command", bound=Callable[..., Any])
_WAIVERS = "accepted-changes.toml"  # in the folder of the results, unless named


def check_options(command: Command) -> Command:
    """Add the options that accelbench check and accelbench accept share."""
    options = (
        click.option("--baseline", help="Runs to compare with, named as for compare. Default: the history"),
        click.option(
            "--accepted",
            type=click.Path(path_type=Path),
            help="File of accepted changes. Default: RESULTS/accepted-changes.toml",
        ),
        click.option(
            "--limits",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="The pyproject.toml with [tool.accelbench.check]. Default: pyproject.toml here",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(short_help="Fail if the newest run is slower than its history.")
@click.argument("results", default=default_results)
@check_options
@format_options("text", "json", "markdown", "github", "junit")
@click.option("--strict", is_flag=True, help="Exit status 3 if something is undecided or interrupted.")
@click.pass_context
@no_collection()  # garbage collection took a sixth of the time, mostly while modules load
def check(
    context: click.Context,
    results: str,
    baseline: str | None,
    wanted: str,
    strict: bool,
    accepted: Path | None,
    limits: Path | None,
) -> None:
    """Report what changed beyond chance in the newest run under RESULTS, a folder or a URL.

    By default, RESULTS is where pytest saved last. The run is compared with earlier runs of the same machine and size.
    The machine, each workload and each technique get a verdict. The smallest change that matters is 3 %, or what
    [tool.accelbench.check] in pyproject.toml says. Accept an intended change with accelbench accept. Exit status 0: no
    regression, 1: a regression, 2: bad input, 3: undecided or interrupted, with --strict.

    \b
    Example:
      accelbench check
      accelbench check results/ --format github --strict
      accelbench check --baseline 0041,0042
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.report.check_output import format_check
    from accelbench.schema.safe_json import printable

    if accepted and not is_present(str(accepted)):
        raise BadInput(f"--accepted: {printable(str(accepted))}: no such file; make it with accelbench accept")
    found = run_check(results, baseline, accepted or waivers_file(results), limits)
    click.echo(format_check(found, wanted, strict=strict).encode())  # UTF-8 on every terminal
    context.exit(found.status(strict=strict))


def waivers_file(results: str) -> Path:
    """Return the default file of accepted changes: beside the results, or here if the results are remote."""
    path = local_path(results) or Path()
    return (path if is_present(results) and path.is_dir() else path.parent) / _WAIVERS


def run_check(results: str, baseline: str | None, waivers: Path, limits: Path | None) -> RegressionCheck:
    """Return the check of the newest run under RESULTS.

    Raises:
        BadInput: results, waivers, limits or baseline cannot be used, the newest run cannot be read, or RESULTS is a
            single file and no baseline is given.
    """
    from accelbench.history.index import load_history
    from accelbench.history.policy import read_thresholds, read_waivers
    from accelbench.history.regression_check import check_regressions
    from accelbench.history.select_runs import select_runs
    from accelbench.results.load import find_newest
    from accelbench.schema.safe_json import printable

    thresholds, accepted = read_thresholds(limits or Path("pyproject.toml")), read_waivers(waivers)
    if local_path(results) and baseline is None:  # remote files would be fetched each time
        (newest_run,) = find_newest(results).results
        history = load_history(results, [newest_run], machine=newest_run.run.machine)
    else:
        history = load_history(results)
    if history.newer_unreadable:
        raise BadInput(f"the newest run cannot be checked: {history.newer_unreadable}")
    if baseline is None and (store := open_store(results)).is_file:
        raise BadInput(
            f"{printable(results)}: is one file, without earlier runs to compare it with; "
            f"give its folder, {printable(store.address(''))}, or earlier runs with --baseline"
        )
    newest = history.runs["run"].iloc[-1]
    history, chosen = (history, []) if baseline is None else select_runs(baseline, history)
    return check_regressions(history, thresholds, accepted, chosen, newest=newest)
