"""Every link from one of the project's pages to another, or to a section, leads there."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGES = sorted(
    {page for pattern in ("*.md", "*/README.md", "docs/**/*.md", "studies/**/*.md") for page in CHECKOUT.glob(pattern)}
)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for path, section in LINK.findall(page.read_text()):
        target = page.parent / path if path else page
        if not target.exists() or (section and section not in _anchors(target)):
            dead.append(f"{path}#{section}")
    assert dead == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
