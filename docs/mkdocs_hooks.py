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
REPORTS = {  # folder of the repository -> folder of the site
    "reports/quick": "report",
    **{f"reports/{name}": f"report_{name}" for name in ("h200", "bundles", "resnet50")},
}
PAGES = {  # file of the repository -> page of the site
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "reference/benchmarks.md",
    "results/README.md": "reference/result_files.md",
    "studies/README.md": "explanation/studies.md",
    **{f"studies/{page.name}": f"explanation/{page.name}" for page in CHECKOUT.glob("studies/*_evaluation.md")},
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]*)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's folders, and the published reports with their figures."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(CHECKOUT / source)))
    for path in sorted(path for report in REPORTS for path in (CHECKOUT / report).rglob("*.*")):
        if path.suffix != ".md":
            place = _place_of(path.relative_to(CHECKOUT).as_posix())
            files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Return the page with links as the site has them; a link to a file that only the repository has is plain text."""
    sources = {place: source for source, place in PAGES.items()}
    source = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def follow(link: re.Match[str]) -> str:
        image, text, path, anchor = link[1], link[2], link[3], link[4] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = _place_of(target)
        if files.get_file_from_path(place):
            relative = posixpath.relpath(place, posixpath.dirname(page.file.src_uri) or ".")
            return f"{image}[{text}]({relative}{anchor})"
        is_elsewhere = (CHECKOUT / target).exists() and not target.startswith("docs/")
        return text if is_elsewhere else link[0]  # of which mkdocs complains

    return LINK.sub(follow, markdown)


def _place_of(path: str) -> str:
    """Return the place in the site of a file of the repository; the page stands for its summary."""
    for report, folder in REPORTS.items():
        if path == f"{report}/summary.md":
            return f"{folder}/index.html"
        if path.startswith(f"{report}/"):
            return f"{folder}/{path.removeprefix(f'{report}/')}"
    return PAGES.get(path, path.removeprefix("docs/"))
