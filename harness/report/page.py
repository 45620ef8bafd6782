"""One run as a page, a summary and figures."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import BadInput
from harness.reading import KeptCertificates, Result
from harness.report.certificate import certified
from harness.report.content import Page, part_of
from harness.report.rendering import rendered

_TITLE = "Which acceleration techniques pay here?"
_WRITTEN_FROM = {"index.html": "page.html.j2", "summary.md": "summary.md.j2"}


def write_report(result: Result, output: Path, certificates: KeptCertificates | None = None, title: str = "") -> Path:
    """Write ``index.html``, ``summary.md`` and the figures into a folder of the run's name, and return the page.

    ``certificates`` are those of the run's machine.

    Raises:
        BadInput: the folder cannot be written.
    """
    folder = output / (re.sub(r"[^\w.-]+", "-", result.name).strip(".-") or "unnamed")
    part = part_of(result, certified(certificates or KeptCertificates(), result.run.environment, folder))
    content = Page(title=title or _TITLE, runs=[part])
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        for figure in part.figures:
            figure.save(folder / "figures")
        for name, template in _WRITTEN_FROM.items():
            (folder / name).write_text(rendered(template, content), encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{folder}: the report cannot be written ({error.strerror or error}); name another folder with --output"
        ) from None
    return folder / "index.html"
