"""`accelbench advise`: the fastest configuration of a workload that a time budget finds."""

from __future__ import annotations

import json
import sys

import click

from accelbench.cli.completion import complete_framework, complete_techniques, complete_workload
from accelbench.cli.output import format_options
from accelbench.errors import BadInput
from accelbench.progress import SearchProgress
from accelbench.sigint import stop_once
from accelbench.units import read_bytes, read_fraction, read_seconds


@click.command(short_help="Find the fastest settings of a workload or of your program.")
@click.argument("workload", shell_complete=complete_workload)
@click.option(
    "--framework", default="", shell_complete=complete_framework, help="Framework to run it in. Default: its first one"
)
@click.option("--budget", default="60s", help="Time for the search, such as 60s or 5m. Default: 60s")
@click.option("--max-memory", help="Largest peak memory allowed, such as 8GiB.")
@click.option("--max-error", help="Largest relative numeric error allowed, such as 1% or 0.01.")
@click.option("--deterministic", is_flag=True, help="Only configurations that give the same bits every time.")
@click.option(
    "--only", shell_complete=complete_techniques, help="Only these techniques, separated by commas: amp,batch_size"
)
@click.option("--set", "held", multiple=True, help="Fix a technique, or an option of the workload: batch_size=64")
@click.option("--max-batch", type=click.IntRange(min=1), help="Largest batch size to try. Default: 64; 1024 on a GPU")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the search and the data. Default: 0")
@format_options("text", "json", explanation="json prints the advice, with everything that was tried.")
def advise(
    workload: str,
    framework: str,
    budget: str,
    max_memory: str | None,
    max_error: str | None,
    deterministic: bool,
    only: str | None,
    held: tuple[str, ...],
    max_batch: int | None,
    seed: int,
    wanted: str,
) -> None:
    """Find the fastest configuration of WORKLOAD and print it as settings.

    WORKLOAD is one of those that `accelbench list workloads` prints, or a program of your own, as FILE.py:FUNCTION
    or package.module:FUNCTION.

    The search tries as many combinations of techniques as the budget allows, then races the best of them. It drops a
    configuration that is proved slower, gives a wrong output or exceeds a limit, and says why. Ctrl-C ends the search
    and prints the best configuration so far.

    \b
    Example:
      accelbench advise cnn-train --budget 60s
      accelbench advise bert-train --only amp,threads --set batch_size=16 --max-error 1%
      accelbench advise resnet50-train --max-memory 8GiB --deterministic --format json
      accelbench advise my_train.py:build --budget 5m
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.advise import Limits, Request, advise, as_json, as_text
    from accelbench.workloads.program_file import find_user_workload, is_place

    limits = Limits(
        memory_bytes=read_bytes(max_memory, "--max-memory") if max_memory else None,
        error=read_fraction(max_error, "--max-error") if max_error else None,
    )
    work, techniques = find_user_workload(workload) if is_place(workload) else (workload, ())
    request = Request(
        workload=work,
        techniques=techniques,
        framework=framework,
        budget_s=read_seconds(budget, "--budget"),
        limits=limits,
        deterministic=deterministic,
        only=_parse_names(only) if only is not None else (),
        held=_parse_assignments(held),
        max_batch=max_batch,
        seed=seed,
    )
    with stop_once(), SearchProgress(sys.stderr, request.budget_s) as progress:
        advice = advise(request, report=progress.report, on_progress=progress.show_phase, on_start=progress.restart)
    click.echo(json.dumps(as_json(advice), indent=2) if wanted == "json" else as_text(advice))
    if advice.interrupted:
        raise click.Abort


def _parse_names(text: str) -> tuple[str, ...]:
    if not text.strip():
        raise BadInput("--only: no technique is named; for example --only amp,batch_size")
    return tuple(map(_name, text.split(",")))


def _parse_assignments(texts: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, value = read_pair(text, "--set", "batch_size=64")
        if "," in value and "=" in value:
            again = " ".join(f"--set {part.strip()}" for part in text.split(","))
            raise BadInput(f"--set: {text!r} is more than one name and value; repeat the option: {again}")
        if values.setdefault(name, value) != value:
            raise BadInput(f"--set: {name} cannot be both {values[name]} and {value}")
    return values


def read_pair(text: str, option: str, example: str) -> tuple[str, str]:
    """Return the name and the value of an option's ``name=value``; a dash in the name counts as an underscore.

    Raises:
        BadInput: one of them is missing; the message has the option and an example.
    """
    name, _, value = (part.strip() for part in text.partition("="))
    if not (name and value):
        raise BadInput(f"{option}: {text!r} is not a name and a value; for example {option} {example}")
    return _name(name), value


def _name(text: str) -> str:
    return text.strip().replace("-", "_")
