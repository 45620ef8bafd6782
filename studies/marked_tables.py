"""Put tables that a program made between the two markers of a page."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from accelbench.report.machine import describe_machine
from accelbench.schema import environment


def machine_and_date() -> str:
    """Return on which machine a table is made, and the date."""
    return f"{describe_machine(environment.identify())}, {datetime.now(UTC):%Y-%m-%d}"


def show_tables(page: Path, name: str, lines: Iterable[str], *, write: bool) -> None:
    """Print each line as soon as it is made, and write them all into the page if wanted."""
    made = []
    for line in lines:
        print(line, flush=True)
        made.append(line)
    if write:
        write_tables(page, name, made)


def write_tables(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replace what stands between ``<!-- name: begin -->`` and ``<!-- name: end -->``."""
    begin, end = (f"<!-- {name}: {side} -->" for side in ("begin", "end"))
    before, _, rest = page.read_text().partition(begin)
    page.write_text("\n".join([f"{before}{begin}", *lines, f"{end}{rest.partition(end)[2]}"]))
