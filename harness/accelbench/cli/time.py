"""`accelbench time`: which of several commands is faster."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import click

from accelbench.cli.output import format_options
from accelbench.errors import BadInput
from accelbench.progress import ConsoleScreen
from accelbench.sigint import stop_once
from accelbench.units import finite_or_none, read_seconds, size


@click.command(short_help="Compare command lines.")
@click.argument("commands", nargs=-1, required=True)
@click.option("--budget", help="Time for all runs, such as 10s or 2m. Default: 10s, or 18 runs of each")
@click.option("-w", "--warmup", type=click.IntRange(min=0), default=0, help="More untimed runs of each. Default: 0")
@click.option("-p", "--prepare", default="", help="Command to run, untimed, before each run.")
@click.option("-n", "--name", "names", multiple=True, help="Name of a command, in their order; repeat the option.")
@click.option("--shell/--no-shell", " /-N", default=False, help="Run by /bin/sh. Default: without a shell")
@click.option("--ignore-output", is_flag=True, help="Compare the times alone.")
@click.option("-i", "--ignore-failure", is_flag=True, help="Time commands whose exit status is not 0, too.")
@format_options("text", "json", explanation="json prints data for programs.")
def time(
    commands: tuple[str, ...],
    budget: str | None,
    warmup: int,
    prepare: str,
    names: tuple[str, ...],
    shell: bool,
    ignore_output: bool,
    ignore_failure: bool,
    wanted: str,
) -> None:
    """Compare COMMANDS, each a quoted command line: which is faster, by how much?

    The first command is the baseline. Commands run in pairs, in an order that a coin decides. What they write to
    standard output must be the same. Standard input is empty. A command may begin with variables: OMP_NUM_THREADS=1.
    Exit status: 0, or 1 if a command has no speed, 2 if the baseline has none or a command fails at once.

    \b
    Example:
      accelbench time 'python before.py' 'python after.py'
      accelbench time 'sort big.txt' 'sort --parallel=2 big.txt' --budget 30s
      accelbench time 'make -j1' 'make -j4' --prepare 'make clean' --ignore-output
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.measuring.commands import Command, time_commands

    if len(names) > len(commands):
        raise BadInput(f"-n: got {len(names)} names for {len(commands)} commands; expected one for each at most")
    named = _distinct([*names, *commands[len(names) :]])
    made = [
        Command(
            name=name,
            text=text,
            shell=shell,
            prepare=prepare,
            ignore_failure=ignore_failure,
            ignore_output=ignore_output,
        )
        for name, text in zip(named, commands, strict=True)
    ]
    screen = ConsoleScreen(sys.stderr)
    with stop_once():
        try:
            timed = time_commands(
                made,
                budget_s=read_seconds(budget, "--budget") if budget else None,
                warmup=warmup,
                on_progress=screen.rewrite if screen.is_terminal else lambda _: None,
            )
        finally:
            if screen.is_terminal:
                screen.rewrite("")
    click.echo(json.dumps(_as_json(timed, made), indent=2) if wanted == "json" else _as_text(timed))
    if any(result.verdict is None for result in timed.comparison.values()):
        raise SystemExit(1)


def _distinct(names: list[str]) -> list[str]:
    """Return the names, with a number where a command is given more than once."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _as_text(timed: Any) -> str:
    from accelbench.text import format_table

    memory = {name: size(peak_bytes) for name, peak_bytes in timed.memory_bytes.items()}
    headers = ("command", "memory", "time", "speedup", "interval", "verdict")
    rows = [(name, memory.get(name, "not known"), *cells) for name, *cells in timed.comparison.rows()]
    return "\n".join([format_table(rows, headers), *(f"Warning: {each}." for each in timed.comparison.warnings)])


def _as_json(timed: Any, commands: Any) -> dict[str, Any]:
    comparison = timed.comparison
    documents = []
    for each in commands:
        known = {"name": each.name, "command": each.text, "median_s": comparison.per_item_s.get(each.name)}
        known["peak_memory_bytes"] = timed.memory_bytes.get(each.name)
        if each.name in comparison:
            result = comparison[each.name]
            known |= {name: finite_or_none(getattr(result, name)) for name in ("speedup", "low", "high")}
            known |= {"verdict": result.verdict, "pairs": result.pairs, "reason": result.reason}
        documents.append(known)
    return {"baseline": comparison.baseline, "commands": documents, "warnings": list(comparison.warnings)}
