"""The page of a run: what it says, and what it may not do."""

import re

import pytest
from pages import Page, between, result_of, text, write_report
from runs import STORED, arm, effect, run, save, trial

from accelbench.errors import BadInput
from accelbench.results import find_results
from accelbench.schema.reasons import reason
from accelbench.schema.result import Visit


def test_the_page_is_well_formed_and_its_links_lead_somewhere(stored_report):
    page = Page(stored_report.read_text())
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert [link for link in page.links if link.removeprefix("#") not in page.ids and link[:9] != "data:text"] == []


def test_the_page_asks_the_network_for_nothing(stored_report):
    html = re.sub(r'xmlns(:\w+)?="[^"]*"', "", stored_report.read_text())
    assert re.findall(r"https?://|<script[^>]|<link|<img|@import|url\((?!#)", html) == []


def test_the_page_serves_light_and_dark_and_paper(stored_report):
    html = stored_report.read_text()
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert 'name="viewport"' in html


def test_what_was_not_measured_is_said_once_for_each_reason(stored_report):
    said = between(text(stored_report.read_text()), "What was not measured", "Technique by technique")
    assert said.count("no CUDA device is visible to CuPy") == 1
    assert "4 arms unavailable : no CUDA device is visible to CuPy" in said
    assert "1 arm given up : one step takes 7.90 s" in said
    assert said.index("4 arms unavailable") < said.index("2 arms unavailable") < said.index("1 arm crashed")


def test_a_wrong_answer_shows_its_error_instead_of_a_speedup(stored_report):
    said = between(text(stored_report.read_text()), "What is not believed", "Machine and configuration")
    assert "by 0.310 relative, and 0.0200 is allowed" in said
    assert "amp fp16 on mlp-train" in said


def test_every_trial_has_its_section_with_how_it_was_measured(stored_report):
    page = Page(stored_report.read_text())
    assert sum(anchor.startswith("trial-") for anchor in page.ids) == 22
    said = text(stored_report.read_text())
    section = between(said, "amp on bert-train", "pin-memory × non-blocking on copy-to-device")
    for each in (
        "first call",
        "400 blocks, not settled",
        "6 of 1",
        "stolen cores",
        "load 1min",
        "measuring took 26.0 s",
    ):
        assert each in section


@pytest.mark.slow
def test_a_report_is_reproducible(stored_report, tmp_path):
    again = write_report(find_results(STORED).results[0], tmp_path)
    files = sorted(path.relative_to(tmp_path / "run_v1") for path in again.parent.rglob("*") if path.is_file())
    assert len(files) > 15
    assert [
        file for file in files if (again.parent / file).read_bytes() != (stored_report.parent / file).read_bytes()
    ] == []


def test_a_run_in_which_nothing_was_compared_says_so(text_of):
    said = text_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"})))
    assert "Nothing was compared" in said
    assert "1 arm unavailable : not on this machine" in said


def test_an_interrupted_run_without_trials_is_a_page_too(text_of):
    said = text_of(interrupted=True)
    assert "This run was interrupted" in said
    assert "Nothing was compared" in said


def test_an_effect_without_an_interval_says_so(text_of):
    few = arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 0.0, None, "undecided", pairs=1))
    assert "could not be judged on net: no interval after 1 pair" in text_of(trial(arm({"amp": "fp32"}, 1.0), few))


def test_for_how_long_visits_were_odd_is_part_of_what_disturbed_the_run(text_of):
    visits = [Visit(begun_s=1.0, odd=[reason("slower-than-ever", times=1.4)], span_s=40.0)]
    said = text_of(trial(arm({"amp": "fp32"}, 1.0), visits=visits))
    assert "What disturbed the run In this run, the machine was slower than at its best for 40 s." in said


def test_text_from_a_file_is_never_markup(text_of):
    said = text_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "x"}, reason="<script>alert('a & b')</script>")))
    assert "<script>alert('a & b')</script>" in said


def test_what_holds_training_back_is_part_of_the_answer(text_of, tmp_path):
    baseline = arm({"ablation": "none"}, 1.0, observed={"cpu_utilisation": 0.52, "rss_bytes": 2.0**30})
    decoded = arm({"ablation": "decoded"}, 0.4, effect=effect(2.5, 2.4, 2.6, "faster"))
    said = text_of(trial(baseline, decoded))
    found = "net (torch) is input-bound: without decoding it is 2.50× (2.40–2.60) as fast"
    assert f"What holds training back {found}" in said
    assert "What pays" not in said
    assert "Nothing was compared" not in said
    assert said.index(found) < said.index("Machine and configuration")
    assert "CPU 52 % busy." in said
    assert "cpu utilisation" in said
    assert "1.00 GiB" in said
    assert f"- {found}" in (tmp_path / "reports" / "a" / "summary.md").read_text()


def test_a_folder_that_cannot_be_written_is_named_in_one_line(tmp_path):
    (tmp_path / "reports").write_text("a file in the way")
    with pytest.raises(BadInput, match=r"cannot be written.*--output") as raised:
        write_report(result_of(run()), tmp_path / "reports")
    assert "\n" not in str(raised.value)


def test_a_strange_name_stays_inside_the_reports_folder(tmp_path):
    path = save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0001_..json")
    page = write_report(find_results(path).results[0], tmp_path / "reports")
    assert page == tmp_path / "reports" / "unnamed" / "index.html"


@pytest.mark.parametrize(("cache", "labelled"), [("cold", True), ("hot", False)])
def test_a_run_with_cold_caches_is_labelled(tmp_path, cache, labelled):
    path = save(run(trial(arm({"amp": "fp32"}, 1.0)), settings={"cache": cache}), tmp_path / "0001_a.json")
    said = text(write_report(find_results(path).results[0], tmp_path / "reports").read_text())
    assert ("1 trial, 1 arm, 0 comparisons, all with cold caches" in said) == labelled
    assert (", all with cold caches" in (tmp_path / "reports" / "a" / "summary.md").read_text()) == labelled
