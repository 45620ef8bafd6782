"""One run as a page, a summary and figures."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from harness.errors import BadInput
from harness.reading import Result
from harness.report.content import Content, content_of
from harness.report.verdicts import COLOURS, GLYPHS, LEGEND

_WRITTEN_FROM = {"index.html": "page.html.j2", "summary.md": "summary.md.j2"}


def write_report(result: Result, output: Path) -> Path:
    """Write ``index.html``, ``summary.md`` and the figures into a folder of the run's name, and return the page.

    Raises:
        BadInput: the folder cannot be written.
    """
    content = content_of(result)
    folder = output / (re.sub(r"[^\w.-]+", "-", result.name).strip(".-") or "unnamed")
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        for figure in content.figures:
            figure.save(folder / "figures")
        for name, template in _WRITTEN_FROM.items():
            (folder / name).write_text(_rendered(template, content), encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{folder}: the report cannot be written ({error.strerror or error}); name another folder with --output"
        ) from None
    return folder / "index.html"


def _rendered(template: str, content: Content) -> str:
    return _templates().get_template(template).render(content=content, glyphs=GLYPHS, colours=COLOURS, legend=LEGEND)


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("harness.report"),
        autoescape=select_autoescape(["html.j2", "css.j2"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["cell"] = lambda text: " ".join(text.replace("|", "\\|").split())
    return templates
