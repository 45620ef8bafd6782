"""What all figures share: a title with room, a description, and an image and data that a page can take in."""

import math
import re
from urllib.parse import unquote

import pandas as pd
import pytest
from golden import lines, value_at
from jinja2 import Environment, PackageLoader

from accelbench.report.exports import format_csv
from accelbench.report.figures.drawing import FigureWithData
from accelbench.report.figures.svg import TITLE_PT, WIDTH_PT, Axis, Chart, Panel, text_width_pt, wrap_text

HOSTILE = 'on <b>"net"</b> & \x1b[31m co.'


@pytest.fixture
def draw():
    def of(name="speed", title="amp pays", alt="amp pays, 2.00×", data=None):
        data = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 4.0]}) if data is None else data
        panel = Panel(x=Axis(low=1, high=2), y=Axis(low=1, high=4, kind="log"), height_pt=100)
        panel.line([(1, 1), (2, 4)])
        panel.mark(1, 1, title=title)
        panel.text(1, 1, title, ground=True)
        chart = Chart(title=title, panels=[panel])
        return FigureWithData(name=name, title=title, alt=alt, note="a note", data=data, figure=chart)

    return of


def shown(figure):
    """Return a figure as the page shows it."""
    templates = Environment(loader=PackageLoader("accelbench.report"), autoescape=True)
    return str(templates.get_template("parts/figure.html.j2").module.drawn(figure.render()))


@pytest.mark.parametrize("title", ["amp pays", "amp pays on many of very many comparisons " * 5, "x" * 300])
def test_a_title_is_wrapped_into_the_figure_which_grows_by_it(draw, title):
    chart = draw(title=title).figure
    widest = max(text_width_pt(line, TITLE_PT, bold=True) for line in chart.title_lines)
    assert widest <= WIDTH_PT
    assert chart.boxes[0].top >= len(chart.title_lines) * TITLE_PT
    assert chart.boxes[0].height == 100


def test_words_stay_whole_where_a_line_has_room_for_them():
    lines = wrap_text("a technique that pays on most workloads", 90)
    assert len(lines) > 1
    assert " ".join(lines) == "a technique that pays on most workloads"
    assert wrap_text("elements\u00a01\u00a0M  of\neach", 72) == ["elements\u00a01\u00a0M", "of each"]
    assert wrap_text(" ", 60) == []


def test_a_figure_on_a_page_is_an_image_described_by_its_finding(draw):
    svg = draw(title=HOSTILE, alt=HOSTILE).render().inline
    assert svg.startswith("<svg ")
    assert 'role="img"' in svg
    assert 'aria-label="on &lt;b&gt;&quot;net&quot;&lt;/b&gt; &amp; \ufffd[31m co."' in svg
    assert "<b>" not in svg


def test_a_figure_takes_the_colours_of_the_page(draw):
    svg = draw().render().inline
    assert {"currentColor", "var(--line)", "var(--paper)"} <= set(re.findall(r"currentColor|var\([^)]*\)", svg))
    assert re.findall("#24292f|#d5dae0|#ffffff", svg) == []


def test_what_a_mark_is_about_shows_where_the_mouse_rests(draw):
    svg = draw(title=HOSTILE).render().inline
    assert "<title>on &lt;b&gt;&quot;net&quot;&lt;/b&gt; &amp; \ufffd[31m co.</title>" in svg


def test_a_line_ends_where_the_axis_does_and_has_a_gap_where_no_number_is(draw):
    figure = draw()
    figure.figure.panels[0].line([(1, 1), (2, math.inf), (1.5, math.nan), (1, 0), (2, 2)])
    assert [each.tolist() for each in lines(figure)[1:]] == [
        [pytest.approx(point, rel=1e-3) for point in part] for part in ([[1, 1], [2, 4]], [[1, 1], [2, 2]])
    ]


@pytest.mark.parametrize("kind", ["linear", "log", "symlog"])
def test_a_place_on_an_axis_is_its_value_again(kind):
    axis = Axis(low=0.001 if kind == "log" else -0.1, high=40.0, kind=kind, threshold=0.01)
    for value in (0.002, 0.5, 33.0):
        assert value_at(axis, axis.share(value)) == pytest.approx(value)
    assert (axis.share(float("inf")), axis.share(-5.0)) == (1.0, 0.0)


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
    assert unquote(body) == drawn.render().csv == 'level,x\n"a, “b” & %",0.1\n\'=1+1,-2.5\n'


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"])
def test_text_that_a_spreadsheet_would_compute_stays_text(cell):
    table = pd.read_csv(
        pd.io.common.StringIO(format_csv(pd.DataFrame({cell: [cell, "a"], "n": [-1.5, 2]}))), lineterminator="\n"
    )
    assert table.columns[0] == table.iloc[0, 0] == f"'{cell}"
    assert table["n"].tolist() == [-1.5, 2]
