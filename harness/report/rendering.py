"""Templates filled in."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from harness.report.verdicts import COLOURS, GLYPHS, LEGEND

_MARKUP = re.compile(r"[\\`*_\[\]<>|~$&#]|:(?=//)")  # the last would make an address a link


def rendered(template: str, content: Any) -> str:
    """Return a template's text with its content."""
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
    templates.filters["plain"] = _plain
    return templates


def _plain(text: str) -> str:
    """Return text for Markdown, in which it is one line and never markup."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
