"""`accelbench explain`: what holds a program back, where its time goes, and what to switch on."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accelbench.cli.output import format_options
from accelbench.errors import BadInput, Unavailable
from accelbench.files import write_atomically
from accelbench.progress import SearchProgress
from accelbench.sigint import stop_once
from accelbench.units import read_seconds

if TYPE_CHECKING:  # it loads only inside the command that needs it
    from accelbench.explain.explanation import Explanation


@click.command()
@click.argument("program")
@click.option("--budget", default="2m", help="Time for the answer, such as 60s or 5m. Default: 2m")
@click.option("--price", type=click.FloatRange(min=0, min_open=True), help="What an hour of this machine costs.")
@click.option("--technique", help="Say instead why a technique pays or not, such as amp=bf16 or compile=default.")
@click.option("--predict", is_flag=True, help="Measure nothing: rank techniques by the time that each can touch.")
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw the operators' roofline into this SVG file."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the data and the weights. Default: 0")
@format_options("text", "markdown", "json", explanation="markdown is for an issue or a page; json has everything.")
def explain(
    program: str,
    budget: str,
    price: float | None,
    technique: str | None,
    predict: bool,
    figure: Path | None,
    seed: int,
    wanted: str,
) -> None:
    """Say what holds PROGRAM back, where its time goes, and what to switch on.

    PROGRAM is a PyTorch, Keras or NumPy program of your own, as FILE.py:FUNCTION or package.module:FUNCTION. With
    --technique or --predict, it may also be a workload of the suite in PyTorch or TensorFlow.

    The program is profiled in a process of its own. Then parts of it are taken off, one at a time and in pairs with the
    program as it stands: the loader, the backward pass, the readings of losses, small batches. What may help against
    what is found is tried, too.

    \b
    Example:
      accelbench explain my_train.py:build
      accelbench explain my_train.py:build --budget 5m --price 3.20 --format markdown
      accelbench explain my_train.py:build --predict
      accelbench explain resnet18-train --technique amp=bf16
    """  # noqa: D301  click reads \b as "keep these lines"
    import accelbench.workloads  # fills the catalogue
    from accelbench.core import find_workload
    from accelbench.explain import (
        ExplanationRequest,
        as_json,
        as_markdown,
        as_text,
        explain,
        explain_technique,
        predict_speedups,
        prediction_table,
        reasons_as_json,
        reasons_as_text,
    )
    from accelbench.workloads.program_file import find_user_workload, is_place

    work = find_user_workload(program)[0] if is_place(program) else find_workload(program)
    request = ExplanationRequest(
        workload=work, budget_s=read_seconds(budget, "--budget"), price_per_hour=price, seed=seed
    )
    if figure is not None and (predict or technique is not None):
        raise BadInput("--figure draws the whole program; leave out --technique and --predict")
    if predict:
        predictions = predict_speedups(request)
        written = [asdict(each) | {"at_most": each.at_most} for each in predictions]
        click.echo(json.dumps(written, indent=2) if wanted == "json" else prediction_table(predictions))
        return
    if technique is not None:
        name, level = _pair(technique)
        with stop_once(), SearchProgress(sys.stderr, request.budget_s) as progress:
            reasons = explain_technique(request, name, level, report=progress.report, on_progress=progress.show_phase)
        click.echo(json.dumps(reasons_as_json(reasons), indent=2) if wanted == "json" else reasons_as_text(reasons))
        return
    if figure is not None:
        import accelbench.report.figures.roofline  # noqa: F401  if its extra is missing, say so before measuring
    with stop_once(), SearchProgress(sys.stderr, request.budget_s) as progress:
        explanation = explain(request, report=progress.report, on_progress=progress.show_phase)
    if wanted == "json":
        click.echo(json.dumps(as_json(explanation), indent=2))
    else:
        click.echo(as_markdown(explanation) if wanted == "markdown" else as_text(explanation))
    if figure is not None:
        _draw(explanation, figure)


def _draw(explanation: Explanation, path: Path) -> None:
    """Write the roofline of a program, or say why there is none."""
    from accelbench.report.figures.roofline import roofline_chart

    profile = explanation.profile
    try:
        chart = roofline_chart(explanation.workload, profile.device, profile.operators, explanation.ceilings)
        write_atomically(path, chart.svg.encode())
    except (Unavailable, OSError) as error:
        click.echo(f"{path} was not written: {error}", err=True)


def _pair(text: str) -> tuple[str, str]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not (equals and name and level):
        raise BadInput(f"--technique: {text!r} is not a technique and its level; for example --technique amp=bf16")
    return name.replace("-", "_"), level
