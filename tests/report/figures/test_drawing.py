"""What all figures share: a title with room, a description, and an image and data that a page can take in."""

import re
from urllib.parse import unquote

import pandas as pd
import pytest
from jinja2 import Environment, PackageLoader

from accelbench.report.exports import format_csv
from accelbench.report.figures.drawing import FigureWithData, new_figure, wrap_text

HOSTILE = 'on <b>"net"</b> & \x1b[31m co.'


@pytest.fixture
def draw():
    def of(name="speed", title="amp pays", alt="amp pays, 2.00×", data=None):
        data = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 4.0]}) if data is None else data
        with new_figure(height_in=1.5, title=title) as (figure, (axes,)):
            axes.plot([1, 2], [1, 4], marker="o", label=title)
        return FigureWithData(kind="speed", name=name, title=title, alt=alt, note="a note", data=data, figure=figure)

    return of


def shown(figure):
    """Return a figure as the page shows it."""
    templates = Environment(loader=PackageLoader("accelbench.report"), autoescape=True)
    return str(templates.get_template("parts/figure.html.j2").module.drawn(figure))


@pytest.mark.parametrize("title", ["amp pays", "amp pays on many of very many comparisons " * 5, "x" * 300])
def test_a_title_is_wrapped_into_the_figure_which_grows_by_it(draw, title):
    figure = draw(title=title).figure
    (written,) = [text for text in figure.texts if text.get_text()]
    inside, box = figure.bbox, written.get_window_extent()
    assert inside.x0 <= box.x0
    assert box.x1 <= inside.x1
    assert box.y1 <= inside.y1
    assert figure.axes[0].bbox.height > 0.55 * 1.5 * figure.dpi


def test_words_stay_whole_where_a_line_has_room_for_them():
    lines = wrap_text("a technique that pays on most workloads", 90)
    assert len(lines) > 1
    assert " ".join(lines) == "a technique that pays on most workloads"
    assert wrap_text("elements\u00a01\u00a0M  of\neach", 72) == ["elements\u00a01\u00a0M", "of each"]
    assert wrap_text(" ", 60) == []


def test_a_figure_on_a_page_is_an_image_described_by_its_finding(draw):
    svg = draw(title=HOSTILE, alt=HOSTILE).inline()
    assert svg.startswith("<svg ")
    assert 'role="img"' in svg
    assert 'aria-label="on &lt;b&gt;&quot;net&quot;&lt;/b&gt; &amp; \ufffd[31m co."' in svg
    assert "<b>" not in svg


def test_a_figure_takes_the_colours_of_the_page(draw):
    svg = draw().inline()
    assert {"currentColor", "var(--line)", "var(--paper)"} <= set(re.findall(r"currentColor|var\([^)]*\)", svg))
    assert re.findall("#24292f|#d5dae0|#ffffff", svg) == []


def test_ids_of_two_figures_on_a_page_differ_and_each_refers_to_its_own(draw):
    first, second = (draw(name=name).inline() for name in ("speed", "speed-2"))
    ids = [re.findall(r'\bid="([^"]+)"', svg) for svg in (first, second)]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for svg, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg)) == set(own)


def test_a_figure_on_a_page_is_much_smaller_than_its_file(draw):
    drawn = draw()
    assert len(drawn.inline()) < 0.8 * len(drawn.svg)


def test_the_page_shows_a_figure_with_its_note_and_its_data(draw):
    data = pd.DataFrame({"level": ["<i>", None], "speedup (×)": [1.23456, float("inf")], "pairs": [12000, 40]})
    html = shown(draw(data=data))
    assert "<figcaption>a note</figcaption>" in html
    assert '<th scope="col">level</th><th scope="col" class="number">speedup (×)</th>' in html
    assert '<td>&lt;i&gt;</td><td class="number">1.235</td><td class="number">12,000</td>' in html
    assert '<td></td><td class="number">∞</td><td class="number">40</td>' in html


def test_the_data_is_a_link_that_downloads_it_as_csv(draw):
    drawn = draw(data=pd.DataFrame({"level": ["a, “b” & %", "=1+1"], "x": [0.1, -2.5]}))
    (name, address) = re.search(r'<a download="([^"]+)" href="([^"]+)"', shown(drawn)).groups()
    head, _, body = address.partition(",")
    assert (name, head) == ("speed.csv", "data:text/csv;charset=utf-8")
    assert unquote(body) == drawn.csv == 'level,x\n"a, “b” & %",0.1\n\'=1+1,-2.5\n'


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"])
def test_text_that_a_spreadsheet_would_compute_stays_text(cell):
    table = pd.read_csv(
        pd.io.common.StringIO(format_csv(pd.DataFrame({cell: [cell, "a"], "n": [-1.5, 2]}))), lineterminator="\n"
    )
    assert table.columns[0] == table.iloc[0, 0] == f"'{cell}"
    assert table["n"].tolist() == [-1.5, 2]
