"""`accelbench export`: runs in the formats of other benchmark trackers."""

from __future__ import annotations

import json

import click

from accelbench.cli.output import warn, write_text
from accelbench.locations import default_results

_ASV = "asv"


@click.command(short_help="Write results for another benchmark tracker.")
@click.argument("results", default=default_results)
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
    """Write RESULTS, a result file, a folder or a URL, for another benchmark tracker.

    By default, RESULTS is where pytest saved last. github-action-benchmark and bmf hold the newest run, since those
    trackers keep the history themselves; asv holds every run that names its commit. The export has the time per item
    of each arm, and each effect: as a speedup with its interval (bmf), or as the time relative to the baseline's, for
    trackers that expect smaller values to be better. Effects are those of each run alone, without the earlier runs
    that accelbench show joins with it.

    \b
    Example:
      accelbench export --format github-action-benchmark --output benchmarks.json
      accelbench export --format bmf | bencher run --adapter json --testbed MACHINE
      accelbench export --format asv && asv publish --config asv/asv.conf.json
    """  # noqa: D301  click reads \b as "keep these lines"
    if wanted == "asv":
        _write_asv(results, output or _ASV)
        return
    from accelbench.history.observations import observe
    from accelbench.report.trackers import as_bmf, as_github_action_benchmark
    from accelbench.results import find_newest

    found = find_newest(results)
    warn(found.unreadable)
    observations = observe(found.results)
    written = as_bmf if wanted == "bmf" else as_github_action_benchmark
    write_text(f"{json.dumps(written(observations), indent=2, ensure_ascii=False)}\n", output)


def _write_asv(results: str, output: str) -> None:
    from accelbench.history.index import load_history
    from accelbench.locations import join_location
    from accelbench.report.trackers import write_asv
    from accelbench.schema.safe_json import printable
    from accelbench.text import list_some
    from accelbench.units import plural

    commits, without, published = write_asv(load_history(results), output)
    if without:
        runs = list_some(map(printable, without), 1)
        click.echo(f"Warning: asv needs the commit of a run; left out without one: {runs}", err=True)
    configured = printable(join_location(output, "asv.conf.json"))
    click.echo(f"results of {plural(commits, 'commit')} for asv: {configured} ({published})")
