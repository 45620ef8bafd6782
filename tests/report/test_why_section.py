"""A page says why effects came about if the run has an explanation beside it, and nothing of it if not."""

from dataclasses import replace

import pytest
from explanations import explained_run, explanation
from pages import Page, between, result_of, text, write_report

from accelbench.schema.result import Environment


def write(folder, known):
    return write_report(replace(result_of(explained_run()), explanation=known), folder)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a run that is explained."""
    return write(tmp_path_factory.mktemp("reports"), explanation())


def test_an_effect_has_its_reasons_and_its_operators(page):
    said = between(text(page.read_text()), "Why #", "Is the measuring right here?")
    assert "amp fp16 on mlp-train (torch) 0.107× (0.101–0.112), slower By profile, it adds time in mm" in said
    assert "_to_copy 0 s 391 µs +391 µs 0 → 15" in said


def test_predictions_stand_beside_measurements_in_a_table_and_a_figure(page):
    said = text(page.read_text())
    assert "Profiles cover 4 effects and bound 3 of them; 1 surpasses its bound." in said
    assert "channels-last convolutions 40 % 1.72× 4.00× (3.80–4.20) ▲ faster surpassed" in said
    assert (page.parent / "figures" / "predictions.svg").is_file()


def test_what_is_not_explained_is_said(page):
    assert "2 effects more would be worth explaining" in text(page.read_text())


def test_links_lead_from_the_technique_the_trial_and_the_navigation_to_the_reasons(page):
    found = Page(page.read_text())
    (anchor,) = [each for each in found.ids if each.startswith("why-1-")]
    assert found.links.count(f"#{anchor}") == 2
    assert "#why" in found.links
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert [link for link in found.links if link[1:] not in found.ids and link[:9] != "data:text"] == []


def test_a_run_without_an_explanation_has_no_section(tmp_path):
    for known in (None, explanation(predictions=[], reasons=[], left_out=0, not_profiled=[])):
        found = Page(write(tmp_path, known).read_text())
        assert not [each for each in found.ids if each.startswith("why")]
        assert "## Why" not in (tmp_path / "a" / "summary.md").read_text()


def test_software_that_changed_since_the_run_is_named(tmp_path):
    now = Environment(identity=explained_run().environment.identity, configuration={"torch.version": "2.10.0"})
    said = text(write(tmp_path, explanation(environment=now)).read_text())
    assert "Since the run, 1 thing changed that may matter: torch 2.9.0 → 2.10.0." in said


def test_the_summary_has_the_first_sentences(page):
    summary = (page.parent / "summary.md").read_text()
    assert "- amp fp16 on mlp-train (torch): 0.107× (0.101–0.112), slower. By profile, it adds time in mm" in summary
    assert "1 surpasses its bound." in summary


def test_an_explanation_that_explains_nothing_says_why(tmp_path):
    html = write(tmp_path, explanation(predictions=[], reasons=[], left_out=0)).read_text()
    said = between(text(html), "Why #", "Is the measuring right here?")
    assert said.split("What is not explained ")[1].startswith(
        "Not profiled: kernels unfused, vector-add, cupy: nothing"
    )
    assert '<details class="small" open>\n<summary>What is not explained' in html
    assert "#why" in Page(html).links
