"""A text that a command prints, or writes where it is told to."""

from __future__ import annotations

import click

from harness.errors import BadInput


def write_text(text: str, output: str | None) -> None:
    """Write a text into a file or to a URL, or print it.

    Raises:
        BadInput: it cannot be written.
    """
    if output is None:
        click.echo(text.encode(), nl=False)  # UTF-8 on every terminal
        return
    from harness.reading.history.storage.locations import local_path

    path = local_path(output)
    if path is None:
        _upload(text, output)
        return
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"{output}: cannot be written ({why}); name another file with --output") from None


def _upload(text: str, url: str) -> None:
    from harness.reading.history.storage.urls import folder_and_name
    from harness.report.publishing import publish

    folder, name = folder_and_name(url)
    if not name:
        raise BadInput(f"{url}: is no file; end --output in the name of one")
    publish({name: text.encode()}, folder)
