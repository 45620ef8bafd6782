"""The command `accelbench`: one module per subcommand."""

from __future__ import annotations

import click

from accelbench.cli import (
    accept,
    advise,
    calibrate,
    check,
    compare,
    doctor,
    explain,
    export,
    list,  # noqa: A004  named as the command is
    report,
    run,
    show,
    time,
)
from accelbench.cli.output import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="accelbench")
def main() -> None:
    """Which acceleration techniques pay on this machine, by how much, at what price?

    \b
    Example:
      accelbench run quick
      accelbench report
    """  # noqa: D301  click reads \b as "keep these lines"


for _command in (
    advise.advise,
    report.report,
    run.run,
    show.show,
    calibrate.calibrate,
    check.check,
    accept.accept,
    compare.compare,
    doctor.doctor,
    explain.explain,
    export.export,
    list.list_entries,
    time.time,
):
    main.add_command(_command)
