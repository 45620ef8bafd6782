"""`accelbench compare`: what changed from some runs to others, and was it the machine, a workload or a technique?"""

from __future__ import annotations

import click

from harness.cli.folders import RESULTS
from harness.cli.one_line import note, warn
from harness.cli.writing import write_text


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--storage", help="Folder or URL of the runs to choose from. Default: results")
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["text", "markdown", "json", "html"]),
    default="text",
    help="What is printed; json and html hold every row. Default: text",
)
@click.option("--json", "wanted", flag_value="json", help="The same as --format json.")
@click.option("--all", "every", is_flag=True, help="Also the rows in which nothing is faster or slower.")
@click.option("--output", help="Write into this file, or to this URL, instead.")
def compare(before: str, after: str, storage: str | None, wanted: str, every: bool, output: str | None) -> None:
    """Say what changed from the runs BEFORE to the runs AFTER: the machine, a workload or a technique.

    BEFORE and AFTER are runs of one machine each: a result file, a folder, a URL, a number (7), a name (the newest
    quick), latest, latest~2, machine:NAME (all its runs), a pattern in quotes ("quick*"), or several of these with
    commas between. Environments are explained first. Where the machines differ, the table says which effects carry
    over, grow, shrink or flip. Three runs or more a side decide best; a single one is judged by how much other runs of
    its machine in the storage differ. The smallest shift that matters and the false-discovery rate are those of
    [tool.accelbench.check] in pyproject.toml.

    \b
    Example:
      accelbench compare latest~1 latest
      accelbench compare 1,2,3 4,5,6 --format markdown > comment.md
      accelbench compare machine:epyc machine:h100 --format html --output machines.html
    """  # noqa: D301  click reads \b as "keep these lines"
    from harness.reading.history.comparing.comparison import compared
    from harness.reading.history.comparing.selecting import known_runs, select
    from harness.reading.history.gate.limits import read_limits
    from harness.reading.history.storage.oddities import formats
    from harness.report.compared import written

    known, earlier = select(before, known_runs(storage or RESULTS, needed=storage is not None))
    known, later = select(after, known)
    warn(known.unreadable)
    chosen = known.runs[known.runs["run"].isin([*earlier, *later])]
    note([*known.remarks, *formats(chosen)], known.unreadable)
    text = written(wanted, compared(known, earlier, later, read_limits()), known, every=every)
    write_text(text, output)
