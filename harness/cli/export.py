"""`accelbench export`: runs as other trackers of benchmarks read them."""

from __future__ import annotations

import json

import click

from harness.cli.folders import RESULTS
from harness.cli.one_line import warn
from harness.cli.writing import write_text

_ASV = "asv"


@click.command()
@click.argument("results", default=str(RESULTS))
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["github-action-benchmark", "bmf", "asv"]),
    required=True,
    help="For github-action-benchmark (customSmallerIsBetter), bencher (Bencher Metric Format) or airspeed velocity.",
)
@click.option(
    "--output",
    help="File or URL to write, or for asv the folder. Default: printed, for asv the folder asv",
)
def export(results: str, wanted: str, output: str | None) -> None:
    """Write RESULTS, a result file, a folder or a URL (default: results), for another tracker of benchmarks.

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
    write_text(f"{json.dumps(written(observations), indent=2, ensure_ascii=False)}\n", output)


def _write_asv(results: str, output: str) -> None:
    from harness.reading.history.storage.index import history
    from harness.reading.history.storage.locations import place_below
    from harness.report.outputs.trackers import write_asv
    from harness.units import plural
    from harness.untrusted import shown

    commits, without, published = write_asv(history(results), output)
    if without:
        said = (
            f"{shown(without[0])} and {len(without) - 1} more name"
            if len(without) > 1
            else f"{shown(without[0])} names"
        )
        click.echo(f"Warning: {said} no commit, which asv needs; left out", err=True)
    configured = shown(place_below(output, "asv.conf.json"))
    click.echo(f"results of {plural(commits, 'commit')} for asv: {configured} ({published})")
