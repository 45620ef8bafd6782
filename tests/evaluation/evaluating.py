"""Ask everybody, several rows of the tables at once, and write the tables down."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor

from generators import RUNS
from peers import DETECTORS, Installed, Unreachable
from tables import TABLES, Table
from whole_tables import histories

from harness import units


def evaluated(number: int) -> Iterator[str]:
    """Yield the lines of all tables, made from so many series."""
    left_out = missing()
    begun_s = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            {row: pool.submit(table.cells, row, number) for row in table.rows if tool_of(row) not in left_out}
            for table in TABLES
        ]
        for table, cells in zip(TABLES, waiting, strict=True):
            yield from lines_of(table, cells, left_out)
    took = units.minutes(time.perf_counter() - begun_s)
    yield (
        f"{number} series of {RUNS} runs per size of step or scenario, half as many per noise model and spread where "
        f"nothing happens, and {histories(number)} whole histories each; in brackets exact binomial intervals at 95 % "
        f"(Clopper and Pearson 1934). Made in {took} on {os.cpu_count()} cores with Python {platform.python_version()}."
    )


def missing() -> dict[object, str]:
    """Install the tools, and return the ones that cannot be, with the reason."""
    reasons: dict[object, str] = {}
    for tool in (each.find for each in DETECTORS):
        if isinstance(tool, Installed):
            try:
                tool.prepare()
            except Unreachable as error:
                reasons[tool] = str(error)
    return reasons


def lines_of(
    table: Table, cells: Mapping[object, Future[Sequence[str]]], left_out: Mapping[object, str]
) -> Iterator[str]:
    """Yield a table's lines, in Markdown."""
    yield f"**{table.title}**"
    yield ""
    yield f"| {' | '.join(table.head)} |"
    yield f"|{'---|' * len(table.head)}"
    for row in table.rows:
        reason = left_out.get(tool_of(row))
        filled = [f"left out: {reason}", *[""] * (len(table.head) - 2)] if reason else cells[row].result()
        yield f"| {' | '.join([str(row), *filled])} |"
    yield ""


def tool_of(row: object) -> object:
    """Return what a row of a table asks."""
    return getattr(getattr(row, "detector", row), "find", None)
