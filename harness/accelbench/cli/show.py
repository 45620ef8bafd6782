"""`accelbench show`: a run in the terminal, as pytest ends."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from accelbench.cli.completion import complete_run
from accelbench.cli.output import format_options, print_lines, warn
from accelbench.cli.report import newest_of
from accelbench.locations import default_results, is_present, local_path

if TYPE_CHECKING:  # pandas loads only inside the command that needs it
    from accelbench.results import Result
    from accelbench.run_summary import Line


@click.command(short_help="Show a run in the terminal: what pays and what would decide the rest.")
@click.argument("run", default="latest", shell_complete=complete_run)
@click.option("--storage", help="Folder or URL of the runs to choose from. Default: where pytest saved last")
@click.option("-v", "--verbose", is_flag=True, help="Everything, however many lines it takes.")
@format_options("text", "json")
def show(run: str, storage: str | None, verbose: bool, wanted: str) -> None:
    """Show what pays in RUN, what slows down, what is undecided and which option would decide it.

    RUN is named as for accelbench compare: a number (7), a name (the newest quick), a file, latest~2 for the one two
    before the newest, or several of these with commas between. Default: latest

    \b
    Example:
      accelbench show
      accelbench show 7 --verbose
      accelbench show quick --json
      accelbench show results/MACHINE/0001_first.json
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.results import Findings
    from accelbench.run_summary import Line

    location = storage or default_results()
    if run == "latest" and local_path(location):  # remote files would be fetched each time
        results = newest_of([location])
    else:
        from accelbench.history.select_runs import load_known_runs, select_runs

        required = storage is not None or not is_present(run)  # a file needs no other runs
        history, names = select_runs(run, load_known_runs(location, required=required))
        warn(history.unreadable.values())
        paths = history.runs.set_index("run")["path"]
        results = [result for name in names for result in newest_of([paths[name]])]
    if wanted == "json":
        found = [Findings(result).as_json() for result in results]
        click.echo(json.dumps(found[0] if len(found) == 1 else {"runs": found}, indent=2))
        return
    for place, result in enumerate(results):
        print_lines([*([Line("")] if place else []), *_lines(result, verbose=verbose)])


def _lines(result: Result, *, verbose: bool) -> Iterator[Line]:
    from accelbench.certainty import budget_of, noise_of
    from accelbench.report.machine import describe_machine
    from accelbench.run_summary import Judging, Line, summary_lines
    from accelbench.schema.safe_json import printable

    taken = f" of {result.taken:%Y-%m-%d %H:%M} UTC" if result.taken else ""
    yield Line(f"{printable(result.path)}{taken}", "bold")
    yield Line(describe_machine(result.run.environment.identity))
    if result.run.interrupted:
        yield Line("This run was interrupted; what it had measured until then is here.")
    if not result.run.trials:
        yield Line("nothing was measured in this run; measure with accelbench run, or pytest on your own benchmarks")
        return
    judging = Judging(noise=noise_of(result.run), budget_s=budget_of(result.run))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    yield from summary_lines(result.run.trials, judging, width=width, verbose=verbose)
