"""Hooks of mkdocs: links that leave docs/ lead to files of the repository, which the site does not have."""

import re
from typing import Any

OUTSIDE = re.compile(r"(!?)\[([^\]]*)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the text of such links in their place, and without such images."""
    return OUTSIDE.sub(lambda link: "" if link[1] else link[2], markdown)
