"""The picture on top of the page: every technique that was asked for has a row, also where it could not be measured."""

import re
from dataclasses import replace

from pages import result_of, text, write_report
from runs import arm, effect, run, trial

from accelbench.report.labels import Anchors
from accelbench.report.overview import overview
from accelbench.results import Findings
from accelbench.schema.reasons import reason

NO_GPU = reason("no-accelerator", library="torch", version="2.9", device="accelerator")


def switch(technique, *found, group="precision", outcome="measured", why=None, workload="net"):
    fields = {"effect": effect(*found)} if found else {"outcome": outcome, "reason": why}
    candidate = arm({technique: "on"}, 1.0 if found else None, **fields)
    named = {"id": f"t[{technique}-{workload}]", "workload": workload, "technique_groups": {technique: group}}
    return trial(arm({technique: "off"}, 1.0), candidate, **named)


AMP = switch("amp", 1.5, 1.4, 1.6, "faster")
PINNED = switch("pin_memory", group="copies", outcome="unavailable", why=NO_GPU)
LOOP = switch("vectorise", 300.0, 280.0, 320.0, "faster", group="Python loops")


def groups(*trials):
    found = overview(Findings(result_of(run(*trials))).rows, Anchors())
    return [group for column in found.columns for group in column]


def test_techniques_stand_under_their_headings_in_the_order_in_which_people_ask():
    own = switch("mine", 1.1, 1.05, 1.2, "faster", group="my own")
    assert [group.heading for group in groups(LOOP, own, PINNED, AMP)] == [
        "precision",
        "copies",
        "my own",
        "Python loops",
    ]


def test_what_was_not_measured_says_why_in_a_few_words():
    (copies,) = groups(PINNED)
    (row,) = copies.rows
    assert (row.verdict, row.why, row.marks) == ("", "torch 2.9 sees no accelerator", [])


def test_loops_in_python_stand_apart_and_do_not_stretch_the_axis():
    *_, loops = groups(AMP, LOOP)
    assert loops.is_apart
    assert loops.rows[0].marks[0].kind == "beyond"
    alone = overview(Findings(result_of(run(AMP))).rows, Anchors())
    both = overview(Findings(result_of(run(AMP, LOOP))).rows, Anchors())
    assert both.ticks == alone.ticks


def test_a_row_has_every_effect_and_the_strongest_of_its_best_verdict():
    slower = switch("amp", 0.5, 0.4, 0.6, "slower", workload="small")
    ((row,),) = (group.rows for group in groups(AMP, slower))
    assert (row.verdict, row.value, len(row.marks)) == ("faster", "1.50×", 2)
    assert row.label == "2 comparisons: 1 faster, 1 slower"
    assert {mark.title for mark in row.marks} == {
        "amp on on net: 1.50× (1.40–1.60), faster",
        "amp on on small: 0.500× (0.400–0.600), slower",
    }


def test_a_mark_names_its_case_as_the_rest_of_the_page_does():
    own = replace(AMP, problem={"elements": 1_000_000}, fixed={"memory_format": "channels-last"})
    (mark,) = groups(own)[0].rows[0].marks
    assert mark.title.startswith("amp on on net (elements 1,000,000, memory-format channels-last): 1.50×")


def test_a_technique_that_only_explains_has_no_row():
    relief = trial(arm({"relief": "none"}, 1.0), arm({"relief": "silent"}, 0.5), kinds={"relief": "ablation"})
    assert overview(Findings(result_of(run(relief))).rows, Anchors()) is None


def test_every_row_leads_to_a_section_of_the_page_also_without_a_measurement(tmp_path):
    page = write_report(result_of(run(AMP, PINNED)), tmp_path)
    html = page.read_text()
    for place in ("technique-torch-amp", "technique-torch-pin-memory"):
        assert re.search(f'<li[^>]*><a href="#{place}"', html)
        assert f'<article id="{place}"' in html
    said = text(html)
    assert said.index("sees no accelerator") < said.index("What pays")


def test_a_card_and_a_badge_stand_beside_the_page(tmp_path):
    page = write_report(result_of(run(AMP, switch("tf32", 0.5, 0.4, 0.6, "slower"), LOOP)), tmp_path)
    assert "accelbench: 1 of 2 techniques pays" in page.with_name("badge.svg").read_text()
    card = page.with_name("card.svg").read_text()
    assert "amp on" in card
    assert "tf32 on" in card
    assert "vectorise" not in card


def test_a_run_without_a_comparison_has_no_card(tmp_path):
    page = write_report(result_of(run(PINNED)), tmp_path)
    assert not page.with_name("card.svg").exists()


def test_a_heading_says_that_it_counts_techniques():
    slower = switch("threads", 0.5, 0.4, 0.6, "slower")
    (group,) = groups(AMP, switch("amp", 0.5, 0.4, 0.6, "slower", workload="small"), slower)
    assert group.counted == "2 techniques: ▲ 1 ▼ 1"
