"""The page of a certificate, and its lines in a report."""

import re
from dataclasses import replace

import pytest
from pages import write_report
from runs import arm, run, save, trial

from accelbench.errors import BadInput
from accelbench.report.certificate import describe_certificate, render_certificate, write_certificate_page
from accelbench.results import find_results
from accelbench.results.certificates import MachineCertificates, find_certificates
from accelbench.schema.certificate import read_certificate
from certificates import STORED, certificate, comparison, store, whole

PARTS = [
    "Identical code",
    "More work",
    "Near and far cores",
    "Work of known length",
    "One slow call",
    "Between processes",
    "What was not measured",
]


def text(html):
    html = re.sub(r"<(style|svg).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_page_shows_every_part():
    html = render_certificate(whole())
    assert re.findall(r"<h2>(.*?)</h2>", html) == [*PARTS, "Machine and configuration"]
    assert html.count("<figure") == 2
    assert "heat of cupy on an accelerator: there is no accelerator" in text(html)


def test_the_page_begins_with_how_often_a_verdict_was_wrong():
    first, beside, more, *_ = describe_certificate(whole())
    shown = text(render_certificate(whole()))
    assert "Of 403 comparisons of identical code, 1 called it different (at most 1.2 % with 95 % confidence)" in first
    assert beside.startswith("Beside 1 busy neighbour, of 300 comparisons of identical code, 0 called it different")
    assert more == "Of 100 comparisons with 3 % more work, 100 called it slower (at least 97 % with 95 % confidence)."
    assert shown.index(first) < shown.index("What it does not say") < shown.index("Identical code Both")


def test_the_page_tells_comparisons_with_near_cores_from_those_with_far_ones():
    shown = text(render_certificate(whole()))
    assert "The cores lay far apart during 1 of 3 comparisons." in shown
    assert re.search(r"near suite 200 ns 0 of 2 .* far suite 400 ns 0 of 1 ", shown)


@pytest.mark.parametrize(
    "lost", ["comparisons", "multiples", "waits", "slow_calls", "timer", "not_measured", "spent_s", "settings"]
)
def test_the_page_survives_a_part_that_is_missing(lost):
    empty = certificate(settings={}, spent_s=0.0)
    assert "Machine and configuration" in text(render_certificate(replace(whole(), **{lost: getattr(empty, lost)})))


def test_a_certificate_of_nothing_says_so():
    assert "Nothing was compared." in text(render_certificate(certificate()))


def test_a_quick_certificate_says_that_it_proves_little():
    assert "too few comparisons" in text(render_certificate(read_certificate(STORED)))


def test_the_page_makes_no_network_request_and_shows_names_as_text():
    html = render_certificate(certificate(comparison(work="<script>x</script>"), not_measured=["<b>bold</b>"]))
    html = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert re.findall(r"https?://|<script|<link|<img|<b>|@import|url\((?!#)", html) == []


def test_a_page_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadInput, match=r"0001.html: the certificate's page cannot be written \(Not a directory\)"):
        write_certificate_page(certificate(), tmp_path / "taken" / "0001.json")


@pytest.fixture
def report(tmp_path):
    """Write the report of a run, and return its page and its summary as text."""
    result = find_results(save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0001_a.json")).results[0]

    def write(certificates=None):
        page = write_report(result, tmp_path / "reports", {"example-2c-8g": certificates} if certificates else {})
        return page.read_text(), page.with_name("summary.md").read_text()

    return write


def test_a_report_without_a_certificate_says_how_to_make_one(report):
    for shown in report():
        assert "No calibration certificate of this machine was found; accelbench calibrate makes one." in shown


def test_a_report_summarizes_the_newest_certificate_and_links_to_its_page(report, tmp_path):
    path = store(whole(), tmp_path / "certificates" / "example-2c-8g" / "0001.json")
    path.with_suffix(".html").write_text("the page")
    html, summary = report(find_certificates(tmp_path / "certificates", "example-2c-8g"))
    assert 'href="../../certificates/example-2c-8g/0001.html"' in html
    for shown in (html, summary):
        assert describe_certificate(whole())[0] in shown
        assert "another configuration" not in shown


def test_a_certificate_of_other_versions_says_so(report, tmp_path):
    made = whole()
    older = replace(made, environment=replace(made.environment, configuration={"torch.version": "2.8.0"}))
    shown = "It was made under another configuration: torch 2.8.0 → 2.9.0."
    assert shown in report(MachineCertificates(path=tmp_path / "0001.json", newest=older))[0]
