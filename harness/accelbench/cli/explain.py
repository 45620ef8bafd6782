"""`accelbench explain`: what holds a program back, where its time goes, and what to switch on; or why in a run."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accelbench.cli.advise import read_pair
from accelbench.cli.output import format_options
from accelbench.cli.report import newest_of
from accelbench.errors import BadInput, Unavailable
from accelbench.files import require_writable, write_atomically
from accelbench.locations import address_beside, default_results, is_present, local_path, write_text
from accelbench.progress import SearchProgress
from accelbench.sigint import stop_once
from accelbench.units import finite_or_none, read_seconds

if TYPE_CHECKING:  # it loads only inside the command that needs it
    from accelbench.explain.explanation import Explanation
    from accelbench.results import Result


PROGRAM_BUDGET, RUN_BUDGET = "2m", "10m"
_NUMBER_OF_RUN = re.compile(r"\d+|latest(~\d+)?")


@click.command()
@click.argument("program")
@click.option(
    "--budget", help=f"Time for the answer, such as 60s or 5m. Default: {PROGRAM_BUDGET}, of a run {RUN_BUDGET}"
)
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
    budget: str | None,
    price: float | None,
    technique: str | None,
    predict: bool,
    figure: Path | None,
    seed: int,
    wanted: str,
) -> None:
    """Say what holds PROGRAM back, where its time goes, and what to switch on.

    PROGRAM is a PyTorch, Keras or NumPy program of your own, as FILE.py:FUNCTION or package.module:FUNCTION. It may
    also be a workload of the suite in PyTorch, TensorFlow or NumPy, by its name. Or it is a run of the suite on this
    machine: a result file, a folder (its newest run), a number or latest.

    The program is profiled in a process of its own. Then parts of it are taken off, one at a time and in pairs with the
    program as it stands: the loader, the backward pass, the readings of losses, small batches. What may help against
    what is found is tried, too. Of a workload of the suite no part is taken off.

    Of a run, the baselines are profiled, and what each technique could bring at most stands beside what it brought.
    Effects that surprise are explained from the profiles of both sides. The answer is kept beside the result file, and
    accelbench report shows it.

    \b
    Example:
      accelbench explain my_train.py:build
      accelbench explain my_train.py:build --budget 5m --price 3.20 --format markdown
      accelbench explain my_train.py:build --predict
      accelbench explain resnet18-train
      accelbench explain resnet18-train --technique amp=bf16
      accelbench explain results/MACHINE/0001_first.json --budget 20m
    """  # noqa: D301  click reads \b as "keep these lines"
    from accelbench.core import find_workload, load_builtins
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

    load_builtins()
    if _names_run(program):
        if predict or technique is not None or figure is not None or price is not None or seed:
            raise BadInput(f"{program} is a run, of which everything is explained; leave out all options but --budget")
        _explain_run(program, read_seconds(RUN_BUDGET if budget is None else budget, "--budget"), wanted)
        return
    work = find_user_workload(program)[0] if is_place(program) else find_workload(program)
    budget_s = read_seconds(PROGRAM_BUDGET if budget is None else budget, "--budget")
    request = ExplanationRequest(workload=work, budget_s=budget_s, price_per_hour=price, seed=seed)
    if figure is not None and (predict or technique is not None):
        raise BadInput("--figure draws the whole program; leave out --technique and --predict")
    if predict and technique is not None:
        raise BadInput("--predict ranks all techniques, and --technique explains one; leave out one of both")
    if predict or technique is not None:
        asked = "--predict" if predict else "--technique"
        if price is not None:
            raise BadInput(f"{asked} says nothing of money; leave out --price")
        if wanted == "markdown":
            raise BadInput(f"{asked} has no Markdown; choose --format text or json")
    if predict:
        if budget is not None:
            raise BadInput("--predict takes one profile and no budget; leave out --budget")
        predictions = predict_speedups(request)
        written = [
            asdict(each)
            | {"present": {name: ", ".join(levels) for name, levels in each.present.items()}}
            | {"at_most": finite_or_none(each.at_most)}
            for each in predictions
        ]
        click.echo(json.dumps(written, indent=2) if wanted == "json" else prediction_table(predictions))
        return
    if technique is not None:
        name, level = read_pair(technique, "--technique", "amp=bf16")
        with stop_once(), SearchProgress(sys.stderr, request.budget_s) as progress:
            reasons = explain_technique(
                request,
                name,
                level,
                report=progress.report,
                on_progress=progress.show_phase,
                on_start=progress.restart,
            )
        click.echo(json.dumps(reasons_as_json(reasons), indent=2) if wanted == "json" else reasons_as_text(reasons))
        return
    if figure is not None:
        import accelbench.report.figures.roofline  # noqa: F401  if its extra is missing, say so before measuring
    with stop_once(), SearchProgress(sys.stderr, request.budget_s) as progress:
        explanation = explain(
            request, report=progress.report, on_progress=progress.show_phase, on_start=progress.restart
        )
    if wanted == "json":
        click.echo(json.dumps(as_json(explanation), indent=2))
    else:
        click.echo(as_markdown(explanation) if wanted == "markdown" else as_text(explanation))
    if figure is not None:
        _draw(explanation, figure)
    if explanation.interrupted:
        raise click.Abort


def _names_run(text: str) -> bool:
    """Return whether a text names a run, and neither a user's program nor a workload."""
    path = local_path(text)
    if path is None or path.suffix == ".json" or _NUMBER_OF_RUN.fullmatch(text):
        return True
    return is_present(text) and path.is_dir()


