"""A page as its reader has it."""

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from accelbench.history.observations import History
from accelbench.report.page import Certificates, publish_report
from accelbench.results import Findings, Result
from accelbench.schema.result import Run

VOID = {"meta", "br", "hr", "img", "link", "input", "path", "use", "rect", "circle", "line", "polyline"}


class Page(HTMLParser):
    """A page's text, its ids and its links, and whether its elements are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.words, self.ids, self.links, self.open = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if tag == "a" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg", "script"} & set(self.open):
            self.words.append(data)


def text(html):
    return " ".join(" ".join(Page(html).words).split())


def between(said, first, last):
    return said[said.index(first) : said.index(last)]


def result_of(run: Run) -> Result:
    """Return a run as if it had been read from a file."""
    return Result(path="0001_a.json", name="a", number=1, taken=None, run=run)


def write_report(
    results: Result | Sequence[Result],
    output: Path,
    certificates: Certificates | None = None,
    history: History | None = None,
) -> Path:
    """Write the report of a run, or of several, into a folder of their names, and return the page."""
    runs = [results] if isinstance(results, Result) else results
    return Path(publish_report([*map(Findings, runs)], output, certificates or {}, "", history)[0])
