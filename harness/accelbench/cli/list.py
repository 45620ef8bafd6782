"""`accelbench list`: what can be measured and switched, and what was measured."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from accelbench.cli.completion import complete_framework, complete_list
from accelbench.cli.output import format_options, note, print_table, warn
from accelbench.errors import BadInput
from accelbench.locations import default_results
from accelbench.text import did_you_mean, hyphenate
from accelbench.units import plural

Entries = list[dict[str, Any]]
CATALOGUE, MEASURED = ("workloads", "techniques"), ("runs", "machines")


@click.command("list", short_help="List workloads and techniques, or the runs and machines measured.")
@click.argument("words", nargs=-1, shell_complete=complete_list)
@click.option("--framework", default="", shell_complete=complete_framework, help="Only those of this framework.")
@click.option("--storage", help="Folder or URL of the runs. Default: where pytest saved last")
@format_options("text", "json")
def list_entries(words: tuple[str, ...], framework: str, storage: str | None, wanted: str) -> None:
    """List the built-in workloads and techniques, or with runs or machines what was measured.

    WORDS find those that they describe, by name or by what else people call them: num_workers finds workers. The first
    of them may be workloads, techniques, runs or machines, to list only these. The first level of a technique is its
    baseline. Levels that depend on the machine are not listed, since no framework is loaded.

    \b
    Example:
      accelbench list
      accelbench list num_workers
      accelbench list techniques mixed precision
      accelbench list workloads --framework torch --format json
      accelbench list runs
      accelbench list machines --storage results
    """  # noqa: D301  click reads \b as "keep these lines"
    kind = words[0] if words and words[0] in (*CATALOGUE, *MEASURED) else ""
    sought = " ".join(words[1:] if kind else words)
    if kind in MEASURED:
        chosen = {kind: _find_runs_or_machines(kind, sought, framework, storage or default_results())}
    elif storage is not None:
        raise BadInput(
            f"--storage: only runs and machines are listed from a folder; list them with: accelbench list runs "
            f"--storage {shlex.quote(storage)}"
        )
    else:
        chosen = _catalogue(kind, sought, framework)
    if wanted == "json":
        click.echo(json.dumps(chosen, indent=2))
        return
    for place, (name, entries) in enumerate(chosen.items()):
        if len(chosen) > 1:
            click.echo(f"{'' if place == 0 else chr(10)}{name.capitalize()}:")
        print_table([_cells(entry) for entry in entries])


def _catalogue(kind: str, sought: str, framework: str) -> dict[str, Entries]:
    """Return the workloads and techniques that are sought, or those of one kind."""
    from accelbench.core import (
        declared_for,
        declared_frameworks,
        declared_workloads,
        load_builtins,
        matches,
        searched_texts,
    )

    load_builtins()
    known = declared_frameworks()
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
        raise _nothing(kind, sought, names)
    return chosen


def _find_runs_or_machines(kind: str, sought: str, framework: str, location: str) -> Entries:
    """Return the runs at a location, the newest last, or the machines on which they were made.

    Raises:
        BadInput: there is none that is sought, or none in which the framework was measured.
    """
    from accelbench.core import matches
    from accelbench.history.index import load_history

    history = load_history(location)
    warn(history.unreadable.values())
    note(history.remarks)
    compared = history.observations.loc[~history.observations["baseline"], "run"].value_counts()
    runs: Entries = [
        {
            "run": run["run"],
            "machine": run["machine"],
            "identity": json.loads(run["identity"]),
            "taken": None if run["taken"] != run["taken"] else run["taken"].isoformat(timespec="seconds"),
            "size": run["size"],
            "comparisons": int(compared.get(run["run"], 0)),
            "interrupted": run["interrupted"],
        }
        for run in history.runs.to_dict("records")
    ]
    if framework:
        measured = history.observations[["run", "framework"]].astype(str)
        known = sorted({*measured["framework"]})
        if framework not in known:
            raise BadInput(f"--framework: {framework!r} is in no run here; expected one of: {', '.join(known)}")
        own = {*measured.loc[measured["framework"] == framework, "run"]}
        runs = [run for run in runs if run["run"] in own]
    entries = runs if kind == "runs" else [*_machines(runs)]
    names = [each["run" if kind == "runs" else "machine"] for each in entries]
    found = [each for each, name in zip(entries, names, strict=True) if matches(sought, name)]
    if not found:
        raise _nothing(kind, sought, [name.rpartition("_")[2] if kind == "runs" else name for name in names])
    return found


def _machines(runs: Entries) -> Iterator[dict[str, Any]]:
    """Yield each machine with the number of its runs and the newest of them."""
    for machine in dict.fromkeys(run["machine"] for run in runs):
        own = [run for run in runs if run["machine"] == machine]
        newest = own[-1]
        yield {"machine": machine, "identity": newest["identity"], "runs": len(own), "newest": newest["run"]}


def _nothing(kind: str, sought: str, names: list[str]) -> BadInput:
    meant = did_you_mean(sought, {name: repr(name) for name in names})
    way_out = meant or f"; list everything with: accelbench list {kind}".rstrip()
    return BadInput(f"nothing is called {sought!r} here{way_out}")


def _cells(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return what a line of the list shows of a workload, a technique, a machine or a run."""
    if "frameworks" in entry:
        return entry["name"], ", ".join(entry["frameworks"]), entry["summary"]
    if "levels" in entry:
        levels = "levels depend on the machine" if entry["levels"] is None else ", ".join(entry["levels"])
        aliases = f" Also called: {', '.join(entry['aliases'])}." if entry["aliases"] else ""
        return hyphenate(entry["name"]), entry["framework"], f"{levels}: {entry['summary']}{aliases}"
    if "runs" in entry:
        from accelbench.report.machine import describe_machine
        from accelbench.schema.result import Identity

        identity = msgspec.convert(entry["identity"], Identity)
        return entry["machine"], plural(entry["runs"], "run"), describe_machine(identity)
    taken = (entry["taken"] or "").replace("T", " ")[:16]
    remark = ", interrupted" if entry["interrupted"] else ""
    machine, _, name = entry["run"].rpartition("/")
    return name, taken, entry["size"], plural(entry["comparisons"], "comparison"), f"{machine}{remark}"
