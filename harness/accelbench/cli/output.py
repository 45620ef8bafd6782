"""What the commands share: errors in one line, output that is printed or written, and default folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from accelbench.errors import AccelbenchError

Command = TypeVar("Command", bound=Callable[..., Any])

# The modules of the extra `report`; the rest is installed with accelbench.
REPORT_MODULES = ("fsspec", "jinja2", "matplotlib", "pandas", "pyarrow", "ruptures", "scipy", "seaborn", "tqdm")


class _BadInputError(click.ClickException):
    """One line on stderr, and exit status 2."""

    exit_code = 2


class Commands(click.Group):
    """A group of commands whose errors are one line that names the way out."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name."""
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
        message = " ".join(error.format_message().split()).rstrip(".")  # click lists choices line by line
        raise _BadInputError(f"{message}; see {command} --help") from None
    except ModuleNotFoundError as error:
        if error.name not in REPORT_MODULES:
            raise
        raise _BadInputError(
            f"this command needs {error.name}, which is not installed; install it: pip install 'accelbench[report]'"
        ) from None
    except AccelbenchError as error:
        raise _BadInputError(str(error)) from None


def warn(unreadable: Iterable[AccelbenchError]) -> None:
    """Warn on stderr about files that could not be read and are left out."""
    for error in unreadable:
        click.echo(f"Warning: {error}; skipped", err=True)


def note(remarks: Iterable[str], warned: Iterable[AccelbenchError]) -> None:
    """Print remarks on stderr, except those about which `warn` has warned."""
    known = [str(error) for error in warned]
    for remark in remarks:
        if not any(error in remark for error in known):
            click.echo(f"Note: {remark}", err=True)


def write_text(text: str, output: str | None) -> None:
    """Write a text into a file or to a URL, or print it if ``output`` is None.

    Raises:
        BadInput: the text cannot be written.
    """
    if output is None:
        click.echo(text.encode(), nl=False)  # UTF-8 on every terminal
        return
    from accelbench import locations

    locations.write_text(text, output)


RESULTS, CERTIFICATES = Path("results"), Path("certificates")


def format_options(*formats: str, explanation: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds ``--format``, by default the first of these, and ``--json`` as its alias.

    The command receives the choice as ``wanted``.
    """
    text = " ".join(filter(None, (explanation, f"Default: {formats[0]}")))

    def add(command: Command) -> Command:
        alias = click.option("--json", "wanted", flag_value="json", help="The same as --format json.")
        choice = click.option("--format", "wanted", type=click.Choice(formats), default=formats[0], help=text)
        return choice(alias(command))

    return add
