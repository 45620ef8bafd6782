"""Every complaint of a command is one line that names the way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from harness.errors import HarnessError


class _BadInputError(click.ClickException):
    """One line on stderr, and exit status 2."""

    exit_code = 2


class Commands(click.Group):
    """A group in which every complaint is one line that names the way out."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that they name."""
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "accelbench"
        said = " ".join(error.format_message().split()).rstrip(".")  # click lists choices line by line
        raise _BadInputError(f"{said}; see {command} --help") from None
    except HarnessError as error:
        raise _BadInputError(str(error)) from None


def warn(unreadable: Iterable[HarnessError]) -> None:
    """Say on stderr what could not be read and is left out."""
    for error in unreadable:
        click.echo(f"Warning: {error}; skipped", err=True)


def note(remarks: Iterable[str], warned: Iterable[HarnessError]) -> None:
    """Say on stderr what is odd, without what has been warned of."""
    known = [str(error) for error in warned]
    for remark in remarks:
        if not any(error in remark for error in known):
            click.echo(f"Note: {remark}", err=True)
