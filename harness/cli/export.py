"""`accelbench export`: runs as other trackers of benchmarks read them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.cli.folders import RESULTS
from harness.cli.one_line import warn
from harness.errors import BadInput

_ASV = Path("asv")


@click.command()
@click.argument("results", type=click.Path(path_type=Path), default=RESULTS)
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["github-action-benchmark", "bmf", "asv"]),
    required=True,
    help="For github-action-benchmark (customSmallerIsBetter), bencher (Bencher Metric Format) or airspeed velocity.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="File to write, or for asv the folder. Default: printed, for asv the folder asv",
)
def export(results: Path, wanted: str, output: Path | None) -> None:
    """Write RESULTS, a result file or a folder (default: results), for another tracker of benchmarks.

    github-action-benchmark and bmf hold the newest run, since those trackers keep the history themselves; asv holds
    every run that names its commit. Exported are times per item, and each effect: as speedup with its interval (bmf),
    or as the time relative to the baseline's, where the tracker takes more for worse.

    \b
    Example:
      accelbench export --format github-action-benchmark --output benchmarks.json
      accelbench export --format bmf | bencher run --adapter json --testbed MACHINE
      accelbench export --format asv && asv publish --config asv/asv.conf.json
    """  # noqa: D301  click reads \b as "keep these lines"
    if wanted == "asv":
        _write_asv(results, output or _ASV)
        return
    from harness.reading import find_newest
    from harness.reading.history.observations import observe
    from harness.report.outputs.trackers import as_bmf, as_github_action_benchmark

    found = find_newest(results)
    warn(found.unreadable)
    observations = observe(found.results)
    written = as_bmf if wanted == "bmf" else as_github_action_benchmark
    text = json.dumps(written(observations), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text.encode())  # UTF-8 on every terminal
        return
    try:
        output.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{output}: cannot be written ({error.strerror}); name another file with --output") from None


def _write_asv(results: Path, output: Path) -> None:
    from harness.reading.history.storage.index import history
    from harness.report.outputs.trackers import write_asv
    from harness.units import plural
    from harness.untrusted import shown

    commits, without = write_asv(history(results), output)
    if without:
        more = f" and {len(without) - 1} more" if len(without) > 1 else ""
        click.echo(f"Warning: {shown(without[0])}{more} name no commit, which asv needs; left out", err=True)
    click.echo(f"results of {plural(commits, 'commit')} for asv: {shown(str(output / 'asv.conf.json'))}")
