"""Score the detectors of changes beside others on simulated histories: `python -m studies.history` (10 minutes).

The truth is known, since the changes are planted, and everything is drawn from fixed seeds. Other tools are installed
into environments of their own below .tox/; a tool that cannot be installed is left out with the reason. The tables are
printed; with --write they replace those in studies/history_evaluation.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from accelbench import units
from studies.history import history_tables, series_tables
from studies.history.detectors import DETECTORS, Installed, Unreachable
from studies.history.history_tables import count_histories
from studies.history.scoring import Table
from studies.history.simulated_series import RUNS
from studies.marked_tables import show_tables

PAGE = Path(__file__).parents[1] / "history_evaluation.md"
TABLES = (*series_tables.TABLES, *history_tables.TABLES)


def main() -> None:
    """Score everything, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200, help="series per cell (200)")
    parser.add_argument("--write", action="store_true", help="put the tables into studies/history_evaluation.md")
    options = parser.parse_args()
    show_tables(PAGE, "evaluation", evaluate(options.series), write=options.write)


def evaluate(number: int) -> Iterator[str]:
    """Yield the lines of all tables, from ``number`` series; several rows are computed at once."""
    missing = install_tools()
    start_s = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        pending = [
            {row: pool.submit(table.cells, row, number) for row in table.rows if _tool_of(row) not in missing}
            for table in TABLES
        ]
        for table, cells in zip(TABLES, pending, strict=True):
            yield from format_table(table, cells, missing)
    took = units.minutes(time.perf_counter() - start_s)
    yield (
        f"{number} series of {RUNS} runs per size of step or scenario, half as many per noise model and spread where "
        f"nothing happens, and {count_histories(number)} whole histories each; in brackets exact binomial intervals at "
        f"95 % (Clopper and Pearson 1934). Made in {took} on {os.cpu_count()} cores with Python "
        f"{platform.python_version()}."
    )


def install_tools() -> dict[object, str]:
    """Install the tools, and return those that cannot be installed, with the reason."""
    missing: dict[object, str] = {}
    for tool in (each.find for each in DETECTORS):
        if isinstance(tool, Installed):
            try:
                tool.prepare()
            except Unreachable as error:
                missing[tool] = str(error)
    return missing


def format_table(
    table: Table, cells: Mapping[object, Future[Sequence[str]]], missing: Mapping[object, str]
) -> Iterator[str]:
    """Yield a table's lines in Markdown."""
    yield f"**{table.title}**"
    yield ""
    yield f"| {' | '.join(table.head)} |"
    yield f"|{'---|' * len(table.head)}"
    for row in table.rows:
        reason = missing.get(_tool_of(row))
        texts = [f"left out: {reason}", *[""] * (len(table.head) - 2)] if reason else cells[row].result()
        yield f"| {' | '.join([str(row), *texts])} |"
    yield ""


def _tool_of(row: object) -> object:
    """Return the detector's function that fills a row of a table, which is an installed tool for some."""
    return getattr(getattr(row, "detector", row), "find", None)


if __name__ == "__main__":
    main()
