"""Hooks of mkdocs: pages and the report that lie outside docs/ become part of the site, and links follow them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).parent.parent
REPORT = "reports/quick"
PAGES = {  # file of the repository -> page of the site
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "reference/benchmarks.md",
    "results/README.md": "reference/result_files.md",
    "studies/README.md": "explanation/studies.md",
    **{f"studies/{page.name}": f"explanation/{page.name}" for page in CHECKOUT.glob("studies/*_evaluation.md")},
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]*)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's folders, and the example report with its figures."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(CHECKOUT / source)))
    for path in sorted((CHECKOUT / REPORT).rglob("*")):
        if path.is_file():
            page = f"report/{path.relative_to(CHECKOUT / REPORT).as_posix()}"
            if path.suffix != ".md":
                files.append(File.generated(config, page, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Return the page with links as the site has them; what it has not becomes plain text."""
    sources = {page_: source for source, page_ in PAGES.items()}
    source = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def follow(link: re.Match[str]) -> str:
        image, text, path, anchor = link[1], link[2], link[3], link[4] or ""
        target = _page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if files.get_file_from_path(target) is None:
            return "" if image else text
        relative = posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")
        return f"{image}[{text}]({relative}{anchor})"

    return LINK.sub(follow, markdown)


def _page_of(path: str) -> str:
    """Return the place in the site of a file of the repository."""
    if path.startswith(f"{REPORT}/"):
        return f"report/{path.removeprefix(f'{REPORT}/')}"
    return PAGES.get(path, path.removeprefix("docs/"))
