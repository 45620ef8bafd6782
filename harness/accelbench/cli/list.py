"""`accelbench list`: the workloads that can be measured, and the techniques that can be switched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import click

from accelbench.cli.output import format_options
from accelbench.errors import BadInput
from accelbench.text import hyphenate

Entries = list[dict[str, Any]]
_KINDS = ("workloads", "techniques")


@click.command("list")
@click.argument("words", nargs=-1)
@click.option("--framework", default="", help="Only those of this framework. Default: all frameworks")
@format_options("text", "json")
def list_catalogue(words: tuple[str, ...], framework: str, wanted: str) -> None:
    """List the built-in workloads, and the built-in techniques with their levels.

    WORDS find those that they describe, by name or by what else people call them: num_workers finds workers. The first
    of them may be workloads or techniques, to list only these. The first level of a technique is its baseline. Levels
    that depend on the machine are not listed, since no framework is loaded.

    \b
    Example:
      accelbench list
      accelbench list num_workers
      accelbench list techniques mixed precision
      accelbench list techniques --framework torch
      accelbench list workloads --format json
    """  # noqa: D301  click reads \b as "keep these lines"
    import accelbench.techniques
    import accelbench.workloads  # noqa: F401  importing declares them
    from accelbench.core import declared_for, declared_workloads, matches, searched_texts

    kind = words[0] if words and words[0] in _KINDS else ""
    sought = " ".join(words[1:] if kind else words)
    known = list(dict.fromkeys(name for work in declared_workloads() for name in work.frameworks))
    if framework and framework not in known:
        raise BadInput(f"--framework: {framework!r} is no framework; expected one of: {', '.join(known)}")
    frameworks = [framework] if framework else known
    workloads: Entries = [
        {"name": work.name, "frameworks": list(work.frameworks), "summary": work.summary}
        for work in declared_workloads()
        if set(work.frameworks) & set(frameworks) and matches(sought, work.name, work.summary)
    ]
    found = [each for name in frameworks for each in declared_for(name)]
    techniques: Entries = [
        {
            "name": each.name,
            "framework": each.framework,
            "levels": None if callable(each.levels) else list(each.levels),
            "summary": each.summary,
            "aliases": list(each.aliases),
        }
        for each in found
        if matches(sought, *searched_texts(each))
    ]
    chosen = {"workloads": workloads, "techniques": techniques}
    chosen = {name: entries for name, entries in chosen.items() if kind in ("", name) and (entries or not sought)}
    if not chosen:
        names = [name for each in found for name in (each.name, *each.aliases)] if kind != "workloads" else []
        names += [work.name for work in declared_workloads()] if kind != "techniques" else []
        near = get_close_matches(sought, names, n=1)
        raise BadInput(
            f"nothing is called {sought!r} here; "
            + (f"did you mean {near[0]!r}?" if near else f"list everything with: accelbench list {kind}".rstrip())
        )
    click.echo(json.dumps(chosen, indent=2) if wanted == "json" else "\n".join(_lines(chosen)))


def _lines(chosen: dict[str, Entries]) -> Iterator[str]:
    for place, (name, entries) in enumerate(chosen.items()):
        if len(chosen) > 1:
            yield f"{'' if place == 0 else chr(10)}{name.capitalize()}:"
        yield from _columns([_cells(entry) for entry in entries])


def _cells(entry: dict[str, Any]) -> tuple[str, str, str]:
    if "frameworks" in entry:
        return entry["name"], ", ".join(entry["frameworks"]), entry["summary"]
    levels = "levels depend on the machine" if entry["levels"] is None else ", ".join(entry["levels"])
    aliases = f" Also called: {', '.join(entry['aliases'])}." if entry["aliases"] else ""
    return hyphenate(entry["name"]), entry["framework"], f"{levels}: {entry['summary']}{aliases}"


def _columns(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    first, second = (max(len(row[column]) for row in rows) if rows else 0 for column in (0, 1))
    for name, frameworks, text in rows:
        yield f"{name:<{first}}  {frameworks:<{second}}  {text}"
