"""Put tables that a program made between the two markers of a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


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
