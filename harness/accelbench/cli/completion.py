"""What a shell completes: workloads, techniques, frameworks and runs.

Nothing here loads a framework or opens a result, since a shell waits for it at every press of the Tab key.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from accelbench.locations import default_results
from accelbench.text import hyphenate

LISTS = ("workloads", "techniques", "runs", "machines")
FILES = CompletionItem("", type="file")  # has the shell add the names of files


def complete_workload(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the workloads that begin so, and files."""
    from accelbench.core import declared_workloads, load_builtins

    load_builtins()
    return [*_items(((each.name, each.summary) for each in declared_workloads()), start), FILES]


def complete_techniques(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the techniques that the last name of a list with commas begins."""
    before, comma, _ = start.rpartition(",")
    return _items(((f"{before}{comma}{name}", summary) for name, summary in _techniques()), start)


def complete_framework(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the frameworks that begin so."""
    from accelbench.core import declared_frameworks, load_builtins

    load_builtins()
    return _items(((name, "") for name in declared_frameworks()), start)


def complete_list(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return what `accelbench list` can list, and what it finds by name."""
    workloads = complete_workload(context, parameter, start)[:-1]
    return [*_items(((each, "") for each in LISTS), start), *workloads, *_items(_techniques(aliases=True), start)]


def complete_run(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the runs that begin so, by number and name, and files."""
    folder = Path(default_results())
    files = sorted(folder.glob("*/[0-9][0-9][0-9][0-9]*_*.json"), key=lambda file: file.name, reverse=True)
    return [*_items((("latest", "the newest run"), *((file.stem, file.parent.name) for file in files)), start), FILES]


def complete_selection(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the selections of benchmarks that begin so."""
    return _items((("quick", "what takes a few minutes"), ("all", "every benchmark")), start)


def _techniques(*, aliases: bool = False) -> Iterable[tuple[str, str]]:
    from accelbench.core import declared_for, declared_frameworks, load_builtins

    load_builtins()
    techniques = [each for name in declared_frameworks() for each in declared_for(name)]
    others = [(alias, each.summary) for each in techniques for alias in each.aliases if aliases and " " not in alias]
    return [*((hyphenate(each.name), each.summary) for each in techniques), *others]


def _items(names: Iterable[tuple[str, str]], start: str) -> list[CompletionItem]:
    """Return each name once that begins so, with its explanation."""
    return [CompletionItem(name, help=text or None) for name, text in dict(names).items() if name.startswith(start)]