def _explain_run(name: str, budget_s: float, wanted: str) -> None:
    """Explain a run, keep the answer beside its result file, and print it."""
    from accelbench.explain import explain_run
    from accelbench.explained_run import as_json, as_markdown, as_text
    from accelbench.schema.run_explanation import SUFFIX, to_bytes

    result = _find_run(name)
    beside = address_beside(result.path, SUFFIX)
    if (path := local_path(beside)) is not None:
        _require_writable(path.parent)
    with stop_once(), SearchProgress(sys.stderr, budget_s) as progress:
        explanation = explain_run(result.run, budget_s, report=progress.report, on_start=progress.restart)
    if wanted == "json":
        click.echo(json.dumps(as_json(explanation, result.run), indent=2))
    else:
        click.echo((as_markdown if wanted == "markdown" else as_text)(explanation, result.run))
    write_text(to_bytes(explanation).decode(), beside)
    click.echo(f"kept in {beside}; accelbench report shows it on the run's page", err=True)


def _require_writable(folder: Path) -> None:
    """Check that an explanation can be kept, before minutes are spent on it."""
    try:
        require_writable(folder)
    except OSError as error:
        raise BadInput(
            f"{folder}: the explanation cannot be kept beside the run ({error.strerror or error}); copy the run to a "
            "folder that can be written"
        ) from None


def _find_run(name: str) -> Result:
    if name == "latest" or not _NUMBER_OF_RUN.fullmatch(name):
        (result,) = newest_of([default_results() if name == "latest" else name])
        return result
    from accelbench.history.select_runs import load_known_runs, select_runs

    history, (chosen,) = select_runs(name, load_known_runs(default_results(), required=True))
    (result,) = newest_of([history.runs.set_index("run")["path"][chosen]])
    return result


def _draw(explanation: Explanation, path: Path) -> None:
    """Write the roofline of a program, or say why there is none."""
    from accelbench.report.figures.roofline import roofline_chart

    profile = explanation.profile
    try:
        chart = roofline_chart(explanation.workload, profile.device, profile.operators, explanation.ceilings)
        write_atomically(path, chart.svg.encode())
    except (Unavailable, OSError) as error:
        click.echo(f"{path} was not written: {error}", err=True)
