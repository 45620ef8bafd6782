"""What the commands share: errors in one line, output that is printed or written, and default folders."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from accelbench.errors import AccelbenchError

if TYPE_CHECKING:  # loaded only by the commands that print by it
    from rich.console import RenderableType

    from accelbench.run_summary import Line

Command = TypeVar("Command", bound=Callable[..., Any])

# The modules of the extra `report`; the rest is installed with accelbench.
REPORT_MODULES = ("fsspec", "jinja2", "matplotlib", "pandas", "pyarrow", "ruptures", "scipy", "seaborn", "tqdm")


# The commands by what they are for, in the order in which --help lists them.
SECTIONS = {
    "Measure": ("run", "advise", "explain", "time", "doctor", "calibrate"),
    "Read": ("show", "report", "list", "export"),
    "Track": ("compare", "check", "accept"),
}


LONGEST_SHORT_HELP = 200  # characters: the formatter wraps what is longer than a line


class _BadInputError(click.ClickException):
    """One line on stderr, and exit status 2."""

    exit_code = 2


class Commands(click.Group):
    """A group of commands whose errors are one line that names the way out."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what they are for, each with its whole description."""
        others = [name for name in self.list_commands(ctx) if not any(name in names for names in SECTIONS.values())]
        for heading, names in {**SECTIONS, "More": others}.items():
            commands = [(name, self.commands[name].get_short_help_str(LONGEST_SHORT_HELP)) for name in names]
            if commands:
                with formatter.section(heading):
                    formatter.write_dl(commands)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name."""
        atexit.register(gc.freeze)  # the system takes back all memory at once; a search for cycles would come first
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


def note(remarks: Iterable[str]) -> None:
    """Print remarks on stderr."""
    for remark in remarks:
        click.echo(f"Note: {remark}", err=True)


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines in their styles; a terminal wraps those that are longer."""
    from rich.text import Text

    _print_by_rich((Text(line.text, line.style) for line in lines), soft_wrap=True)


def print_table(rows: Iterable[Sequence[str]]) -> None:
    """Print rows of equal length in columns; on a terminal, the last column wraps below itself."""
    from rich.table import Table

    rows = [*rows]
    table = Table.grid(padding=(0, 2))
    for place in range(columns := max(map(len, rows), default=0)):
        table.add_column(no_wrap=place < columns - 1)
    for row in rows:
        table.add_row(*row)
    _print_by_rich([table])


def _print_by_rich(things: Iterable[RenderableType], *, soft_wrap: bool = False) -> None:
    """Print to standard output: in colours where it is a terminal, of any width where it is not."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDEST
    with console.capture() as captured:
        for each in things:
            console.print(each, soft_wrap=soft_wrap)
    lines = (line.rstrip() for line in captured.get().splitlines())
    click.echo("".join(f"{line}\n" for line in lines).encode(), nl=False)  # UTF-8 on every terminal


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


CERTIFICATES = Path("certificates")
WIDEST = 10_000  # characters of a line in a file


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
