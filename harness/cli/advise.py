"""`accelbench advise`: the fastest configuration of a workload that a time budget finds."""

from __future__ import annotations

import json

import click

from harness.errors import BadInput
from harness.interruption import one_ctrl_c


@click.command()
@click.argument("workload", required=False)
@click.option("--framework", default="", help="Framework in which it runs. Default: its first one")
@click.option("--budget", default="60s", help="Time for the search, such as 60s or 5m. Default: 60s")
@click.option("--max-memory", help="The most memory that is allowed, such as 8GiB.")
@click.option("--max-error", help="The largest relative numeric error that is allowed, such as 1% or 0.01.")
@click.option("--deterministic", is_flag=True, help="Only what gives the same bits in two runs.")
@click.option("--only", help="Only these techniques, with commas between: amp,batch_size")
@click.option("--set", "held", multiple=True, help="Hold a technique, or an option of the workload: batch_size=64")
@click.option("--max-batch", type=click.IntRange(min=1), help="Largest batch size to try. Default: 64; 1024 on a GPU")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the search and the data. Default: 0")
@click.option("--json", "as_json", is_flag=True, help="Print the advice as JSON, with everything that was tried.")
def advise(
    workload: str | None,
    framework: str,
    budget: str,
    max_memory: str | None,
    max_error: str | None,
    deterministic: bool,
    only: str | None,
    held: tuple[str, ...],
    max_batch: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Find the fastest configuration of WORKLOAD and print it as settings; without WORKLOAD, list what there is.

    WORKLOAD is one of the suite's, or a program of your own, as FILE.py:FUNCTION.

    Techniques are raced against each other in every combination that the budget holds: a first look at each, then
    elimination by verdicts. Wrong outputs, and what breaks a limit, are dropped with the reason.
    Ctrl-C ends the search with the answer that it has come to.

    \b
    Example:
      accelbench advise cnn-train --budget 60s
      accelbench advise bert-train --only amp,threads --set batch_size=16 --max-error 1%
      accelbench advise resnet50-train --max-memory 8GiB --deterministic --json
      accelbench advise my_train.py:build --budget 5m
    """  # noqa: D301  click reads \b as "keep these lines"
    if workload is None:
        from harness.advice.listing import listed

        click.echo(listed(framework))
        return
    from harness.advice.advising import Request, advise
    from harness.advice.limits import Limits, read_bytes, read_fraction, read_seconds
    from harness.advice.words import as_json as plain
    from harness.advice.words import as_text
    from harness.workloads.own import own_workload

    limits = Limits(
        memory_bytes=read_bytes(max_memory, "--max-memory") if max_memory else None,
        error=read_fraction(max_error, "--max-error") if max_error else None,
    )
    work, techniques = own_workload(workload) if ".py" in workload else (workload, ())
    request = Request(
        workload=work,
        techniques=techniques,
        framework=framework,
        budget_s=read_seconds(budget, "--budget"),
        limits=limits,
        deterministic=deterministic,
        only=tuple(_name(name) for name in only.split(",")) if only else (),
        held=dict(_pair(text) for text in held),
        max_batch=max_batch,
        seed=seed,
    )
    with one_ctrl_c():
        found = advise(request, say=lambda line: click.echo(line, err=True))
    click.echo(json.dumps(plain(found), indent=2) if as_json else as_text(found))
    if found.interrupted:
        raise click.Abort


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise BadInput(f"--set: {text!r} is not a name and a value; for example --set batch_size=64")
    return _name(name), value.strip()


def _name(text: str) -> str:
    return text.strip().replace("-", "_")
