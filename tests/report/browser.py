"""Chromium as the system has it, driven by Playwright: pages opened, and what went wrong on them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium here; install the system's package, such as apt-get install chromium"
)


@dataclass(frozen=True)
class Visit:
    """An open page, what it asked for besides itself, and its errors and warnings."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def width(self) -> tuple[int, int]:
        """Return how wide the page's content is, and how wide the window."""
        said = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        return said[0], said[1]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def visit(browser: Browser, path: Path, place: str = "", *, width: int = 1280, **context: Any) -> Iterator[Visit]:
    """Open a file at a place such as ``#trials``. Nothing but the file itself is let through."""
    own = path.resolve().as_uri()
    with browser.new_context(viewport={"width": width, "height": 900}, **context) as opened:
        visited = Visit(opened.new_page())
        visited.page.set_default_timeout(10_000)
        visited.page.on("console", lambda said: visited.complaints.append(said.text))
        visited.page.on("pageerror", lambda error: visited.complaints.append(str(error)))

        def decide(route: Any) -> None:
            if route.request.url.partition("#")[0] == own:
                route.continue_()
            else:
                visited.requests.append(route.request.url)
                route.abort()

        opened.route("**/*", decide)
        visited.page.goto(own + place)
        yield visited
