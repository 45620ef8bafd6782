"""`accelbench run`: measure this machine by the benchmarks that come with accelbench, in any folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accelbench.cli.completion import complete_selection
from accelbench.errors import BadInput
from accelbench.locations import RESULTS, RESULTS_INI, configured_results
from accelbench.user_code import PACKAGE

if TYPE_CHECKING:  # loaded when the benchmarks run
    import pytest

QUICK, ALL = "quick", "all"
SLOW = "slow: takes more than a few seconds; left out of a quick run"


class QuickSelection:
    """The definition of a quick run: its options, and the benchmarks that are left to a full one."""

    OPTIONS = ("--accel-budget=0.5", "--accel-max-batch=32", "--accel-within=6.75")

    def __init__(self) -> None:
        self.left_out = 0

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect what is marked as slow, or takes long on a CPU: BERT compiled, and float16 in large models."""
        left_out = [item for item in items if self._is_long(item)]
        self.left_out = len(left_out)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]

    def _is_long(self, item: pytest.Item) -> bool:
        emulates_float16 = "amp-fp16" in item.name and ("resnet18" in item.name or "bert" in item.name)
        return bool(item.get_closest_marker("slow")) or "ladder-+compile" in item.name or emulates_float16


@click.command(
    short_help="Measure this machine by the benchmarks that come with accelbench.",
    context_settings={"ignore_unknown_options": True},
)
@click.argument(
    "arguments",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="[quick|all] [PYTEST_ARGUMENTS]...",
    shell_complete=complete_selection,
)
@click.pass_context
def run(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Measure this machine by the benchmarks that come with accelbench, and save the run.

    quick, the default, takes a few minutes on two cores; all takes hours. What follows goes to pytest, which runs the
    benchmarks: -k amp selects those of a technique, --accel-budget=2 measures each arm for longer. The run lies in
    results, or where the repository's pytest settings keep runs, and accelbench report renders it. Exit status: as of
    pytest with the benchmarks.

    \b
    Example:
      accelbench run
      accelbench run quick -k "amp or num_workers"
      accelbench run all --accel-budget=4 --benchmark-save=long
      accelbench run all -k cupy --collect-only -q
    """  # noqa: D301  click reads \b as "keep these lines"
    import pytest

    selection, passed_on = _selection(arguments)
    quick = QuickSelection() if selection == QUICK else None
    benchmarks = _benchmarks_folder()
    results = configured_results(Path.cwd()) or RESULTS.absolute()
    status = pytest.main(
        [
            str(benchmarks),
            f"--rootdir={benchmarks.parent}",  # names of tests are those of a clone
            f"--config-file={os.devnull}",  # settings of the user's repository are for its own tests
            f"--override-ini={RESULTS_INI}={results}",
            f"--override-ini=markers={SLOW}",
            "--no-header",
            "-pno:cacheprovider",
            "-Wignore::pytest.PytestAssertRewriteWarning",  # this command has imported accelbench
            *([] if {"--collect-only", "--co"} & {*passed_on} else [f"--benchmark-save={selection}"]),
            *(quick.OPTIONS if quick else ()),
            *passed_on,
        ],
        plugins=[quick] if quick else [],
    )
    for folder in (*results.glob("*/"), results):  # that were made for a run and got none
        with suppress(OSError):
            folder.rmdir()
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and quick and quick.left_out:
        click.echo("No benchmark of a quick run is what you selected; all of them: accelbench run all ...", err=True)
    context.exit(int(status))


def _selection(arguments: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return which benchmarks run, and what is passed on to pytest.

    Raises:
        BadInput: the first argument is neither a selection nor an option.
    """
    if not arguments or arguments[0].startswith("-"):
        return QUICK, arguments
    if arguments[0] not in (QUICK, ALL):
        raise BadInput(
            f"{arguments[0]!r} is no selection; expected quick or all, then options of pytest such as -k amp"
        )
    return arguments[0], arguments[1:]


def _benchmarks_folder() -> Path:
    """Return the folder of the benchmarks: in the installed package, or in the checkout that contains it.

    Raises:
        BadInput: there is none.
    """
    folders = [PACKAGE / "benchmarks", PACKAGE.parents[1] / "benchmarks"]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise BadInput(f"{folders[0]}: no such folder, so this installation has no benchmarks; install accelbench again")
