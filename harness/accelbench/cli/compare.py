"""`accelbench compare`: what changed from some runs to others, and was it the machine, a workload or a technique?"""

from __future__ import annotations

import click

from accelbench.cli.completion import complete_run
from accelbench.cli.output import format_options, note, warn, write_text
from accelbench.locations import default_results


@click.command(short_help="Explain what changed between runs.")
@click.argument("before", shell_complete=complete_run)
@click.argument("after", shell_complete=complete_run)
@click.option("--storage", help="Folder or URL of the runs to choose from. Default: where pytest saved last")
@format_options("text", "markdown", "json", "html", explanation="What is printed; json and html hold every row.")
@click.option("--all", "every", is_flag=True, help="Also the rows in which nothing is faster or slower.")
@click.option("--output", help="Write into this file, or to this URL, instead.")
def compare(before: str, after: str, storage: str | None, wanted: str, every: bool, output: str | None) -> None:
    """Report what changed from the runs BEFORE to the runs AFTER: the machine, a workload or a technique.

    BEFORE and AFTER are runs of one machine each: a result file, a folder, a URL, a number (7), a name (the newest
    quick), latest, latest~2, machine:NAME (all its runs), a pattern in quotes ("quick*"), or several of these with
    commas between. Differences of the environments come first. If the machines differ, the table shows which effects
    carry over, grow, shrink or flip. Three runs or more on each side decide best; a single run is judged by how much
    other runs of its machine in the storage differ. The smallest shift that matters and the false-discovery rate are
    those of [tool.accelbench.check] in pyproject.toml.

    \b
    Example:
      accelbench compare latest~1 latest
      accelbench compare 1,2,3 4,5,6 --format markdown > comment.md
      accelbench compare machine:epyc machine:h100 --format html --output machines.html
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.history.compare_runs import compare_runs
    from accelbench.history.policy import read_thresholds
    from accelbench.history.select_runs import load_known_runs, select_runs
    from accelbench.report.compare_output import format_comparison

    known = load_known_runs(storage or default_results(), required=storage is not None)
    history, earlier = select_runs(before, known)
    history, later = select_runs(after, known, history)
    warn(history.unreadable.values())
    note(history.remarks)
    comparison = compare_runs(history, earlier, later, read_thresholds())
    write_text(format_comparison(wanted, comparison, history, every=every), output)
