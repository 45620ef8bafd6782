"""The page of a certificate, and the lines of it that a report carries."""

import re
from dataclasses import replace

import pytest
from calibrated import STORED, certificate, duel, store, whole
from runs import arm, run, save, trial

from harness.certificate import read_certificate
from harness.errors import BadInput
from harness.reading import KeptCertificates, find_certificates, find_results
from harness.report import certificate_page, draw_certificate, in_brief, write_report

PARTS = [
    "Identical code",
    "More work",
    "Work of known length",
    "One slow call",
    "Between processes",
    "Intervals under simulated noise",
    "What was not measured",
]


def text(html):
    html = re.sub(r"<(style|svg).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_page_shows_every_part():
    html = certificate_page(whole())
    assert re.findall(r"<h2>(.*?)</h2>", html) == [*PARTS, "Machine and configuration"]
    assert html.count("<figure") == 3
    assert "heat of cupy on an accelerator: there is no accelerator" in text(html)


def test_the_page_says_first_how_often_it_was_wrong():
    first, beside, more, _, *_ = in_brief(whole())
    said = text(certificate_page(whole()))
    assert "Of 403 comparisons of identical code, 1 called it different (at most 1.2 % with 95 % confidence)" in first
    assert beside.startswith("Beside 1 busy neighbour, of 300 comparisons of identical code, 0 called it different")
    assert more == "Of 100 comparisons with 3 % more work, 100 called it slower (at least 97 % with 95 % confidence)."
    assert said.index(first) < said.index("What it does not say") < said.index("Identical code Two")


@pytest.mark.parametrize(
    "lost", ["duels", "multiples", "waits", "slow_calls", "coverage", "timer", "remarks", "spent_s", "settings"]
)
def test_the_page_survives_a_part_that_is_missing(lost):
    empty = certificate(settings={}, spent_s=0.0)
    assert "Machine and configuration" in text(certificate_page(replace(whole(), **{lost: getattr(empty, lost)})))


def test_a_certificate_of_nothing_says_so():
    assert "Nothing was compared." in text(certificate_page(certificate()))


def test_a_stored_quick_certificate_says_that_it_proves_little():
    assert "too few comparisons" in text(certificate_page(read_certificate(STORED)))


def test_the_page_asks_the_network_for_nothing_and_takes_names_for_text():
    html = certificate_page(certificate(duel(work="<script>x</script>"), remarks=["<b>bold</b>"]))
    html = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert re.findall(r"https?://|<script|<link|<img|<b>|@import|url\((?!#)", html) == []


def test_a_page_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadInput, match=r"0001.html: the certificate's page cannot be written \(Not a directory\)"):
        draw_certificate(certificate(), tmp_path / "taken" / "0001.json")


@pytest.fixture
def report(tmp_path):
    """Write the report of a run, and return its page and its summary as text."""
    result = find_results(save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0001_a.json")).results[0]

    def write(certificates=None):
        page = write_report(result, tmp_path / "reports", {"example-2c-8g": certificates} if certificates else {})
        return page.read_text(), page.with_name("summary.md").read_text()

    return write


def test_a_report_without_a_certificate_says_how_to_make_one(report):
    for said in report():
        assert "No calibration certificate of this machine was found; accelbench calibrate makes one." in said


def test_a_report_carries_the_newest_certificate_and_leads_to_its_page(report, tmp_path):
    path = store(whole(), tmp_path / "certificates" / "example-2c-8g" / "0001.json")
    path.with_suffix(".html").write_text("the page")
    html, summary = report(find_certificates(tmp_path / "certificates", "example-2c-8g"))
    assert 'href="../../certificates/example-2c-8g/0001.html"' in html
    for said in (html, summary):
        assert in_brief(whole())[0] in said
        assert "another configuration" not in said


def test_a_certificate_of_other_versions_says_so(report, tmp_path):
    made = whole()
    older = replace(made, environment=replace(made.environment, configuration={"torch.version": "2.8.0"}))
    said = "It was made under another configuration: torch.version was 2.8.0 and is 2.9.0."
    assert said in report(KeptCertificates(path=tmp_path / "0001.json", newest=older))[0]
