"""Fill the templates."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from accelbench.report.verdicts import GLYPHS, LEGEND

_MARKUP = re.compile(r"[\\`*_\[\]<>|~$&#]|:(?=//)|(?<=[Ww]{3})\.")  # the last two would make an address a link
_CALL = re.compile(r"@(?=\w)|#(?=\d)")  # GitHub tells the person, or links from the issue
_SCRIPTS = ("vendor/sortable-tablesort-4.1.7/sortable.min.js", "page.js")
# A page runs this one script, shows what it carries, and asks for nothing. https://www.w3.org/TR/CSP3/
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'; "
    "base-uri 'none'; form-action 'none'"
)


Content = dict[str, Any]  # what a template shows, by the names that it uses; a missing name is an error


def render_template(template: str, content: Any) -> str:
    """Return a template's text with its content."""
    return _templates().get_template(template).render(content=content)


@cache
def _script() -> str:
    """Return the script of a page."""
    folder = files("accelbench.report") / "templates"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)


@cache
def _policy() -> str:
    """Return what a page may do, as its Content-Security-Policy."""
    return _POLICY.format(b64encode(sha256(_script().encode()).digest()).decode())


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("accelbench.report"),
        autoescape=select_autoescape(["html.j2", "css.j2"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["plain"] = _plain
    templates.globals |= {"glyphs": GLYPHS, "legend": LEGEND, "script": _script(), "policy": _policy()}
    return templates


def _plain(text: str) -> str:
    """Return text for Markdown, in which it is one line and never markup."""
    marked = _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
    return _CALL.sub(r"\g<0>&#8203;", marked)  # a space of no width
